//! Reads the values of a section, each by the shape that it may have. A refused value is reported, and reading goes on.

use outbox_adapters::shape::Shape;
use outbox_adapters::values::{Checked, Given, Refused, Values, What};
use toml::Value;

use super::allowed::allowed;
use super::key::Key;
use super::known::Row;
use super::parse::parse;
use super::problem::Problem;
use super::setting::Origin;
use super::settings::Settings;
use super::tables::WrongOutcome;
use super::{secret, tables};

/// Gives `read` the values of a section that has these settings, and reports all that is refused.
pub(super) fn section<'r, T>(
    settings: &Settings,
    problems: &mut Vec<Problem>,
    section: &Key,
    rows: impl IntoIterator<Item = &'r Row>,
    read: impl FnOnce(&mut Values) -> Checked<T>,
) -> Checked<T> {
    let mut values = Values::default();
    for row in rows {
        let given = value(settings, &section.child(row.name), row.shape).map_err(|problem| {
            problems.extend(problem);
            Refused
        });
        values.add(row.name, given);
    }
    let read = read(&mut values);
    for refusal in values.into_refusals() {
        let key = section.child(refusal.name);
        problems.extend(match &refusal.what {
            What::Value => settings.get(&key).map(|setting| Problem::with_value(setting, refusal.advice)),
            What::Table => Some(of_table(settings, &key, refusal.advice)),
            What::Key(name) => of_key(settings, &key, name, refusal.advice),
        });
    }
    read
}

/// The value of a setting. The error is the problem, unless that is reported elsewhere.
fn value(settings: &Settings, key: &Key, shape: Shape) -> Result<Given, Option<Problem>> {
    let Some(setting) = settings.get(key) else { return table(settings, key, shape) };
    if matches!(shape, Shape::Auth | Shape::Headers | Shape::Outcome) {
        let is_empty = setting.value.as_table().is_some_and(toml::Table::is_empty);
        let refused = || Some(Problem::with_value(setting, format!("allowed is {}", allowed(shape))));
        return if is_empty { table(settings, key, shape) } else { Err(refused()) };
    }
    parse(shape, &setting.value).map_err(|hint| {
        let gap = if hint.is_empty() { "" } else { "; " };
        let advice = format!("{hint}{gap}allowed is {}", allowed(shape));
        // A value that follows from another setting is reported there.
        (!setting.follows()).then(|| Problem::with_value(setting, advice))
    })
}

/// The value of a setting that nobody has set, or whose value is a table.
fn table(settings: &Settings, key: &Key, shape: Shape) -> Result<Given, Option<Problem>> {
    let table = settings.table(key);
    let refused = |why: String| Some(of_table(settings, key, format!("{why}; allowed is {}", allowed(shape))));
    match shape {
        Shape::Auth => tables::auth(&table).map(Given::Auth).map_err(refused),
        Shape::Headers => Ok(Given::Headers(tables::headers(table))),
        Shape::Outcome => tables::outcome(&table).map(Given::Outcome).map_err(|wrong| match wrong {
            WrongOutcome::Table(why) => refused(why),
            WrongOutcome::Target(why) => of_key(settings, key, "target", why.to_string()),
        }),
        Shape::SecretUrl(_) => {
            let secret = secret::parse(key.name(), Some(&Value::Table(table)));
            secret.map(|secret| Given::Secret(Some(secret))).map_err(refused)
        }
        Shape::Flag
        | Shape::Word(_)
        | Shape::Whole(..)
        | Shape::Number(..)
        | Shape::Time(..)
        | Shape::TimeOr { .. }
        | Shape::Size(..)
        | Shape::Text(_)
        | Shape::File
        | Shape::Token
        | Shape::List { .. }
        | Shape::Secrets { .. } => {
            let inner = settings.iter().find(|setting| setting.key.below(key).is_some() && !setting.follows());
            let advice = format!("is one value, not a table; allowed is {}", allowed(shape));
            Err(inner.map(|inner| Problem::with_key(&inner.origin, key, advice)))
        }
    }
}

/// A problem of a whole table, at the place of its first key.
fn of_table(settings: &Settings, key: &Key, advice: String) -> Problem {
    let inner = settings.iter().find(|setting| setting.key.overlaps(key));
    Problem::with_key(inner.map_or(&Origin::Default, |inner| &inner.origin), key, advice)
}

/// A problem of one key in a table.
pub(super) fn of_key(settings: &Settings, table: &Key, name: &str, advice: String) -> Option<Problem> {
    let key = table.child(name);
    settings.iter().find(|setting| setting.key.overlaps(&key)).map(|setting| Problem::with_value(setting, advice))
}
