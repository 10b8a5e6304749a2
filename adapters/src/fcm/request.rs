//! From a message to the body of an FCM request: the payload, its target, and the ids that make a repeated request
//! replace the first one on the device. Invalid content is refused by `outbox_schema::enqueue::fcm`.

use outbox_schema::enqueue::fcm::Fields;
use outbox_schema::{FcmMessage, FcmTarget};
use serde_json::{Map, Value};

use crate::adapter::Delivery;

/// The body of a request.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) body: Vec<u8>,
    pub(super) target: FcmTarget,
}

/// The kinds of targets that rows of a channel may name.
#[derive(Debug)]
pub(super) struct Targets {
    kinds: Vec<&'static str>,
    setting: String,
}

impl Targets {
    pub(super) fn new(channel: &str, kinds: &[&'static str]) -> Self {
        Self { kinds: kinds.to_vec(), setting: format!("channels.{channel}.targets") }
    }

    fn permit(&self, target: &FcmTarget) -> Result<(), String> {
        let (kind, setting) = (target.field(), &self.setting);
        if self.kinds.contains(&kind) {
            return Ok(());
        }
        Err(format!(
            "the target is a {kind}, and {setting} allows {} alone: write another target",
            self.kinds.join(", ")
        ))
    }
}

/// The body for a message. The error says what is wrong with its row and what to do about it.
pub(super) fn compose(delivery: &Delivery, targets: &Targets) -> Result<Composed, String> {
    let target = FcmTarget::parse(&delivery.target)?;
    targets.permit(&target)?;
    let FcmMessage { mut fields, room } = FcmMessage::read(&delivery.payload, &target)?;
    add_replacement_ids(&mut fields, &delivery.idempotency_key, room)?;
    fields.insert(target.field().to_owned(), target.value().into());
    let body = Value::Object(Map::from_iter([("message".to_owned(), Value::Object(fields))]));
    Ok(Composed { body: body.to_string().into_bytes(), target })
}

/// Sets the ids that make a repeated request replace the first one, where the payload does not set them.
///
/// `android.collapse_key` is set only beside a notification. For a device that is offline, FCM keeps messages of at
/// most four different collapse keys, but a hundred data messages without one
/// (<https://firebase.google.com/docs/cloud-messaging/customize-messages/collapsible-message-types>).
fn add_replacement_ids(message: &mut Fields, key: &str, room: usize) -> Result<(), String> {
    const DATA_KEY: &str = "idempotency_key";
    // A message that is nearly too long goes without the id rather than not at all.
    if DATA_KEY.len() + key.len() <= room {
        object(message, "data")?.entry(DATA_KEY).or_insert_with(|| key.into());
    }
    let has_notification = message.contains_key("notification")
        || message.get("android").is_some_and(|android| android.get("notification").is_some());
    if has_notification {
        let android = object(message, "android")?;
        // The JSON of protocol buffers has two names for a field, and accepts only one of them at a time.
        if !android.contains_key("collapseKey") {
            android.entry("collapse_key").or_insert_with(|| key.into());
        }
        object(android, "notification")?.entry("tag").or_insert_with(|| key.into());
    }
    // Apple: 64 bytes at most
    // (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
    let collapse_id = if is_visible(key) && key.len() <= 64 { key.to_owned() } else { digest(key) };
    header(object(message, "apns")?, "apns-collapse-id", collapse_id)?;
    // RFC 8030, 5.4: 32 characters of the URL and filename safe base64 alphabet at most.
    let is_topic = key.len() <= 32 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let topic = if is_topic { key.to_owned() } else { digest(key) };
    header(object(message, "webpush")?, "Topic", topic)
}

fn object<'a>(fields: &'a mut Fields, name: &str) -> Result<&'a mut Fields, String> {
    let value = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().ok_or_else(|| format!("{name} is not a JSON object"))
}

/// Sets a header of a platform, unless the payload sets it in any case of letters.
fn header(platform: &mut Fields, name: &str, value: String) -> Result<(), String> {
    let headers = object(platform, "headers")?;
    if !headers.keys().any(|key| key.eq_ignore_ascii_case(name)) {
        headers.insert(name.to_owned(), value.into());
    }
    Ok(())
}

