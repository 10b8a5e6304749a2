//! What is particular to FCM: targets, and the `Message` object built field by field.
//! <https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages>

use std::fmt;

use serde_json::{Map, Value};

use super::{InvalidMessage, Payload};

/// A JSON object.
pub(crate) type Fields = Map<String, Value>;

/// Keys and values of `data` and `notification` together, in bytes.
const BYTES: usize = 4096;

/// The same where the message goes to topics.
const TOPIC_BYTES: usize = 2048;

/// Whom a push message is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FcmTarget {
    /// The registration token of one installation of an app.
    Token(String),
    /// The Firebase installation id of one installation of an app.
    Fid(String),
    /// Everybody who has subscribed to a topic.
    Topic(String),
    /// A condition over topics: `'sport' in topics && 'news' in topics`.
    Condition(String),
}

impl fmt::Display for FcmTarget {
    /// As the `target` column says it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(token) => write!(f, "token:{token}"),
            Self::Fid(fid) => write!(f, "fid:{fid}"),
            Self::Topic(topic) => write!(f, "topic:{}", topic.strip_prefix("/topics/").unwrap_or(topic)),
            Self::Condition(condition) => write!(f, "condition:{condition}"),
        }
    }
}

/// The payload after an edit of one of its objects.
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

/// What FCM would refuse and can be seen without asking it. The adapter checks all the rest before it sends.
pub(super) fn check(target: &str, payload: &Value) -> Result<(), InvalidMessage> {
    let to_topics = check_target(target)?;
    let problem = |problem: String| Err(InvalidMessage::new("payload", problem));
    let Value::Object(message) = payload else {
        return problem("it is not a JSON object: FCM takes a Message without its target".to_owned());
    };
    if let Some(field) = ["token", "topic", "condition", "fid"].into_iter().find(|field| message.contains_key(*field)) {
        return problem(format!("it holds `{field}`: only the target says whom the message is for"));
    }
    if let Some(Value::Object(data)) = message.get("data") {
        for (key, value) in data {
            if key == "from" || key == "gcm" || key.starts_with("gcm.") || key.starts_with("google") {
                return problem(format!("data holds the key {key:?}, which FCM keeps for itself: choose another"));
            }
            if !value.is_string() {
                return problem(format!("the value of {key:?} in data is not a string: write it in quotes"));
            }
        }
    }
    let (size, limit) = (size(message), if to_topics { TOPIC_BYTES } else { BYTES });
    if size > limit {
        return problem(format!("data and notification are {size} bytes; FCM takes {limit} to such a target"));
    }
    Ok(())
}

/// Whether the message goes to topics.
fn check_target(target: &str) -> Result<bool, InvalidMessage> {
    let problem = |problem: &str| Err(InvalidMessage::new("target", problem));
    let visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if let Some(topic) = target.strip_prefix("topic:") {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
        if topic.is_empty() || !topic.bytes().all(allowed) {
            return problem("the topic's name must be of letters, digits and - _ . ~ %");
        }
        return Ok(true);
    }
    if let Some(condition) = target.strip_prefix("condition:") {
        if condition.trim().is_empty() {
            return problem("the condition is empty: write 'a' in topics");
        }
        return Ok(true);
    }
    let device = target.strip_prefix("token:").or_else(|| target.strip_prefix("fid:")).unwrap_or(target);
    if visible(device) {
        Ok(false)
    } else {
        problem("the token or fid is empty, or holds spaces or foreign characters")
    }
}

fn size(message: &Fields) -> usize {
    let objects = ["data", "notification"].into_iter().filter_map(|part| message.get(part)?.as_object());
    objects.flatten().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
