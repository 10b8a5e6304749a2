//! The sources of settings: the file, the environment, the command line. Each goes over the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::key::Key;
use super::problem::Problem;
use super::setting::Origin;

/// The file that is read where no other is named, if it exists.
pub const DEFAULT_FILE: &str = "outbox.toml";

/// All sources of settings above the defaults. The process is not read here, so that tests need not change it.
#[derive(Debug, Default)]
pub struct Sources {
    /// The name of the settings file, and its text.
    pub file: Option<(PathBuf, String)>,
    /// The environment variables. Those of other programs are passed over.
    pub environment: Vec<(String, String)>,
    /// The settings of the command line: dotted key and text, as in `--set lease.ttl=10s`.
    pub flags: Vec<(String, String)>,
}

impl Sources {
    /// The sources of this process: the file of `--config`, which must exist, or else `outbox.toml` in the working
    /// directory, if it exists; the environment; and the flags.
    pub fn of_process(config: Option<&Path>, flags: Vec<(String, String)>) -> Result<Self, super::ConfigError> {
        let file = read_file(config).map_err(|problem| super::ConfigError { problems: vec![problem] })?;
        // Not `vars()`: it panics where a variable of another program is not UTF-8.
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        Ok(Self { file, environment, flags })
    }
}

fn read_file(config: Option<&Path>) -> Result<Option<(PathBuf, String)>, Problem> {
    let path = config.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound && config.is_none() => Ok(None),
        Err(why) => {
            Err(Problem::with_source(path.display().to_string(), format!("the settings file cannot be read: {why}")))
        }
    }
}

/// Reads `KEY=VALUE` of `--set`.
pub fn parse_assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("{text:?} is not KEY=VALUE, for example lease.ttl=10s")),
    }
}

/// A given value, before it is known whether its key exists.
#[derive(Debug, Clone)]
pub(super) struct GivenValue {
    pub(super) value: Raw,
    pub(super) origin: Origin,
}

/// The value in the form of its source.
#[derive(Debug, Clone)]
pub(super) enum Raw {
    /// A value from a file, with its type.
    Typed(Value),
    /// A text from the environment or the command line. The default of the key decides its type.
    Text(String),
}

/// All given values. Tables are taken apart, so that sources merge key by key.
pub(super) type Givens = BTreeMap<Key, GivenValue>;

/// Puts the sources over each other.
pub(super) fn gather(sources: &Sources, known: &[Key], problems: &mut Vec<Problem>) -> Givens {
    let mut givens = Givens::new();
    if let Some((path, text)) = &sources.file {
        match flatten_file(path, text) {
            Ok(file) => file.into_iter().for_each(|(key, given)| put(&mut givens, key, given)),
            Err(problem) => problems.push(problem),
        }
    }
    for (name, value) in &sources.environment {
        let origin = Origin::Env(name.clone());
        if let Some(mut key) = Key::from_env(name) {
            respell(&mut key, &givens);
            if is_quoted(value) && !key.parts().iter().any(|part| part == "headers") {
                problems.push(Problem::with_key(&origin, &key, IN_QUOTES));
                continue;
            }
            put(&mut givens, key, GivenValue { value: Raw::Text(value.clone()), origin });
        } else if let Some(meant) = known.iter().find(|key| key.to_env().replace("__", "_") == *name) {
            let advice = format!("a section and its key are joined by two underscores: {}", meant.to_env());
            problems.push(Problem::with_source(name.clone(), advice));
        }
    }
    for (key, value) in &sources.flags {
        put(&mut givens, Key::dotted(key), GivenValue { value: Raw::Text(value.clone()), origin: Origin::Flag });
    }
    givens
}

const IN_QUOTES: &str = "begins and ends with a quotation mark, which is then part of the value: leave the marks out. In the file \
    of `docker run --env-file` a value has none";

/// Whether a value of the environment is in quotes. A shell takes them away; a file of variables may not.
fn is_quoted(value: &str) -> bool {
    let within = |mark: char| value.len() > 1 && value.starts_with(mark) && value.ends_with(mark);
    within('"') || within('\'')
}

/// A later source wins, even where one sets `auth.bearer` and the other `auth.bearer.env`.
fn put(givens: &mut Givens, key: Key, given: GivenValue) {
    givens.retain(|earlier, _| !earlier.overlaps(&key));
    givens.insert(key, given);
}

/// The name of a variable has neither hyphens nor capitals. So find the channel, or what else people name, and spell the header
/// that it means.
fn respell(key: &mut Key, givens: &Givens) {
    let of: fn(&Key) -> Option<&str> = if key.channel().is_some() { Key::channel } else { Key::recurring };
    let Some(name) = of(key).map(str::to_owned) else { return };
    let mut named = givens.keys().filter_map(of);
    let meant = named.find(|other| *other != name && other.replace('-', "_") == name).map(str::to_owned);
    let exists = givens.keys().any(|earlier| of(earlier) == Some(&name));
    if let [_, named, key, rest @ ..] = key.parts_mut() {
        if let (Some(meant), false) = (meant, exists) {
            *named = meant;
        }
        if let ("headers", [header]) = (key.as_str(), rest) {
            *header = header.replace('_', "-");
        }
    }
}

fn flatten_file(path: &Path, text: &str) -> Result<Vec<(Key, GivenValue)>, Problem> {
    let name = path.display().to_string();
    let line_of = |offset: usize| 1 + text[..offset].matches('\n').count();
    // Only the message is used: the error's own `Display` quotes the line, which may hold a secret.
    let refuse = |why: toml::de::Error| {
        let line = why.span().map_or(1, |span| line_of(span.start));
        Problem::with_source(format!("{name}:{line}"), format!("this is not TOML: {}", why.message()))
    };
    let values: Table = toml::from_str(text).map_err(refuse)?;
    let spans = DeTable::parse(text).map_err(refuse)?;
    let mut lines = BTreeMap::new();
    collect_lines(spans.get_ref(), &[], &line_of, &mut lines);
    let mut flat = Vec::new();
    flatten(&Value::Table(values), &[], &mut flat);
    let given = |(parts, value): (Vec<String>, Value)| {
        let line = lines.get(&parts).copied().unwrap_or(1);
        let origin = Origin::File { name: name.clone(), line };
        (Key::from_parts(parts), GivenValue { value: Raw::Typed(value), origin })
    };
    Ok(flat.into_iter().map(given).collect())
}

/// The values of a table and of the tables in it. An empty table is a value: the user wrote it.
pub(super) fn flatten(value: &Value, path: &[String], flat: &mut Vec<(Vec<String>, Value)>) {
    match value {
        Value::Table(table) if path.is_empty() || !table.is_empty() => {
            for (name, value) in table {
                flatten(value, &[path, std::slice::from_ref(name)].concat(), flat);
            }
        }
        _ => flat.push((path.to_vec(), value.clone())),
    }
}

fn collect_lines(
    table: &DeTable<'_>,
    path: &[String],
    line_of: &impl Fn(usize) -> usize,
    lines: &mut BTreeMap<Vec<String>, usize>,
) {
    for (name, value) in table {
        let path = [path, &[name.get_ref().to_string()]].concat();
        if let DeValue::Table(inner) = value.get_ref() {
            collect_lines(inner, &path, line_of, lines);
        }
        lines.insert(path, line_of(name.span().start));
    }
}

/// The names of the channels that are configured, or of what else people name.
pub(super) fn names_in(givens: &Givens, of: fn(&Key) -> Option<&str>) -> BTreeSet<String> {
    givens.keys().filter_map(of).map(str::to_owned).collect()
}
