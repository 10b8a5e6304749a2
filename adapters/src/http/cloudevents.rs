//! Messages as events of `CloudEvents` 1.0
//! (<https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md>). In binary mode
//! (3.1) the attributes of an event are headers, and its data is the body. In structured mode (3.2) the whole event is
//! one JSON body.
//!
//! In both modes, attributes come from the row's headers, and below them from the channel's, as plain text: `ce-type`,
//! `ce-source`, `ce-subject` and any extension. The attributes that the outbox knows are added here.

use std::fmt::Write as _;
use std::time::SystemTime;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::settings::CloudEvents;

const PREFIX: &str = "ce-";
const ID: HeaderName = HeaderName::from_static("ce-id");
const SPECVERSION: HeaderName = HeaderName::from_static("ce-specversion");
const TIME: HeaderName = HeaderName::from_static("ce-time");
const DATACONTENTTYPE: &str = "ce-datacontenttype";
const DATA: &str = "ce-data";
const VERSION: &str = "1.0";

/// The content type of an event in one body, as in the binding's example (3.2.1.3).
const STRUCTURED: HeaderValue = HeaderValue::from_static("application/cloudevents+json; charset=utf-8");

/// The attributes that an event needs and that the outbox cannot know.
const GIVEN: [HeaderName; 2] = [HeaderName::from_static("ce-source"), HeaderName::from_static("ce-type")];

/// Checks the attributes of settings or a row. The error says what is wrong with them and what to do.
pub(super) fn check(headers: &HeaderMap, mode: CloudEvents) -> Result<(), String> {
    for (name, value) in headers {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        if *name == ID || *name == SPECVERSION {
            return Err(format!("the header {name} is set by the channel's cloudevents: leave it out"));
        }
        if name == DATACONTENTTYPE {
            return Err(format!("the header {name} must not be sent beside Content-Type: leave it out"));
        }
        if name == DATA {
            return Err(format!("the header {name} is no attribute: the data of an event is the payload"));
        }
        if attribute.is_empty() || !attribute.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            return Err(format!(
                "the header {name} is no attribute of an event: after \"ce-\" use letters and digits alone"
            ));
        }
        if value.is_empty() {
            return Err(format!("the header {name} is empty: give it a value, or leave it out"));
        }
        if holds_control_characters(&text(value)) {
            return Err(format!("the header {name} holds a control character, which no attribute may: remove it"));
        }
        if *name == TIME && !is_time(&text(value)) {
            return Err(format!("the header {name} is not a time of RFC 3339: write it as 2026-05-01T14:00:00Z"));
        }
    }
    match headers.get(CONTENT_TYPE) {
        Some(media) if media.as_bytes().to_ascii_lowercase().starts_with(b"application/cloudevents") => {
            let problem = "the Content-Type is that of an event, and the channel's cloudevents makes one of the payload: \
                           say what the payload is, or set cloudevents = \"off\"";
            Err(problem.to_owned())
        }
        Some(media) if mode == CloudEvents::Structured && !is_json(media) => {
            let problem = "the Content-Type is not JSON, and the payload in the event is: leave it out, or set \
                           cloudevents = \"binary\"";
            Err(problem.to_owned())
        }
        Some(_) | None => Ok(()),
    }
}

/// The facts of an event that the outbox knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The idempotency key of the message.
    pub(super) key: &'a str,
    pub(super) created_at: Option<SystemTime>,
    /// `channels.NAME`, for errors that say what to mend.
    pub(super) channel: &'a str,
}

/// Turns the headers of a message into an event in binary mode. The error says what the row lacks.
pub(super) fn binary(headers: &mut HeaderMap, known: Known<'_>) -> Result<(), String> {
    complete(headers, known, CloudEvents::Binary)?;
    for (_, value) in headers.iter_mut().filter(|(name, _)| name.as_str().starts_with(PREFIX)) {
        *value = encoded(value.as_bytes());
    }
    headers.insert(ID, encoded(known.key.as_bytes()));
    headers.insert(SPECVERSION, HeaderValue::from_static(VERSION));
    Ok(())
}

