//! The settings file as a JSON Schema, for editors that complete and check TOML. It knows what the default file knows.
//! Only the program checks what has to fit together.

use serde_json::{Map, Value, json};
use toml::Table;

use super::described::{Described, described};
use super::known::{KNOWN, Kind, TEMPLATES};

/// The JSON Schema, draft 2020-12, of `outbox.toml`.
pub fn schema() -> Value {
    let keys = described();
    let mut sections = Map::new();
    for key in keys.iter().filter(|key| !key.section.starts_with(TEMPLATES)) {
        let section = sections.entry(key.section).or_insert_with(|| table(&Map::new()));
        section["properties"][key.name] = property(key);
    }
    let kinds: Vec<Value> = Kind::ALL.into_iter().map(|kind| channel(kind, &keys)).collect();
    let channels = json!({
        "description": "The ways out, by the names that rows give.",
        "type": "object",
        "propertyNames": { "pattern": "^[a-z0-9_-]{1,64}$" },
        "additionalProperties": { "oneOf": kinds },
    });
    sections.insert("channels".to_owned(), channels);
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
fn channel(kind: Kind, keys: &[Described]) -> Value {
    let template = format!("{TEMPLATES}.{}", kind.as_str());
    let mut properties = Map::new();
    properties.insert("kind".to_owned(), json!({ "description": "How it is reached.", "const": kind.as_str() }));
    let own = keys.iter().filter(|key| key.section == template);
    let inherited: Vec<&str> = KNOWN.inherited(kind).collect();
    let inherited = keys.iter().filter(|key| key.section == "retry" && inherited.contains(&key.name));
    properties.extend(own.chain(inherited).map(|key| (key.name.to_owned(), property(key))));
    let mut channel = table(&properties);
    channel["required"] = json!(["kind"]);
    channel
}

fn property(key: &Described) -> Value {
    // The line comes from a file that every test reads.
    let line: Table = format!("default = {}", key.default).parse().expect("a line of defaults.toml is TOML");
    let default = &line["default"];
    let mut property = shape(default, key);
    property["description"] = json!(key.comment);
    property["default"] = json!(default);
    property
}

/// The schema of a value: its type is that of the default, and its comment says what is allowed.
fn shape(default: &toml::Value, key: &Described) -> Value {
    use toml::Value as Toml;
    let range = key.allowed().and_then(range);
    match (default, range, key.name) {
        (_, _, "auth") => auth(),
        (_, _, "url") if key.section == "alerts" => secret(),
        (_, _, "on_dead" | "on_success") => {
            let text = json!({ "type": "string" });
            table(&Map::from_iter(["channel", "target"].map(|name| (name.to_owned(), text.clone()))))
        }
        (_, _, "headers") => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        (_, _, "signing_keys") => json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": secret() }] }),
        (_, _, "ports") => {
            let port = json!({ "type": "integer", "minimum": 1, "maximum": u16::MAX });
            json!({ "anyOf": [port, { "type": "array", "items": port }] })
        }
        (_, _, "retry_statuses" | "dead_statuses" | "known_statuses") => {
            let status = json!({ "type": "integer", "minimum": 300, "maximum": 599 });
            let status = json!({ "anyOf": [status, { "type": "string", "pattern": "^[345](xx|[0-9][0-9])$" }] });
            json!({ "anyOf": [status, { "type": "array", "items": status }] })
        }
        (Toml::Integer(_), Some((low, high)), _) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        (Toml::Float(_), Some((low, high)), _) => json!({ "type": "number", "minimum": low, "maximum": high }),
        (Toml::Integer(_), None, _) => json!({ "type": "integer" }),
        (Toml::Float(_), None, _) => json!({ "type": "number" }),
        (Toml::Boolean(_), ..) => json!({ "type": "boolean" }),
        (Toml::Array(_), ..) => {
            let text = json!({ "type": "string" });
            json!({ "anyOf": [text, { "type": "array", "items": text }] })
        }
        (Toml::Table(_), ..) => json!({ "type": "object" }),
        (Toml::String(text), ..) => match key.allowed().and_then(words) {
            Some(mut words) => {
                words.extend(Some(text.as_str()).filter(|text| text.is_empty()));
                json!({ "enum": words })
            }
            None => json!({ "type": "string" }),
        },
        (Toml::Datetime(_), ..) => json!({ "type": "string" }),
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

/// The range in a text such as `a whole number from 1 to 9`.
fn range(allowed: &str) -> Option<(i64, i64)> {
    let bounds = allowed.strip_prefix("a whole number from ").or_else(|| allowed.strip_prefix("a number from "))?;
    let (low, high) = bounds.split_once(" to ")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}

/// The words in a text such as `"one", "another" or "a third"`.
fn words(allowed: &str) -> Option<Vec<&str>> {
    let word = |text| str::strip_suffix(str::strip_prefix(text, '"')?, '"');
    allowed.split(" or ").flat_map(|part| part.split(", ")).map(word).collect()
}
