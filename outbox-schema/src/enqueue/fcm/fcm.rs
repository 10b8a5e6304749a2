//! What FCM accepts, as far as that is known without a request, which would cost quota. [`NewMessage::validate`]
//! refuses the rest before the insert, and the adapter refuses it before it sends.
//!
//! The fields: <https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages>.
//!
//! [`NewMessage::validate`]: crate::NewMessage::validate

use super::target::FcmTarget;
use serde_json::{Map, Value};

/// A JSON object.
pub type Fields = Map<String, Value>;

/// The most bytes of `data` and `notification` together, keys and values.
const PAYLOAD_BYTES: usize = 4096;

/// The same for a message to topics.
const TOPIC_PAYLOAD_BYTES: usize = 2048;

/// Four weeks, in seconds.
const TTL_MAX: f64 = 2_419_200.0;

/// A `Message` without its target.
#[derive(Debug, Clone, PartialEq)]
pub struct FcmMessage {
    /// The fields of the message. Fields that are null are left out, since null means unset.
    pub fields: Fields,
    /// Bytes that may still be added to `data` and `notification`, keys included.
    pub room: usize,
}

impl FcmMessage {
    /// Reads the payload of a row as a message.
    ///
    /// # Errors
    /// What is wrong with the payload, and what to do about it.
    pub fn read(payload: &str, target: &FcmTarget) -> Result<Self, String> {
        let mut payload = serde_json::from_str(payload)
            .map_err(|error| format!("the payload is not JSON that can be read: {error}"))?;
        drop_unset(&mut payload);
        let Value::Object(fields) = payload else {
            return Err("the payload is not a JSON object: write FCM's Message without its target".to_owned());
        };
        check_names(&fields)?;
        check_objects(&fields)?;
        check_ttl(&fields)?;
        let limit = if target.is_device() { PAYLOAD_BYTES } else { TOPIC_PAYLOAD_BYTES };
        let size = size(&fields);
        let room = limit.checked_sub(size).ok_or_else(|| {
            format!("data and notification are {size} bytes, {limit} are allowed to a {}", target.field())
        })?;
        Ok(Self { fields, room })
    }
}

/// Drops null fields from the objects that are checked here: in the JSON of protocol buffers they are unset
/// (<https://protobuf.dev/programming-guides/json/>). Elsewhere null is a value, as in `apns.payload`.
fn drop_unset(payload: &mut Value) {
    for place in ["", "/android", "/android/notification", "/apns", "/webpush"] {
        if let Some(Value::Object(fields)) = payload.pointer_mut(place) {
            fields.retain(|_, value| !value.is_null());
        }
    }
}

fn check_names(message: &Fields) -> Result<(), String> {
    if let Some(field) = FcmTarget::FIELDS.into_iter().find(|field| message.contains_key(*field)) {
        return Err(format!("the payload holds {field:?}: the row's target says whom it is for"));
    }
    if message.contains_key("message") {
        return Err("the payload holds \"message\": write what is within it".to_owned());
    }
    Ok(())
}

fn check_objects(message: &Fields) -> Result<(), String> {
    for path in [
        &["data"][..],
        &["notification"],
        &["android"],
        &["android", "data"],
        &["android", "notification"],
        &["apns"],
        &["apns", "headers"],
        &["webpush"],
        &["webpush", "data"],
        &["webpush", "headers"],
        &["fcm_options"],
    ] {
        let Some(found) = at(message, path) else { continue };
        let name = path.join(".");
        let Value::Object(found) = found else {
            return Err(format!("{name} is not a JSON object"));
        };
        if path.ends_with(&["data"]) {
            check_data(&name, found)?;
        }
    }
    Ok(())
}

fn at<'a>(message: &'a Fields, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(message.get(*first)?, |value, name| value.get(name))
}

/// Checks the `data` of the message, or of a platform, where it replaces the message's own.
fn check_data(name: &str, data: &Fields) -> Result<(), String> {
    for (key, value) in data {
        if key == "from" || key == "gcm" || key.starts_with("gcm.") || key.starts_with("google") {
            return Err(format!("{name} holds the key {key:?}, which FCM keeps for itself: choose another"));
        }
        if !value.is_string() {
            return Err(format!("the value of {key:?} in {name} is not a string: write it in quotes"));
        }
    }
    Ok(())
}

/// The time to live of Android is in seconds with an `s` at the end, such as `"3.5s"`. That of web push is a header
/// with whole seconds (RFC 8030, 5.2).
fn check_ttl(message: &Fields) -> Result<(), String> {
    if let Some(ttl) = at(message, &["android", "ttl"])
        && !ttl.as_str().and_then(|text| text.strip_suffix('s')).is_some_and(|seconds| lasts(seconds, "0123456789."))
    {
        return Err("android.ttl is not between \"0s\" and \"2419200s\" (four weeks)".to_owned());
    }
    let headers = at(message, &["webpush", "headers"]).and_then(Value::as_object).into_iter().flatten();
    for (name, ttl) in headers.filter(|(name, _)| name.eq_ignore_ascii_case("TTL")) {
        if !ttl.as_str().is_some_and(|seconds| lasts(seconds, "0123456789")) {
            return Err(format!("{name} in webpush.headers is not between \"0\" and \"2419200\" (four weeks)"));
        }
    }
    Ok(())
}

