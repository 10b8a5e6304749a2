//! The effective settings: the given values over the defaults, each with its origin.

use std::fmt;

use toml::{Table, Value};

use super::key::Key;
use super::known::{KNOWN, Kind, retry_section};
use super::problem::Problem;
use super::secret;
use super::source::{GivenValue, Givens, Raw, channel_names, flatten};
use super::unknown::{unknown, unknown_of_channel};

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    /// A default that another setting decides.
    Follows(Key),
    File {
        name: String,
        line: usize,
    },
    Env(String),
    Flag,
}

impl Origin {
    /// The place of the value, for errors. None for a default.
    pub(super) fn place(&self) -> Option<String> {
        match self {
            Self::Default | Self::Follows(_) => None,
            Self::File { name, line } => Some(format!("{name}:{line}")),
            Self::Env(name) => Some(name.clone()),
            Self::Flag => Some("command line".to_owned()),
        }
    }
}

/// One effective setting.
#[derive(Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) key: Key,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

impl Setting {
    /// The value as TOML, without secrets.
    pub(super) fn shown(&self) -> String {
        secret::shown(&self.key, &self.value).to_string()
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({:?})", self.key, self.shown(), self.origin)
    }
}

/// All effective settings, in the order of the default file, channels by name. Tables whose keys the user chooses
/// (`headers`, `auth`) are flat as well.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Settings(Vec<Setting>);

impl Settings {
    pub(super) fn get(&self, key: &Key) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.key == *key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// A table whose keys the user chose, put together again.
    pub(super) fn table(&self, key: &Key) -> Table {
        let mut table = Table::new();
        for setting in &self.0 {
            if let Some(path) = setting.key.below(key) {
                insert_at(&mut table, path, setting.value.clone());
            }
        }
        table
    }

    /// The names of the channels.
    pub(super) fn channels(&self) -> Vec<String> {
        let mut names: Vec<_> = self.0.iter().filter_map(|setting| setting.key.channel()).map(str::to_owned).collect();
        names.dedup();
        names
    }

    fn text(&self, key: &Key) -> &str {
        self.get(key).and_then(|setting| setting.value.as_str()).unwrap_or_default()
    }

    fn push(&mut self, key: Key, value: Value, origin: Origin) {
        self.0.push(Setting { key, value, origin });
    }

    /// Takes the given value of `key` out of `givens`, or else the default.
    fn take(&mut self, key: &Key, default: &Value, origin: &Origin, givens: &mut Givens) {
        let mut mine: Vec<_> = givens.extract_if(.., |given, _| given == key || given.below(key).is_some()).collect();
        // The order of the file says more to its author than the alphabet.
        mine.sort_by_key(|(_, given)| match &given.origin {
            Origin::File { line, .. } => *line,
            Origin::Default | Origin::Follows(_) | Origin::Env(_) | Origin::Flag => usize::MAX,
        });
        if mine.is_empty() && !default.is_table() {
            self.push(key.clone(), default.clone(), origin.clone());
        }
        for (key, GivenValue { value, origin }) in mine {
            let mut flat = Vec::new();
            flatten(&typed(value, default), key.parts(), &mut flat);
            for (parts, value) in flat {
                self.push(Key::from_parts(parts), value, origin.clone());
            }
        }
    }
}

/// Puts a value into a table at a path.
pub(super) fn insert_at(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => {
            table.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let inner = table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert_at(inner, rest, value);
            }
        }
    }
}

/// Reads a text as the type of the default. A text that cannot be read stays a text, and is refused later.
fn typed(raw: Raw, default: &Value) -> Value {
    let text = match raw {
        Raw::Typed(value) => return value,
        Raw::Text(text) => text,
    };
    let value = match default {
        Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
        Value::Float(_) => text.trim().parse().ok().map(Value::Float),
        Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
        Value::Table(_) => text.parse().ok().filter(Value::is_table),
        Value::Array(_) if text.trim_start().starts_with('[') => text.parse().ok(),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        Value::String(_) | Value::Datetime(_) => None,
    };
    value.unwrap_or(Value::String(text))
}

