//! Whether FCM would take a message.

use serde_json::{Map, Value, json};

use super::answer::Refusal;
use super::schema::{self, Violation};

/// What has been sent, once it is known to be in order.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// `token`, `fid`, `topic` or `condition`.
    pub(super) kind: &'static str,
    pub(super) target: String,
    pub(super) fields: Value,
}

const TARGETS: [&str; 4] = ["token", "fid", "topic", "condition"];

/// Keys and values of `data` and `notification` together.
const BYTES: usize = 4096;
const BYTES_TO_TOPICS: usize = 2048;

/// Four weeks.
const LONGEST_TTL: f64 = 2_419_200.0;

/// Reads the body of a send.
pub(super) fn read(body: &[u8]) -> Result<Message, Refusal> {
    let request: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid(&format!("Invalid JSON payload received. {error}"), &[]))?;
    let violations = schema::violations(&request, schema::REQUEST, "");
    if let Some(first) = violations.first() {
        return Err(Refusal::invalid(&first.description, &violations));
    }
    let Some(message) = request["message"].as_object() else {
        return Err(violation("message", "Message is not set."));
    };
    let given: Vec<_> = TARGETS.into_iter().filter(|name| message.get(*name).is_some_and(Value::is_string)).collect();
    let [kind] = given[..] else {
        let said =
            if given.is_empty() { "Recipient of the message is not set." } else { "More than one recipient is set." };
        return Err(violation("message", said));
    };
    let target = message[kind].as_str().unwrap_or_default().to_owned();
    check_target(kind, &target)?;
    check_data(message)?;
    check_size(message, kind)?;
    check_platforms(message)?;
    Ok(Message { kind, target, fields: request["message"].clone() })
}

fn check_target(kind: &str, target: &str) -> Result<(), Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
    match kind {
        "topic" => {
            let name = target.strip_prefix("/topics/").unwrap_or(target);
            if name.is_empty() || !name.bytes().all(allowed) {
                return Err(violation("message.topic", "Malformed topic name"));
            }
        }
        "condition" if target.contains("in topics") => (),
        "condition" => return Err(violation("message.condition", "Malformed condition")),
        _ if target.is_empty() || !target.bytes().all(|byte| byte.is_ascii_graphic()) => {
            return Err(Refusal::invalid_token());
        }
        _ => (),
    }
    Ok(())
}

fn check_data(message: &Map<String, Value>) -> Result<(), Refusal> {
    for place in ["/data", "/android/data", "/webpush/data"] {
        let data = at(message, place);
        let reserved = |key: &&String| {
            *key == "from"
                || *key == "gcm"
                || *key == "message_type"
                || key.starts_with("gcm.")
                || key.starts_with("google")
        };
        if let Some(key) = data.iter().flat_map(|data| data.keys()).find(reserved) {
            let field = format!("message{}[{key}]", place.replace('/', "."));
            return Err(violation(&field, &format!("Invalid data payload key: {key}")));
        }
    }
    Ok(())
}

fn check_size(message: &Map<String, Value>, kind: &str) -> Result<(), Refusal> {
    let length = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    let of = |place| at(message, place).map_or(0, |fields| fields.iter().map(length).sum::<usize>());
    let limit = if kind == "topic" || kind == "condition" { BYTES_TO_TOPICS } else { BYTES };
    if of("/data") + of("/notification") > limit {
        return Err(Refusal::invalid("Message is too big", &[]));
    }
    Ok(())
}

fn check_platforms(message: &Map<String, Value>) -> Result<(), Refusal> {
    let whole = Value::Object(message.clone());
    if let Some(ttl) = whole.pointer("/android/ttl").and_then(schema::seconds)
        && !(0.0..=LONGEST_TTL).contains(&ttl)
    {
        return Err(violation("message.android.ttl", "Invalid TTL"));
    }
    let headers = at(message, "/apns/headers").into_iter().flatten();
    for (name, value) in headers.filter(|(name, _)| name.eq_ignore_ascii_case("apns-collapse-id")) {
        if value.as_str().is_some_and(|id| id.len() > 64) {
            return Err(violation(
                &format!("message.apns.headers[{name}]"),
                "apns-collapse-id is longer than 64 bytes",
            ));
        }
    }
    let headers = at(message, "/webpush/headers").into_iter().flatten();
    for (name, value) in headers.filter(|(name, _)| name.eq_ignore_ascii_case("topic")) {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if value.as_str().is_some_and(|topic| topic.len() > 32 || !topic.bytes().all(fits)) {
            return Err(violation(&format!("message.webpush.headers[{name}]"), "Malformed Topic"));
        }
    }
    Ok(())
}

