//! Reads a value of the settings by the shape that it may have. The error is a hint beside what is allowed, and may be empty.

use std::time::Duration;

use outbox_adapters::http::Secret;
use outbox_adapters::shape::{Item, Shape, Text};
use outbox_adapters::values::Given;
use toml::Value;

use super::{secret, units};

/// Reads one value, which is no table.
pub(super) fn parse(shape: Shape, value: &Value) -> Result<Given, String> {
    Ok(match shape {
        Shape::Flag => Given::Flag(value.as_bool().ok_or_else(String::new)?),
        Shape::Word(words) => {
            let word = text_of(value)?;
            words.contains(&word).then(|| Given::Text(word.to_owned())).ok_or_else(String::new)?
        }
        Shape::Whole(low, high) => Given::Whole(within((low, high), whole(value)?)?),
        Shape::Number(low, high, _) => Given::Number(within((low.into(), high.into()), number(value)?)?),
        Shape::Time(low, high) => Given::Time(Some(time(value, (low, high))?)),
        Shape::TimeOr { none, .. } if value.as_str() == Some(none) => Given::Time(None),
        Shape::TimeOr { range, .. } => Given::Time(Some(time(value, range)?)),
        Shape::Size(low, high) => Given::Size(within((low, high), units::parse_size(&with_unit(value)?)?)?),
        Shape::Text(text) => Given::Text(checked(text, value)?.to_owned()),
        Shape::File => Given::Text(checked(FILE, value)?.to_owned()),
        Shape::Token => Given::Text(checked(TOKEN, value)?.to_owned()),
        Shape::SecretUrl(text) => {
            let url = checked(text.or_none(), value)?;
            Given::Secret((!url.is_empty()).then(|| Secret::Literal(url.to_owned())))
        }
        Shape::List { item, .. } => Given::List(each(value, |value| self::item(item, value))?),
        Shape::Secrets { .. } => Given::Secrets(each(value, |value| secret::parse("key", Some(value)))?),
        Shape::Auth | Shape::Headers | Shape::Outcome => return Err(String::new()),
    })
}

const FILE: Text = Text::new("", |text| {
    if secret::is_key(text) { Err("this is what belongs into the file, not its path".to_owned()) } else { Ok(()) }
})
.or_none();

const TOKEN: Text =
    Text::new("", |text| if text.bytes().all(|byte| byte.is_ascii_graphic()) { Ok(()) } else { Err(String::new()) })
        .or_none();

fn checked(text: Text, value: &Value) -> Result<&str, String> {
    match text_of(value)? {
        "" if text.or_none => Ok(""),
        said => (text.check)(said).map(|()| said),
    }
}

fn time(value: &Value, range: (Duration, Duration)) -> Result<Duration, String> {
    within(range, units::parse_time(&with_unit(value)?)?)
}

fn whole(value: &Value) -> Result<u32, String> {
    let number = value.as_integer().ok_or_else(|| quoted_number(value))?;
    u32::try_from(number).map_err(|_| String::new())
}

fn number(value: &Value) -> Result<f64, String> {
    // This is exact for every whole number within a range of settings.
    #[allow(clippy::cast_precision_loss)]
    let whole = value.as_integer().map(|number| number as f64);
    value.as_float().or(whole).ok_or_else(|| quoted_number(value))
}

/// Reads the items of a list, or a single one.
fn each<T>(value: &Value, parse: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    match value {
        Value::Array(items) => items.iter().map(parse).collect(),
        one => Ok(vec![parse(one)?]),
    }
}

/// Reads an item of a list. In the environment a number of a list is a text.
fn item(item: Item, value: &Value) -> Result<String, String> {
    match item {
        Item::Text(check) => text_of(value).and_then(|text| check(text).map(|()| text.to_owned())),
        Item::Whole(low, high) => {
            let number = value.as_integer().or_else(|| value.as_str()?.parse().ok()).ok_or_else(String::new)?;
            within((i64::from(low), i64::from(high)), number).map(|number| number.to_string())
        }
        Item::Code { check, .. } => {
            let text = match value.as_integer() {
                Some(number) => number.to_string(),
                None => text_of(value)?.to_owned(),
            };
            check(&text).map(|()| text)
        }
    }
}

/// The text of a value, which must be a text.
fn text_of(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("this is {}, not a text in quotes", kind_of(value)))
}

fn with_unit(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => text_of(value).map(str::to_owned),
    }
}

fn within<T: PartialOrd>((low, high): (T, T), value: T) -> Result<T, String> {
    if (low..=high).contains(&value) { Ok(value) } else { Err(String::new()) }
}

fn quoted_number(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.parse::<f64>().is_ok() => "a number is written without quotes".to_owned(),
        Some(_) | None => String::new(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