/// Turns a message into an event in structured mode, and returns its body: the unchanged payload with the attributes
/// that were headers. The error says what the row lacks.
pub(super) fn structured(headers: &mut HeaderMap, payload: &str, known: Known<'_>) -> Result<String, String> {
    complete(headers, known, CloudEvents::Structured)?;
    let mut event = Map::new();
    let names: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
    for name in names {
        if let (Some(attribute), Some(value)) = (name.as_str().strip_prefix(PREFIX), headers.remove(&name)) {
            event.insert(attribute.to_owned(), text(&value).into());
        }
    }
    if let Some(media) = headers.insert(CONTENT_TYPE, STRUCTURED) {
        event.insert("datacontenttype".to_owned(), text(&media).into());
    }
    event.insert("id".to_owned(), known.key.into());
    event.insert("specversion".to_owned(), VERSION.into());
    let mut body = Value::Object(event).to_string();
    // The attributes come first and the payload last: it is not parsed, and so goes out unchanged.
    body.pop();
    body.reserve(payload.len() + r#","data":}"#.len());
    body.push_str(r#","data":"#);
    body.push_str(payload);
    body.push('}');
    Ok(body)
}

/// Adds the attributes that an event must have, and the time at which the message was written.
fn complete(headers: &mut HeaderMap, known: Known<'_>, mode: CloudEvents) -> Result<(), String> {
    check(headers, mode)?;
    if known.key.is_empty() || holds_control_characters(known.key) {
        return Err(
            "the idempotency key cannot be the id of an event: it is empty, or holds a control character".to_owned()
        );
    }
    if let Some(missing) = GIVEN.iter().find(|name| !headers.contains_key(*name)) {
        let channel = known.channel;
        return Err(format!(
            "the event has no {missing}: write it into the row's headers, or for all into {channel}.headers"
        ));
    }
    if let (false, Some(created_at)) = (headers.contains_key(TIME), known.created_at) {
        headers.insert(TIME, encoded(humantime::format_rfc3339_millis(created_at).to_string().as_bytes()));
    }
    Ok(())
}

/// The text of a header whose value came from JSON or TOML.
fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Whether the text holds control characters, which no value of an event may have
/// (<https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md#type-system>).
fn holds_control_characters(text: &str) -> bool {
    text.contains(char::is_control)
}

/// Whether the text is a `date-time` of RFC 3339, 5.6. It may lie before 1970, and its second may be a leap second.
fn is_time(text: &str) -> bool {
    let shape = |text: &str, shape: &str| {
        let fits = |(byte, shape)| if shape == b'0' { u8::is_ascii_digit(&byte) } else { byte == shape };
        text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
    };
    let within = |text: &str, range: std::ops::RangeInclusive<u8>| text.parse().is_ok_and(|it: u8| range.contains(&it));
    let upper = text.to_ascii_uppercase();
    let Some((date, time)) = upper.split_once('T') else { return false };
    let (time, offset) = time.split_at(time.find(['Z', '+', '-']).unwrap_or(time.len()));
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let (hours, minutes) = (0..=23, 0..=59);
    shape(date, "0000-00-00")
        && within(&date[5..7], 1..=12)
        && within(&date[8..], 1..=31)
        && shape(seconds, "00:00:00")
        && within(&seconds[..2], hours.clone())
        && within(&seconds[3..5], minutes.clone())
        && within(&seconds[6..], 0..=60)
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && (offset == "Z"
            || (shape(&offset.replace('-', "+"), "+00:00")
                && within(&offset[1..3], hours)
                && within(&offset[4..], minutes)))
}

/// Whether a media type is JSON, or a format written in JSON (RFC 6839, 3.1).
fn is_json(media: &HeaderValue) -> bool {
    let media = text(media).to_ascii_lowercase();
    let essence = media.split(';').next().unwrap_or_default().trim();
    essence.ends_with("/json") || essence.ends_with("+json")
}

/// Percent-encodes a text as the binding says (3.1.3.2): space, quote, percent, and everything but printable ASCII.
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

    fn known(key: &str) -> Known<'_> {
        let created_at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        Known { key, created_at: Some(created_at), channel: "channels.hooks" }
    }

    fn headers(row: &serde_json::Value) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        overlay(&mut headers, &row.to_string(), |_| Ok(()))?;
        Ok(headers)
    }

    fn event(row: &serde_json::Value, key: &str) -> Result<HeaderMap, String> {
        let mut headers = headers(row)?;
        binary(&mut headers, known(key))?;
        Ok(headers)
    }

    /// The remaining headers, and the body.
    fn whole(row: &serde_json::Value, key: &str, payload: &str) -> Result<(HeaderMap, String), String> {
        let mut headers = headers(row)?;
        let body = structured(&mut headers, payload, known(key))?;
        Ok((headers, body))
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
        row["ce-note"] = "100% \"sure\" ~!".into();
        row["x-other"] = "100% ü".into();
        let headers = event(&row, "ключ 1").unwrap();
        assert_eq!(headers["ce-subject"], "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(headers["ce-note"], "100%25%20%22sure%22%20~!");
        assert_eq!(headers["ce-id"], "%D0%BA%D0%BB%D1%8E%D1%87%201");
        assert_eq!(headers["x-other"], "100% ü".as_bytes(), "no other header is touched");
    }

    #[test]
    fn in_structured_mode_all_of_the_event_is_in_the_body_and_the_payload_is_as_it_was() {
        let mut row = minimal();
        row["ce-subject"] = "100% \"Zoë\" 😀".into();
        row["x-other"] = "stays".into();
        let (headers, body) = whole(&row, "ключ \"1\"", "{ \"b\":1.0, \"b\" : 1e400 }").unwrap();
        assert_eq!(
            body,
            "{\"datacontenttype\":\"application/json\",\"id\":\"ключ \\\"1\\\"\",\"source\":\"/shop\",\"specversion\":\"1.0\",\
             \"subject\":\"100% \\\"Zoë\\\" 😀\",\"time\":\"2023-11-14T22:13:20.123Z\",\"type\":\"order.placed\",\
             \"data\":{ \"b\":1.0, \"b\" : 1e400 }}"
        );
        assert_eq!(headers[CONTENT_TYPE], "application/cloudevents+json; charset=utf-8");
        assert_eq!((headers.len(), &headers["x-other"]), (2, &HeaderValue::from_static("stays")));
    }

    #[test]
    fn in_structured_mode_the_content_type_is_that_of_the_data_and_json() {
        let mut row = minimal();
        for media in ["application/vnd.shop.v1+JSON", "text/json; charset=utf-8"] {
            row["content-type"] = media.into();
            let (_, body) = whole(&row, "a", "1").unwrap();
            assert!(body.contains(&format!("\"datacontenttype\":\"{media}\"")), "{body}");
        }
        row["content-type"] = "application/xml".into();
        let refused = whole(&row, "a", "1").unwrap_err();
        assert!(refused.contains("is not JSON"), "{refused}");
        assert!(event(&row, "a").is_ok(), "in binary mode it is the sender's business");
    }

    #[test]
    fn a_time_is_one_of_rfc_3339() {
        for time in [
            "1985-04-12T23:20:50.52Z",
            "1996-12-19T16:39:57-08:00",
            "1990-12-31t23:59:60z",
            "0001-01-01T00:00:00+23:59",
        ] {
            assert!(is_time(time), "{time}");
        }
        for no_time in [
            "",
            "2026-05-01",
            "2026-05-01 14:00:00Z",
            "2026-05-01T14:00:00",
            "2026-05-01T14:00Z",
            "2026-05-01T14:00:00.Z",
            "2026-05-01T14:00:00.5xZ",
            "2026-13-01T14:00:00Z",
            "2026-05-32T14:00:00Z",
            "2026-05-01T24:00:00Z",
            "2026-05-01T14:60:00Z",
            "2026-05-01T14:00:61Z",
            "2026-05-01T14:00:00+9:00",
            "2026-05-01T14:00:00+24:00",
            "2026-05-01T14:00:00Z+00:00",
            "1777644000",
            "2026-05-01T14:00:0üZ",
        ] {
            assert!(!is_time(no_time), "{no_time}");
        }
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
            ("ce-note", "a\tb", "holds a control character"),
            ("ce-note", "a\u{85}b", "holds a control character"),
            ("ce-data", "1", "the data of an event is the payload"),
            ("ce-time", "yesterday", "not a time of RFC 3339"),
            ("content-type", "Application/CloudEvents+json", "say what the payload is"),
        ] {
            let mut row = minimal();
            row[name] = value.into();
            let refused = event(&row, "a").expect_err(name);
            assert!(refused.contains(said), "{name}: {refused}");
            assert_eq!(whole(&row, "a", "1").unwrap_err(), refused);
        }
        for key in ["", "a\u{7f}"] {
            let refused = event(&minimal(), key).unwrap_err();
            assert!(refused.contains("cannot be the id of an event"), "{refused}");
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