fn at<'a>(message: &'a Map<String, Value>, place: &str) -> Option<&'a Map<String, Value>> {
    let mut names = place.split('/').skip(1);
    let first = message.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))?.as_object()
}

fn violation(field: &str, description: &str) -> Refusal {
    let violations = [Violation { field: field.to_owned(), description: description.to_owned() }];
    Refusal::invalid(description, &violations)
}

impl Message {
    pub(super) fn key(&self) -> String {
        self.fields["data"]["idempotency_key"].as_str().unwrap_or_default().to_owned()
    }

    /// What makes a later notification take the place of this one on an Android device.
    pub(super) fn tag(&self) -> Option<String> {
        Some(self.fields.pointer("/android/notification/tag")?.as_str()?.to_owned())
    }

    /// The notification that a device shows, if it shows one: what `notification` says and `android.notification` changes.
    pub(super) fn notification(&self) -> Option<Value> {
        let mut shown = Map::new();
        for place in ["/notification", "/android/notification"] {
            let fields = self.fields.pointer(place).and_then(Value::as_object);
            shown.extend(fields.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        }
        shown.remove("tag");
        let is_empty = shown.is_empty();
        (!is_empty).then(|| json!(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> String {
        let Err(refusal) = read(format!("{{\"message\": {message}}}").as_bytes()) else { return String::new() };
        assert_eq!((refusal.status, refusal.code.as_str()), (400, "INVALID_ARGUMENT"));
        refusal.body
    }

    #[test]
    fn what_fcm_would_refuse_is_refused_with_the_field_that_is_wrong() {
        let data = |bytes: usize| json!({"k": "x".repeat(bytes - 1)});
        for (message, said) in [
            (r#"{"token": "a", "colour": 1}"#.to_owned(), "Unknown name \\\"colour\\\" at 'message'"),
            (r#"{"token": "a", "data": {"n": 1}}"#.to_owned(), "Invalid value at 'message.data'"),
            (r#"{"token": "a", "notification": {"title": 1}}"#.to_owned(), "'message.notification.title'"),
            (r#"{"token": "a", "android": {"priority": "URGENT"}}"#.to_owned(), "'message.android.priority'"),
            (r#"{"token": "a", "android": {"ttl": "1h"}}"#.to_owned(), "'message.android.ttl'"),
            (r#"{"token": "a", "android": {"ttl": "2419201s"}}"#.to_owned(), "Invalid TTL"),
            (r#"{"token": "a", "android": {"collapseKey": "a", "collapse_key": "b"}}"#.to_owned(), "set twice"),
            (r#"{"token": "a", "topic": "b"}"#.to_owned(), "More than one recipient"),
            (r#"{"data": {}}"#.to_owned(), "Recipient of the message is not set"),
            (r#"{"topic": "a b"}"#.to_owned(), "Malformed topic name"),
            (r#"{"condition": "news"}"#.to_owned(), "Malformed condition"),
            (r#"{"token": "a b"}"#.to_owned(), "not a valid FCM registration token"),
            (r#"{"token": "a", "data": {"from": "x"}}"#.to_owned(), "message.data[from]"),
            (r#"{"token": "a", "android": {"data": {"google.x": "x"}}}"#.to_owned(), "message.android.data[google.x]"),
            (json!({"token": "a", "data": data(4097)}).to_string(), "too big"),
            (json!({"topic": "a", "data": data(2049)}).to_string(), "too big"),
            (
                json!({"token": "a", "apns": {"headers": {"apns-collapse-id": "x".repeat(65)}}}).to_string(),
                "longer than 64 bytes",
            ),
            (json!({"token": "a", "webpush": {"headers": {"Topic": "x".repeat(33)}}}).to_string(), "Malformed Topic"),
        ] {
            let body = refused(&message);
            assert!(body.contains(said), "{message}: {body}");
        }
    }

    #[test]
    fn what_fcm_takes_is_taken() {
        for message in [
            r#"{"token": "a"}"#,
            r#"{"fid": "a", "fcmOptions": {"analyticsLabel": "x"}}"#,
            r#"{"topic": "/topics/news", "android": {"ttl": "3.5s", "notification": {"notification_count": 1}}}"#,
            r#"{"condition": "'a' in topics", "apns": {"payload": {"aps": {"badge": 1}}}, "webpush": null}"#,
        ] {
            assert_eq!(refused(message), "", "{message}");
        }
    }
}