/// Puts the given values over the defaults. Reports every unknown key.
pub(super) fn complete(mut givens: Givens, problems: &mut Vec<Problem>) -> Settings {
    let mut settings = Settings::default();
    for (key, default) in &KNOWN.fixed {
        settings.take(key, default, &Origin::Default, &mut givens);
    }
    settle_derived(&mut settings);
    givens.retain(|key, given| !key.is_channels() || !matches!(&given.value, Raw::Typed(Value::Table(_))));
    let names = channel_names(&givens);
    for name in &names {
        complete_channel(name, &mut settings, &mut givens, problems);
    }
    if names.is_empty() {
        let fallback = |key: &Key, default: &Value| {
            (key.clone(), GivenValue { value: Raw::Typed(default.clone()), origin: Origin::Default })
        };
        let mut fallback: Givens = KNOWN.fallback.iter().map(|(key, default)| fallback(key, default)).collect();
        for name in channel_names(&fallback) {
            complete_channel(&name, &mut settings, &mut fallback, problems);
        }
    }
    problems.extend(givens.iter().filter_map(|(key, given)| unknown(key, given)));
    settings
}

/// Sets the two defaults that depend on other settings.
fn settle_derived(settings: &mut Settings) {
    let [lease_url, lease_provider, database_url] = ["lease.url", "lease.provider", "database.url"].map(Key::dotted);
    let provider = if settings.text(&lease_url).is_empty() { "table" } else { "redis" };
    settle(settings, &lease_provider, provider, lease_url);
    let postgres = ["postgres:", "postgresql:"].iter().any(|scheme| settings.text(&database_url).starts_with(scheme));
    let (wakeup, decider) = match settings.text(&lease_provider) {
        _ if postgres => ("notify", database_url),
        "redis" => ("redis", lease_provider),
        _ => ("off", database_url),
    };
    settle(settings, &Key::dotted("dispatch.wakeup"), wakeup, decider);
}

/// Gives an empty setting the value that `decider` implies.
fn settle(settings: &mut Settings, key: &Key, value: &str, decider: Key) {
    if let Some(setting) = settings.0.iter_mut().find(|s| s.key == *key && s.value.as_str() == Some("")) {
        setting.value = Value::String(value.to_owned());
        setting.origin = Origin::Follows(decider);
    }
}

fn complete_channel(name: &str, settings: &mut Settings, givens: &mut Givens, problems: &mut Vec<Problem>) {
    let section = Key::of_channel(name);
    let Some(kind) = take_kind(&section, settings, givens, problems) else {
        // The other keys of the channel depend on its kind. Report one problem, not ten.
        givens.retain(|key, _| key.channel() != Some(name));
        return;
    };
    for (key, default) in KNOWN.template(kind) {
        settings.take(&section.child(key), default, &Origin::Default, givens);
    }
    for key in KNOWN.inherited(kind) {
        let source = retry_section().child(key);
        // The setting is absent where `[retry]` holds a table in its place. That is reported there.
        let Some(Setting { value, .. }) = settings.get(&source).cloned() else { continue };
        settings.take(&section.child(key), &value, &Origin::Follows(source), givens);
    }
    let unknown: Vec<_> = givens.extract_if(.., |key, _| key.channel() == Some(name)).collect();
    problems.extend(unknown.iter().map(|(key, given)| unknown_of_channel(key, given, &section, kind)));
}

fn take_kind(section: &Key, settings: &mut Settings, givens: &mut Givens, problems: &mut Vec<Problem>) -> Option<Kind> {
    let key = section.child("kind");
    let Some(given) = givens.remove(&key) else {
        let origin = givens.iter().find(|(key, _)| key.channel() == section.channel()).map(|(_, given)| &given.origin);
        let advice = "is missing: every channel says what it is, kind = \"http\" or kind = \"fcm\"";
        problems.push(Problem::with_key(origin.unwrap_or(&Origin::Default), key, advice));
        return None;
    };
    let setting = Setting { key, value: typed(given.value, &Value::String(String::new())), origin: given.origin };
    let kind = setting.value.as_str().and_then(Kind::named);
    match kind {
        Some(_) => settings.0.push(setting),
        None => problems.push(Problem::with_value(&setting, "allowed is \"http\" or \"fcm\"")),
    }
    kind
}