fn is_visible(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// 128 bits of SHA-256 in 32 hexadecimal digits.
fn digest(key: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
    let half = digest.as_ref().iter().take(16).fold(0_u128, |half, &byte| (half << 8) | u128::from(byte));
    format!("{half:032x}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const UUID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn composed(target: &str, key: &str, payload: &str) -> Result<Value, String> {
        let delivery = Delivery {
            idempotency_key: key.to_owned(),
            target: target.to_owned(),
            destination: "fcm".to_owned(),
            payload: payload.to_owned(),
            deadline: None,
            created_at: None,
            headers: None,
            traceparent: None,
            tracestate: None,
            permit: std::sync::Arc::new(|| true),
            recorder: None,
        };
        Ok(serde_json::from_slice(&compose(&delivery, &Targets::new("push", &FcmTarget::FIELDS))?.body).unwrap())
    }

    #[test]
    fn a_notification_gets_its_target_and_all_replacement_ids() {
        let body = composed("topic:/topics/news", UUID, r#"{"notification": {"title": "Hi"}}"#).unwrap();
        let topic = digest(UUID);
        assert_eq!(topic.len(), 32);
        let expected = json!({"message": {
            "topic": "news",
            "notification": {"title": "Hi"},
            "data": {"idempotency_key": UUID},
            "android": {"collapse_key": UUID, "notification": {"tag": UUID}},
            "apns": {"headers": {"apns-collapse-id": UUID}},
            "webpush": {"headers": {"Topic": topic}},
        }});
        assert_eq!(body, expected);
    }

    #[test]
    fn a_data_message_stays_non_collapsible() {
        let body = composed("abc", UUID, r#"{"data": {"order": "7"}}"#).unwrap();
        assert_eq!(body["message"]["token"], "abc");
        assert_eq!(body["message"].get("android"), None);
    }

    #[test]
    fn what_the_payload_sets_is_left_as_it_is() {
        let payload = json!({
            "data": {"idempotency_key": "mine"},
            "android": {"collapse_key": "mine", "notification": {"tag": "mine"}},
            "apns": {"headers": {"APNS-Collapse-ID": "mine"}, "payload": {"aps": {"badge": 1}}},
            "webpush": {"headers": {"topic": "mine", "TTL": "5"}},
        });
        let body = composed("token:abc", UUID, &payload.to_string()).unwrap();
        let mut expected = payload;
        expected["token"] = "abc".into();
        assert_eq!(body, json!({ "message": expected }));
    }

    #[test]
    fn a_field_that_the_payload_sets_by_its_other_name_is_not_set_twice() {
        let payload = r#"{"notification": {"title": "Hi"}, "android": {"collapseKey": "mine"}}"#;
        let android = &composed("abc", UUID, payload).unwrap()["message"]["android"];
        assert_eq!(*android, json!({"collapseKey": "mine", "notification": {"tag": UUID}}));
    }

    #[test]
    fn a_long_key_is_digested_where_its_place_is_short() {
        let key = "order-".repeat(20);
        let body = composed("abc", &key, "{}").unwrap();
        assert_eq!(body["message"]["data"]["idempotency_key"], key);
        assert_eq!(body["message"]["apns"]["headers"]["apns-collapse-id"], digest(&key));
        assert_eq!(
            composed("abc", "short_key-1", "{}").unwrap()["message"]["webpush"]["headers"]["Topic"],
            "short_key-1"
        );
        assert_eq!(
            composed("abc", "zoë", "{}").unwrap()["message"]["apns"]["headers"]["apns-collapse-id"],
            digest("zoë")
        );
    }

    #[test]
    fn a_message_that_is_nearly_too_long_goes_without_the_extra_id() {
        let data = |bytes: usize| json!({"data": {"k": "x".repeat(bytes - 1)}}).to_string();
        let full = composed("abc", UUID, &data(4096)).unwrap();
        assert_eq!(full["message"]["data"].get("idempotency_key"), None);
        assert!(composed("abc", UUID, &data(4097)).unwrap_err().contains("4096 are allowed"));
    }

    #[test]
    fn a_field_that_is_null_is_as_good_as_absent() {
        let absent = composed("abc", UUID, "{}").unwrap();
        for payload in [
            r#"{"token": null, "data": null, "android": null, "apns": null}"#,
            r#"{"apns": {"headers": null}, "webpush": {"headers": null}}"#,
        ] {
            assert_eq!(composed("abc", UUID, payload).as_ref(), Ok(&absent), "{payload}");
        }
        let unset = r#"{"android": {"collapseKey": null, "notification": {"tag": null}}}"#;
        let set = json!({"collapse_key": UUID, "notification": {"tag": UUID}});
        assert_eq!(composed("abc", UUID, unset).unwrap()["message"]["android"], set);
    }

    /// JSON of any shape, with the checked names strewn in.
    fn json_value() -> impl Strategy<Value = Value> {
        let name = "data|notification|android|apns|webpush|headers|ttl|tag|collapse_key|idempotency_key|[a-z]{0,3}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,8}|[0-9.]{0,9}s".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(name, inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_payload_panics_and_what_is_composed_keeps_all_that_the_payload_says(payload in json_value(), key in "\\PC{0,80}") {
            if let Ok(body) = composed("token:abc", &key, &payload.to_string()) {
                prop_assert_eq!(&body["message"]["token"], "abc");
                prop_assert!(holds(&body["message"], &payload), "{} of {}", body, payload);
                let id = &body["message"]["apns"]["headers"];
                prop_assert!(id.as_object().unwrap().keys().any(|name| name.eq_ignore_ascii_case("apns-collapse-id")));
            }
        }

        #[test]
        fn no_text_that_is_no_json_panics(payload in "\\PC*|[\\[{]{0,200}") {
            let _ = composed("token:abc", UUID, &payload);
        }
    }

    /// Whether all of `part` except nulls is in `whole`.
    fn holds(whole: &Value, part: &Value) -> bool {
        match (whole, part) {
            (Value::Object(whole), Value::Object(part)) => {
                let kept = |(name, value): (&String, &Value)| {
                    value.is_null() || whole.get(name).is_some_and(|found| holds(found, value))
                };
                part.iter().all(kept)
            }
            _ => whole == part,
        }
    }
}
