//! The effective settings: the given values over the defaults, each with its origin.

use outbox_adapters::Kind;
use toml::Value;

use super::allowed::allowed;
use super::key::Key;
use super::known::{Known, retry_section};
use super::problem::Problem;
use super::setting::{Origin, Setting};
use super::settings::{Settings, typed};
use super::source::{GivenValue, Givens, Raw, names_in};
use super::unknown::{unknown, unknown_of_channel};

/// Puts the given values over the defaults. Reports every unknown key.
pub(super) fn complete(mut givens: Givens, known: &'static Known, problems: &mut Vec<Problem>) -> Settings {
    let mut settings = Settings::default();
    for (key, row) in known.fixed() {
        settings.take(&key, row, &row.default, &Origin::Default, &mut givens);
    }
    settle_derived(&mut settings);
    givens.retain(|key, given| !key.is_of_names() || !matches!(&given.value, Raw::Typed(Value::Table(_))));
    let names = names_in(&givens, Key::channel);
    for name in &names {
        complete_channel(name, known, &mut settings, &mut givens, problems);
    }
    if names.is_empty() {
        let fallback = |key: &Key, default: &Value| {
            (key.clone(), GivenValue { value: Raw::Typed(default.clone()), origin: Origin::Default })
        };
        let mut fallback: Givens = known.fallback.iter().map(|(key, default)| fallback(key, default)).collect();
        for name in names_in(&fallback, Key::channel) {
            complete_channel(&name, known, &mut settings, &mut fallback, problems);
        }
    }
    for name in names_in(&givens, Key::recurring) {
        for row in &known.recurring {
            let key = Key::of_recurring(&name).child(row.name);
            settings.take(&key, row, &row.default, &Origin::Default, &mut givens);
        }
    }
    problems.extend(givens.iter().filter_map(|(key, given)| unknown(key, given, known)));
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

fn complete_channel(
    name: &str,
    known: &'static Known,
    settings: &mut Settings,
    givens: &mut Givens,
    problems: &mut Vec<Problem>,
) {
    let section = Key::of_channel(name);
    let Some(kind) = take_kind(&section, known, settings, givens, problems) else {
        // The other keys of the channel depend on its kind. Report one problem, not ten.
        givens.retain(|key, _| key.channel() != Some(name));
        return;
    };
    for row in known.own(kind) {
        settings.take(&section.child(row.name), row, &row.default, &Origin::Default, givens);
    }
    for row in known.inherited(kind) {
        let source = retry_section().child(row.name);
        // The setting is absent where `[retry]` holds a table in its place. That is reported there.
        let Some(Setting { value, .. }) = settings.get(&source).cloned() else { continue };
        settings.take(&section.child(row.name), row, &value, &Origin::Follows(source), givens);
    }
    let unknown: Vec<_> = givens.extract_if(.., |key, _| key.channel() == Some(name)).collect();
    problems.extend(unknown.iter().map(|(key, given)| unknown_of_channel(key, given, &section, kind, known)));
}

fn take_kind(
    section: &Key,
    known: &'static Known,
    settings: &mut Settings,
    givens: &mut Givens,
    problems: &mut Vec<Problem>,
) -> Option<&'static Kind> {
    let row = &known.kind;
    let key = section.child(row.name);
    let Some(given) = givens.remove(&key) else {
        let origin = givens.iter().find(|(key, _)| key.channel() == section.channel()).map(|(_, given)| &given.origin);
        let kinds: Vec<_> = known.kinds().map(|kind| format!("kind = \"{}\"", kind.name)).collect();
        let advice = format!("is missing: every channel says what it is, {}", kinds.join(" or "));
        problems.push(Problem::with_key(origin.unwrap_or(&Origin::Default), &key, advice));
        return None;
    };
    let setting = Setting { key, value: typed(given.value, row.shape), origin: given.origin, row };
    let kind = setting.value.as_str().and_then(|name| known.kind_named(name));
    match kind {
        Some(_) => settings.0.push(setting),
        None => problems.push(Problem::with_value(&setting, format!("allowed is {}", allowed(row.shape)))),
    }
    kind
}
