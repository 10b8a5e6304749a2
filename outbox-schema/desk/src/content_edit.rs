//! A change of the content of many dead letters: the same for each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use outbox_schema::InvalidMessage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Revised;

/// What changes in each of the dead letters. Their payloads stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Change))]
#[serde(deny_unknown_fields)]
pub struct ContentEdit {
    /// The new target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A beginning of targets, and what it becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_target: Option<MoveTarget>,
    /// Headers to add or to set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Headers to take away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop_headers: Vec<String>,
    /// Whether each keeps its idempotency key, so that receivers recognise it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_key: bool,
}

/// Where targets begin with `from`, they begin with `to`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveTarget {
    /// The beginning before the change. Not empty: every target begins with nothing.
    pub from: String,
    /// The beginning after the change.
    pub to: String,
}

/// Why a change does not fit a message.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The header to take away is not there.
    #[error("the message has no header {0}")]
    NoHeader(String),
    /// The message would not be valid.
    #[error(transparent)]
    Invalid(#[from] InvalidMessage),
}

impl ContentEdit {
    /// The content after the change of a message with this content.
    ///
    /// # Errors
    /// The change takes away a header that is not there, or makes an invalid message.
    pub fn revised(&self, channel: &str, target: &str, payload: &str, headers: Option<&str>) -> Result<Revised, Unfit> {
        let headers = self.headers(&HeadersBefore::of(headers))?;
        Ok(Revised::new(channel, &self.target(target), payload, headers)?.keeping_key(self.keep_key))
    }

    /// What the audit says of the change. The value of a header may be a secret, so only its name is said.
    pub(super) fn said(&self) -> Value {
        let mut said = serde_json::json!(self);
        if !self.headers.is_empty() {
            said["headers"] = self.headers.keys().map(String::as_str).collect();
        }
        said
    }

    fn target<'a>(&'a self, before: &'a str) -> Cow<'a, str> {
        let moved = self.move_target.as_ref().and_then(|moved| {
            let rest = before.strip_prefix(moved.from.as_str()).filter(|_| !moved.from.is_empty())?;
            Some(Cow::from(format!("{}{rest}", moved.to)))
        });
        moved.unwrap_or_else(|| Cow::from(self.target.as_deref().unwrap_or(before)))
    }

    fn headers(&self, before: &HeadersBefore) -> Result<BTreeMap<String, String>, Unfit> {
        let HeadersBefore { mut texts, others } = before.clone();
        for name in &self.drop_headers {
            let length = texts.len();
            texts.retain(|header, _| !header.eq_ignore_ascii_case(name));
            if texts.len() == length && !others.keys().any(|header| header.eq_ignore_ascii_case(name)) {
                return Err(Unfit::NoHeader(name.clone()));
            }
        }
        for (name, value) in &self.headers {
            // Header names are equal whatever the case of their letters.
            texts.retain(|header, _| !header.eq_ignore_ascii_case(name));
            texts.insert(name.clone(), value.clone());
        }
        Ok(texts)
    }
}

/// The headers of a row: the texts, and all other values. No request can carry the other values, and an edit leaves them out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadersBefore {
    /// Headers that a request can carry.
    pub texts: BTreeMap<String, String>,
    /// What else stands there.
    pub others: BTreeMap<String, Value>,
}

impl HeadersBefore {
    /// The headers of a column.
    pub fn of(column: Option<&str>) -> Self {
        let (mut texts, mut others) = (BTreeMap::new(), BTreeMap::new());
        match column.map(serde_json::from_str) {
            None | Some(Ok(Value::Null) | Err(_)) => {}
            Some(Ok(Value::Object(headers))) => {
                for (name, value) in headers {
                    match value {
                        Value::String(text) => drop(texts.insert(name, text)),
                        other => drop(others.insert(name, other)),
                    }
                }
            }
            Some(Ok(no_object)) => drop(others.insert("(no name)".to_owned(), no_object)),
        }
        Self { texts, others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_of_a_change_has_the_names_of_its_headers_and_no_values() {
        let headers = [("X-Api-Key".to_owned(), "secret".to_owned())].into();
        let change = ContentEdit { target: Some("/new".to_owned()), headers, ..ContentEdit::default() };
        assert_eq!(change.said(), serde_json::json!({ "target": "/new", "headers": ["X-Api-Key"] }));
        assert_eq!(ContentEdit::default().said(), serde_json::json!({}));
    }
}
