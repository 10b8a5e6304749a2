//! The settings file as a JSON Schema, for editors that complete and check TOML. It knows what the table of settings knows.
//! Only the program checks what has to fit together.

use outbox_adapters::Kind;
use outbox_adapters::shape::{Item, Shape};
use serde_json::{Map, Value, json};

use super::known::{KNOWN, Known, Row};

/// The JSON Schema, draft 2020-12, of `outbox.toml`.
pub fn schema() -> Value {
    of(&KNOWN)
}

/// The JSON Schema of these settings.
pub(super) fn of(known: &Known) -> Value {
    let section = |rows: &[Row]| table(&rows.iter().map(property).collect());
    let mut sections: Map<_, _> = known.sections.iter().map(|(key, rows)| (key.to_string(), section(rows))).collect();
    let kinds: Vec<Value> = known.kinds().map(|kind| channel(known, kind)).collect();
    let channels = json!({
        "description": "The ways out, by the names that rows give.",
        "type": "object",
        "propertyNames": { "pattern": "^[a-z0-9_-]{1,64}$" },
        "additionalProperties": { "oneOf": kinds },
    });
    sections.insert("channels".to_owned(), channels);
    let mut recurring = section(&known.recurring);
    recurring["required"] = json!(["cron", "channel", "target"]);
    let recurring = json!({
        "description": "Messages that recur, by their names.",
        "type": "object",
        "propertyNames": { "pattern": "^[a-z0-9_-]{1,64}$" },
        "additionalProperties": recurring,
    });
    sections.insert("recurring".to_owned(), recurring);
    let mut schema = table(&sections);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Settings of outbox");
    schema
}

/// The schema of a table with these keys and no others.
fn table(properties: &Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// The schema of a channel of one kind. It has the keys of `[retry]` that the kind inherits.
fn channel(known: &Known, kind: &Kind) -> Value {
    let mut properties: Map<_, _> = known.of_kind(kind).map(property).collect();
    let name = json!({ "description": known.kind.meaning, "const": kind.name });
    properties.insert(known.kind.name.to_owned(), name);
    let mut channel = table(&properties);
    channel["required"] = json!(["kind"]);
    channel
}

fn property(row: &Row) -> (String, Value) {
    let mut property = shape(row);
    property["description"] = json!(row.description());
    property["default"] = json!(row.default);
    (row.name.to_owned(), property)
}

/// The schema of a value of the shape that the setting may have.
fn shape(row: &Row) -> Value {
    let text = json!({ "type": "string" });
    match row.shape {
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Word(words) => {
            let none = row.default.as_str().filter(|default| default.is_empty());
            json!({ "enum": words.iter().copied().chain(none).collect::<Vec<_>>() })
        }
        Shape::Whole(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Shape::Number(low, high, _) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Shape::Time(..) | Shape::TimeOr { .. } | Shape::Size(..) | Shape::Text(_) | Shape::File | Shape::Token => text,
        Shape::SecretUrl(_) => secret(),
        Shape::List { item, .. } => one_or_more(&self::item(item), &self::item(item)),
        // A single one that is kept elsewhere stands in a list too.
        Shape::Secrets { .. } => one_or_more(&text, &secret()),
        Shape::Auth => auth(),
        Shape::Headers => json!({ "type": "object", "additionalProperties": text }),
        Shape::Outcome => table(&Map::from_iter(["channel", "target"].map(|name| (name.to_owned(), text.clone())))),
    }
}

/// The schema of a list, and of a single item.
fn one_or_more(one: &Value, item: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": item }] })
}

fn item(item: Item) -> Value {
    let whole = |(low, high): (u16, u16)| json!({ "type": "integer", "minimum": low, "maximum": high });
    match item {
        Item::Text(_) => json!({ "type": "string" }),
        Item::Whole(low, high) => whole((low, high)),
        Item::Code { range, pattern, .. } => {
            json!({ "anyOf": [whole(range), { "type": "string", "pattern": pattern }] })
        }
    }
}

/// The schema of a secret: a text, or where one is kept.
fn secret() -> Value {
    let text = json!({ "type": "string" });
    json!({ "oneOf": [text, record(&[("env", &text)]), record(&[("file", &text)])] })
}

fn auth() -> Value {
    let text = json!({ "type": "string" });
    let mut auth = table(&Map::from_iter([
        ("bearer".to_owned(), secret()),
        ("basic".to_owned(), record(&[("user", &text), ("password", &secret())])),
        ("header".to_owned(), record(&[("name", &text), ("value", &secret())])),
    ]));
    auth["maxProperties"] = json!(1);
    auth
}

/// The schema of a table with all of these keys.
fn record(fields: &[(&str, &Value)]) -> Value {
    let mut record = table(&fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect());
    record["required"] = fields.iter().map(|(name, _)| *name).collect();
    record
}
