//! Outcomes as OpenAPI describes them: one schema for each action, by the fields of its outcome.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::fields::{Field, Part, fields};
use super::{Action, Left, Outcome, Sent};
use crate::{Skipped, Undoable};

type Schemas = Vec<(String, RefOr<Schema>)>;

impl Action {
    /// The name of the schema of its outcomes, what that says of them, and what they are results of.
    fn described(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Redrive => ("Redriven", "The result of a redrive.", "Of a redrive."),
            Self::Replay => ("Replayed", "The result of a replay.", "Of a replay."),
            Self::Cancel => ("CancelledAll", "The result of a cancellation of many messages.", "Of a cancellation."),
            Self::Retry => ("Retried", "The result of a retry.", "Of a retry."),
            Self::Edit => ("EditedAll", "The result of the same edit of many dead letters.", "Of an edit of many."),
            Self::Undo => ("Undone", "The result of an undo.", "Of an undo."),
            Self::Purge => ("Purged", "The result of a purge.", "Of a purge."),
            Self::Prune => {
                ("Pruned", "How many messages were removed.", "Of a removal by hand of what is past its retention.")
            }
        }
    }

    /// The name of the schema of its outcomes.
    pub fn schema(self) -> &'static str {
        self.described().0
    }
}

impl PartialSchema for Outcome {
    fn schema() -> RefOr<Schema> {
        let one = |action: Action| {
            let (schema, _, of) = action.described();
            let outcome = json!({ "$ref": there(schema), "description": of });
            let properties = json!({ (action.as_str()): outcome });
            json!({ "type": "object", "description": of, "required": [action.as_str()], "properties": properties })
        };
        read(json!({ "oneOf": Action::ALL.map(one), "description": "The result of an operation." }))
    }
}

impl ToSchema for Outcome {
    fn name() -> Cow<'static, str> {
        "OperationResult".into()
    }

    fn schemas(schemas: &mut Schemas) {
        let of_actions = Action::ALL.map(|action| (action.schema(), of(action)));
        let skips = json!({
            "type": "object", "description": "Messages that were left unchanged.", "required": ["skipped"],
            "properties": {
                "skipped": {
                    "type": "array", "items": { "$ref": there("Skipped") },
                    "description": "The first of them and why, 1,000 at most.",
                },
                "skipped_count": said(count(), "How many there are in all."),
            },
        });
        let all = of_actions.into_iter().chain([("Skips", skips)]);
        schemas.extend(all.map(|(name, schema)| (name.to_owned(), read(schema))));
        with::<Left>(schemas);
        with::<Sent>(schemas);
        with::<Skipped>(schemas);
        with::<Undoable>(schemas);
    }
}

fn with<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

/// The outcomes of an action.
fn of(action: Action) -> Value {
    let (_, says, _) = action.described();
    let (mut properties, mut required, mut skips) = (json!({}), Vec::new(), None);
    for field in fields(action) {
        let (kind, is_required) = match field.part {
            Part::Skips => {
                skips = Some(said(json!({ "$ref": there("Skips") }), field.says));
                continue;
            }
            Part::AuditId => (json!({ "type": ["integer", "null"], "format": "int64" }), false),
            Part::Meant | Part::Changed | Part::Count => (count(), true),
            Part::LeftCount => (count(), false),
            Part::Messages => (many("MessageId"), true),
            Part::Replays => (many("Replay"), true),
            Part::Left => (many("Left"), true),
            Part::Undone => (json!({ "$ref": there("Undoable") }), false),
            Part::Last => {
                properties[field.name] = perhaps("MessageId", field);
                continue;
            }
        };
        properties[field.name] = said(kind, field.says);
        required.extend(is_required.then_some(field.name));
    }
    let own = json!({ "type": "object", "required": required, "properties": properties });
    match skips {
        Some(skips) => json!({ "allOf": [skips, own], "description": says }),
        None => said(own, says),
    }
}

fn there(schema: &str) -> String {
    format!("#/components/schemas/{schema}")
}

fn said(mut schema: Value, says: &str) -> Value {
    schema["description"] = says.into();
    schema
}

fn count() -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": 0 })
}

fn many(schema: &str) -> Value {
    json!({ "type": "array", "items": { "$ref": there(schema) } })
}

fn perhaps(schema: &str, field: &Field) -> Value {
    json!({ "oneOf": [{ "type": "null" }, { "$ref": there(schema), "description": field.says }] })
}

fn read(schema: Value) -> RefOr<Schema> {
    serde_json::from_value(schema).unwrap_or_default()
}
