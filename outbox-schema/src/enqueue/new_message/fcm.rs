//! The `Message` object of FCM, built field by field.

use serde_json::Value;

use super::Payload;
use crate::enqueue::fcm::Fields;

/// Edits one object of the payload.
pub(super) fn edit(payload: Payload, part: &str, edit: impl FnOnce(&mut Fields)) -> Payload {
    let mut fields = match payload {
        Payload::Fields(fields) => fields,
        Payload::Text(text) => match serde_json::from_str(&text) {
            Ok(Value::Null) => Fields::new(),
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
                return Payload::Broken(format!("`{part}` can only be added to a JSON object"));
            }
        },
        Payload::Broken(problem) => return Payload::Broken(problem),
    };
    match fields.entry(part).or_insert_with(|| Fields::new().into()) {
        Value::Object(object) => edit(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Payload::Broken(format!("`{part}` is not a JSON object in it"));
        }
    }
    Payload::Fields(fields)
}
