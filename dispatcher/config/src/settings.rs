//! All effective settings.

use outbox_adapters::shape::Shape;
use toml::{Table, Value};

use super::key::Key;
use super::known::Row;
use super::setting::{Origin, Setting};
use super::source::{GivenValue, Givens, Raw, flatten};

/// All effective settings, in the order of the default file, channels by name. Tables whose keys the user chooses
/// (`headers`, `auth`) are flat as well.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Settings(pub(super) Vec<Setting>);

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

    /// The names of the recurring messages.
    pub(super) fn recurring(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.0.iter().filter_map(|setting| setting.key.recurring()).map(str::to_owned).collect();
        names.dedup();
        names
    }

    pub(super) fn text(&self, key: &Key) -> &str {
        self.get(key).and_then(|setting| setting.value.as_str()).unwrap_or_default()
    }

    /// Takes the given value of `key` out of `givens`, or else `default`. The setting is `row` in the table of all.
    pub(super) fn take(&mut self, key: &Key, row: &'static Row, default: &Value, origin: &Origin, givens: &mut Givens) {
        let mut mine: Vec<_> = givens.extract_if(.., |given, _| given == key || given.below(key).is_some()).collect();
        // The order of the file says more to its author than the alphabet.
        mine.sort_by_key(|(_, given)| match &given.origin {
            Origin::File { line, .. } => *line,
            Origin::Default | Origin::Follows(_) | Origin::Env(_) | Origin::Flag => usize::MAX,
        });
        if mine.is_empty() && !default.is_table() {
            self.0.push(Setting { key: key.clone(), value: default.clone(), origin: origin.clone(), row });
        }
        for (key, GivenValue { value, origin }) in mine {
            let mut flat = Vec::new();
            flatten(&typed(value, row.shape), key.parts(), &mut flat);
            for (parts, value) in flat {
                self.0.push(Setting { key: Key::from_parts(parts), value, origin: origin.clone(), row });
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

/// Reads a text as what the setting may be. A text that cannot be read stays a text, and is refused later.
pub(super) fn typed(raw: Raw, shape: Shape) -> Value {
    let text = match raw {
        Raw::Typed(value) => return value,
        Raw::Text(text) => text,
    };
    let value = match shape {
        Shape::Flag => text.trim().parse().ok().map(Value::Boolean),
        Shape::Whole(..) => text.trim().parse().ok().map(Value::Integer),
        Shape::Number(..) => text.trim().parse().ok().map(Value::Float),
        Shape::Auth | Shape::Headers | Shape::Outcome => text.parse().ok().filter(Value::is_table),
        Shape::List { .. } | Shape::Secrets { .. } if text.trim_start().starts_with('[') => text.parse().ok(),
        Shape::List { .. } | Shape::Secrets { .. } => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        Shape::Word(_)
        | Shape::Time(..)
        | Shape::TimeOr { .. }
        | Shape::Size(..)
        | Shape::Text(_)
        | Shape::File
        | Shape::Token
        | Shape::SecretUrl(_) => None,
    };
    value.unwrap_or(Value::String(text))
}