/// Whether the text is a number of seconds, written in the characters `of`, and not too large.
fn lasts(seconds: &str, of: &str) -> bool {
    seconds.chars().all(|c| of.contains(c)) && seconds.parse::<f64>().is_ok_and(|seconds| seconds <= TTL_MAX)
}

fn size(message: &Fields) -> usize {
    let objects = ["data", "notification"].into_iter().filter_map(|name| message.get(name)?.as_object());
    objects.flatten().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
    use serde_json::json;

    use super::*;

    fn read(target: &str, payload: &str) -> Result<FcmMessage, String> {
        FcmMessage::read(payload, &FcmTarget::parse(target).unwrap())
    }

    #[test]
    fn a_message_is_measured_with_its_keys() {
        let data = |bytes: usize| json!({"data": {"k": "x".repeat(bytes - 1)}}).to_string();
        assert_eq!(read("abc", &data(4000)).unwrap().room, 96);
        assert!(read("abc", &data(4097)).unwrap_err().contains("4097 bytes, 4096 are allowed to a token"));
        assert_eq!(read("topic:a", &data(2048)).unwrap().room, 0);
        assert!(read("topic:a", &data(2049)).unwrap_err().contains("2048 are allowed to a topic"));
    }

    #[test]
    fn a_message_that_cannot_be_valid_is_refused_with_what_to_mend() {
        for (payload, said) in [
            ("nonsense", "not JSON"),
            ("[]", "not a JSON object"),
            ("null", "not a JSON object"),
            (r#"{"token": "x"}"#, "holds \"token\""),
            (r#"{"message": {}}"#, "holds \"message\""),
            (r#"{"data": []}"#, "data is not a JSON object"),
            (r#"{"data": {"n": 1}}"#, "\"n\" in data is not a string"),
            (r#"{"data": {"n": null}}"#, "\"n\" in data is not a string"),
            (r#"{"data": {"from": "x"}}"#, "\"from\""),
            (r#"{"data": {"gcm": "x"}}"#, "\"gcm\""),
            (r#"{"data": {"google.x": "x"}}"#, "\"google.x\""),
            (r#"{"android": {"data": {"n": 1}}}"#, "\"n\" in android.data is not a string"),
            (r#"{"webpush": {"data": {"from": "x"}}}"#, "webpush.data holds the key \"from\""),
            (r#"{"android": {"data": 1}}"#, "android.data is not a JSON object"),
            (r#"{"android": {"notification": "x"}}"#, "android.notification is not a JSON object"),
            (r#"{"notification": "x"}"#, "notification is not a JSON object"),
            (r#"{"apns": {"headers": 1}}"#, "apns.headers is not a JSON object"),
            (r#"{"webpush": {"headers": []}}"#, "webpush.headers is not a JSON object"),
            (r#"{"android": {"ttl": "2419201s"}}"#, "android.ttl"),
            (r#"{"android": {"ttl": "-1s"}}"#, "android.ttl"),
            (r#"{"android": {"ttl": 60}}"#, "android.ttl"),
            (r#"{"android": {"ttl": "60"}}"#, "android.ttl"),
            (r#"{"webpush": {"headers": {"ttl": "2419201"}}}"#, "ttl in webpush.headers"),
            (r#"{"webpush": {"headers": {"TTL": "1.5"}}}"#, "TTL in webpush.headers"),
            (r#"{"webpush": {"headers": {"TTL": 60}}}"#, "TTL in webpush.headers"),
        ] {
            let refused = read("abc", payload).expect_err(payload);
            assert!(refused.contains(said), "{payload}: {refused}");
        }
        for ttl in ["0s", "3.5s", "2419200s"] {
            assert!(read("abc", &json!({"android": {"ttl": ttl}}).to_string()).is_ok(), "{ttl}");
        }
        assert!(read("abc", r#"{"webpush": {"headers": {"TTL": "2419200", "Urgency": "high"}}}"#).is_ok());
    }

    #[test]
    fn a_field_that_is_null_is_as_good_as_absent() {
        for payload in [
            r#"{"data": null}"#,
            r#"{"notification": null}"#,
            r#"{"token": null}"#,
            r#"{"android": null, "webpush": null}"#,
            r#"{"apns": null}"#,
        ] {
            assert_eq!(read("abc", payload).unwrap().fields, Fields::new(), "{payload}");
        }
        let nested = r#"{"apns": {"headers": null}, "android": {"ttl": null, "notification": {"tag": null}}}"#;
        let fields = Value::Object(read("abc", nested).unwrap().fields);
        assert_eq!(fields, json!({"apns": {}, "android": {"notification": {}}}));
    }

    #[test]
    fn null_stays_where_it_is_a_value() {
        let payload = json!({"apns": {"payload": {"aps": {}, "order": null}}});
        assert_eq!(Value::Object(read("abc", &payload.to_string()).unwrap().fields), payload);
    }
}
