//! `CloudEvents` 1.0 in binary mode: the attributes of an event as headers, its data as the body
//! (<https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md>, 3.1).
//!
//! Attributes come from the row's headers and below them from the channel's, as plain text: `ce-type`, `ce-source`,
//! `ce-subject` and any extension. What the outbox knows itself is added here.

use std::fmt::Write as _;
use std::time::SystemTime;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

const PREFIX: &str = "ce-";
const ID: HeaderName = HeaderName::from_static("ce-id");
const SPECVERSION: HeaderName = HeaderName::from_static("ce-specversion");
const TIME: HeaderName = HeaderName::from_static("ce-time");
const DATACONTENTTYPE: &str = "ce-datacontenttype";

/// What an event must say and the outbox cannot know.
const GIVEN: [HeaderName; 2] = [HeaderName::from_static("ce-source"), HeaderName::from_static("ce-type")];

/// Checks attributes that somebody wrote; else says what is wrong with them and what to do.
pub(super) fn check(headers: &HeaderMap) -> Result<(), String> {
    for (name, value) in headers {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        if *name == ID || *name == SPECVERSION {
            return Err(format!("the header {name} is set by the channel's cloudevents: leave it out"));
        }
        if name == DATACONTENTTYPE {
            return Err(format!("the header {name} must not be sent beside Content-Type: leave it out"));
        }
        if attribute.is_empty() || !attribute.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            return Err(format!(
                "the header {name} is no attribute of an event: after \"ce-\" use letters and digits alone"
            ));
        }
        if value.is_empty() {
            return Err(format!("the header {name} is empty: give it a value, or leave it out"));
        }
    }
    match headers.get(CONTENT_TYPE) {
        Some(media) if media.as_bytes().to_ascii_lowercase().starts_with(b"application/cloudevents") => {
            Err("the Content-Type says that the event is in the body: leave it out, or set cloudevents = \"off\""
                .to_owned())
        }
        Some(_) | None => Ok(()),
    }
}

/// Makes an event of the headers of a message with that idempotency key; else says what its row lacks.
/// `channel` is `channels.NAME`.
pub(super) fn complete(
    headers: &mut HeaderMap,
    key: &str,
    created_at: Option<SystemTime>,
    channel: &str,
) -> Result<(), String> {
    check(headers)?;
    if let Some(missing) = GIVEN.iter().find(|name| !headers.contains_key(*name)) {
        return Err(format!(
            "the event has no {missing}: write it into the row's headers, or for all into {channel}.headers"
        ));
    }
    if let (false, Some(created_at)) = (headers.contains_key(TIME), created_at) {
        headers.insert(TIME, encoded(humantime::format_rfc3339_millis(created_at).to_string().as_bytes()));
    }
    headers.insert(ID, encoded(key.as_bytes()));
    headers.insert(SPECVERSION, HeaderValue::from_static("1.0"));
    let attributes = headers.iter_mut().filter(|(name, _)| name.as_str().starts_with(PREFIX));
    for (_, value) in attributes.filter(|(name, _)| **name != ID) {
        *value = encoded(value.as_bytes());
    }
    Ok(())
}

/// Percent-encoded as the binding says (3.1.3.2): space, quote, percent and all that is not printable ASCII.
fn encoded(text: &[u8]) -> HeaderValue {
    let mut value = String::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'%') {
            value.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(value, "%{byte:02X}");
        }
    }
    HeaderValue::try_from(value).expect("printable ASCII is a header value")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::super::headers::overlay;
    use super::*;

    fn event(row: &serde_json::Value, key: &str) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        overlay(&mut headers, &row.to_string(), |_| None)?;
        let created_at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        complete(&mut headers, key, Some(created_at), "channels.hooks")?;
        Ok(headers)
    }

    fn minimal() -> serde_json::Value {
        serde_json::json!({ "ce-type": "order.placed", "CE-Source": "/shop" })
    }

    #[test]
    fn an_event_has_the_attributes_of_its_row_and_those_that_the_outbox_knows() {
        let headers = event(&minimal(), "order-1").unwrap();
        for (name, value) in [
            ("ce-specversion", "1.0"),
            ("ce-id", "order-1"),
            ("ce-type", "order.placed"),
            ("ce-source", "/shop"),
            ("ce-time", "2023-11-14T22:13:20.123Z"),
            ("content-type", "application/json"),
        ] {
            assert_eq!(headers[name], value, "{name}");
        }
        assert_eq!(headers.len(), 6);
        let mut own = minimal();
        own["ce-time"] = "2026-01-01T00:00:00+09:00".into();
        assert_eq!(event(&own, "a").unwrap()["ce-time"], "2026-01-01T00:00:00+09:00");
    }

    /// The example of the binding, 3.1.3.2.
    #[test]
    fn values_are_percent_encoded_as_the_specification_says() {
        let mut row = minimal();
        row["ce-subject"] = "Euro € 😀".into();
        row["ce-note"] = "100% \"sure\"\t~!".into();
        row["x-other"] = "100% ü".into();
        let headers = event(&row, "ключ 1").unwrap();
        assert_eq!(headers["ce-subject"], "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(headers["ce-note"], "100%25%20%22sure%22%09~!");
        assert_eq!(headers["ce-id"], "%D0%BA%D0%BB%D1%8E%D1%87%201");
        assert_eq!(headers["x-other"], "100% ü".as_bytes(), "no other header is touched");
    }

    #[test]
    fn what_would_be_no_event_is_refused_with_what_to_do() {
        for (name, value, said) in [
            ("ce-id", "1", "set by the channel's cloudevents"),
            ("ce-specversion", "0.3", "set by the channel's cloudevents"),
            ("ce-datacontenttype", "text/plain", "must not be sent beside Content-Type"),
            ("ce-my-thing", "1", "letters and digits alone"),
            ("ce-", "1", "letters and digits alone"),
            ("ce-type", "", "is empty"),
            ("content-type", "Application/CloudEvents+json", "the event is in the body"),
        ] {
            let mut row = minimal();
            row[name] = value.into();
            let refused = event(&row, "a").expect_err(name);
            assert!(refused.contains(said), "{name}: {refused}");
        }
        for (row, missing) in [(r#"{"ce-type": "a"}"#, "ce-source"), (r#"{"ce-source": "a"}"#, "ce-type")] {
            let refused = event(&serde_json::from_str(row).unwrap(), "a").unwrap_err();
            assert!(
                refused.contains(&format!("no {missing}")) && refused.contains("channels.hooks.headers"),
                "{refused}"
            );
        }
    }
}
