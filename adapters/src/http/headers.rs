//! Header names and values from settings and rows.

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::settings::{Auth, Body, CloudEvents, IdempotencyKey, Settings};
use super::{cloudevents, signing};

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Headers of the connection and of the message's framing (RFC 9110, 7.6.1), which only the client sets.
const FRAMING: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that no row may set: they change the method, the URL or the client that a receiver takes the request for, or
/// log in by a cookie. An operator may set them for all messages of a channel. `x-forwarded-` is the beginning of several.
const REFUSED_TO_ROWS: &[&str] = &[
    "cookie",
    "forwarded",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// The header that a client of the admin API sends with each change. No message may carry it, so no row can change
/// anything, whichever replica it finds.
pub const CLIENT_HEADER: &str = "x-outbox-client";

/// Headers of one row at most. hyper's map panics at some 24,000, and servers refuse far fewer.
const MOST_HEADERS: usize = 100;

/// Bytes of the names and values of one row's headers at most. Many servers take 8 to 16 KiB for the head of a request.
const MOST_HEADER_BYTES: usize = 16 * 1024;

/// Reads a header of settings or a row. The error says what is wrong with it, without its value, which may be a secret.
pub(super) fn parse(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(name)
        .map_err(|_| format!("the header name {name:?} is not allowed: use letters, digits and hyphens"))?;
    if FRAMING.contains(&parsed.as_str()) {
        return Err(format!("the header {parsed} belongs to the connection and cannot be set: leave it out"));
    }
    if parsed == CLIENT_HEADER {
        return Err(format!("the header {parsed} is for clients of the dispatcher's admin API: leave it out"));
    }
    let value = HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| format!("the value of the header {parsed} holds a control character (as CR or LF): remove it"))?;
    Ok((parsed, value))
}

/// Checks a header in the settings of a channel that sends idempotency keys in the given way.
///
/// # Errors
/// What is wrong with the header, without its value, which may be a secret.
pub fn check_header(name: &str, value: &str, idempotency_key: IdempotencyKey) -> Result<(), String> {
    one_of_channel(name, value, idempotency_key).map(drop)
}

/// Checks the name of a header that rows may set by the settings of a channel.
///
/// # Errors
/// No row may set it.
pub(super) fn check_row_header(name: &str) -> Result<(), String> {
    parse(name, "").and_then(|(name, _)| of_rows(&name))
}

/// Checks that rows may set this header at all. Servers that fold `_` and `-` (CGI) would take a name with an underscore
/// for another header.
fn of_rows(name: &HeaderName) -> Result<(), String> {
    let text = name.as_str();
    if text.contains('_') {
        Err(format!("the header {text} has an underscore, which receivers may take for a hyphen: write a hyphen"))
    } else if REFUSED_TO_ROWS.contains(&text) || text.starts_with("x-forwarded-") {
        Err(format!("the header {text} is for a channel's own headers, not for a row's: leave it out"))
    } else {
        Ok(())
    }
}

/// Checks the headers in the settings of a channel against its other settings.
///
/// # Errors
/// The header that another setting sets already, or what keeps the headers from being those of an event.
pub(super) fn check_headers(settings: &Settings) -> Result<(), String> {
    of_channel(settings).map(drop)
}

/// The headers of every request of a channel, without those that other settings add.
pub(super) fn of_channel(settings: &Settings) -> Result<HeaderMap, String> {
    let media = match settings.body {
        Body::Json => "application/json",
        Body::Text => "text/plain; charset=utf-8",
    };
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))]);
    for (name, value) in &settings.headers {
        let (name, value) = one_of_channel(name, value, settings.idempotency_key)?;
        headers.insert(name, value);
    }
    let of_auth = match &settings.auth {
        Some(Auth::Bearer(_) | Auth::Basic { .. }) => Some(AUTHORIZATION),
        // A name that cannot be read is refused with `auth`.
        Some(Auth::Header { name, .. }) => HeaderName::try_from(name.as_str()).ok(),
        None => None,
    };
    if let Some(name) = of_auth.filter(|name| headers.contains_key(name)) {
        return Err(format!("the header {name} is set by auth already: leave it out of headers"));
    }
    let signs = !settings.signing_keys.is_empty();
    if let Some(name) = signing::HEADERS.iter().find(|name| signs && headers.contains_key(*name)) {
        return Err(format!("the header {name} is set by signing_keys already: leave it out of headers"));
    }
    match settings.cloudevents {
        CloudEvents::Off => {}
        mode @ (CloudEvents::Binary | CloudEvents::Structured) => cloudevents::check(&headers, mode)?,
    }
    Ok(headers)
}

/// Reads a header of a channel's settings, as [`parse`] does.
fn one_of_channel(
    name: &str,
    value: &str,
    idempotency_key: IdempotencyKey,
) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = parse(name, value)?;
    if name == IDEMPOTENCY_KEY && idempotency_key != IdempotencyKey::Off {
        let problem = "the header idempotency-key is set from each message: leave it out, or set \
                       idempotency_key = \"off\"";
        return Err(problem.to_owned());
    }
    Ok((name, value))
}

/// Puts the headers of a row, a JSON object of strings, over those of the channel. `permit` says whether the channel lets
/// a row set a name.
pub(super) fn overlay(
    headers: &mut HeaderMap,
    row: &str,
    permit: impl Fn(&HeaderName) -> Result<(), String>,
) -> Result<(), String> {
    let row: Value = serde_json::from_str(row).map_err(|_| "headers is not JSON: write an object of strings")?;
    let row = match row {
        Value::Null => return Ok(()),
        Value::Object(row) => row,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("headers is not a JSON object: write an object of strings".to_owned());
        }
    };
    if row.len() > MOST_HEADERS {
        return Err(format!(
            "the row has {} headers, and {MOST_HEADERS} are allowed: put the rest into the payload",
            row.len()
        ));
    }
    let mut bytes = 0;
    for (name, value) in row {
        let Value::String(value) = value else {
            return Err(format!("the value of the header {name:?} is not a string: write it in quotes"));
        };
        bytes += name.len() + value.len();
        if bytes > MOST_HEADER_BYTES {
            return Err(format!(
                "the row's headers have more than {MOST_HEADER_BYTES} bytes: put the rest into the payload"
            ));
        }
        let (name, value) = parse(&name, &value)?;
        of_rows(&name)?;
        permit(&name)?;
        headers.insert(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn row(json: &str) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let permit = |name: &HeaderName| if name == "x-taken" { Err(format!("{name} is taken")) } else { Ok(()) };
        overlay(&mut headers, json, permit)?;
        Ok(headers)
    }

    #[test]
    fn good_headers_are_taken_as_they_are() {
        let headers = row(r#"{"X-Tenant": "acme", "x-name": "Zoë"}"#).unwrap();
        assert_eq!(headers["x-tenant"], "acme");
        assert_eq!(headers["x-name"], "Zoë".as_bytes());
        assert_eq!(row("null").unwrap(), HeaderMap::new());
    }

    #[test]
    fn a_row_may_have_so_many_headers_and_bytes_of_them_and_no_more() {
        let many = |count: usize, value: &str| {
            let headers: serde_json::Map<_, _> = (0..count).map(|n| (format!("x-{n}"), value.into())).collect();
            row(&Value::Object(headers).to_string())
        };
        assert_eq!(many(MOST_HEADERS, "1").unwrap().len(), MOST_HEADERS);
        for count in [MOST_HEADERS + 1, 24_600, 100_000] {
            assert_eq!(
                many(count, "1").unwrap_err(),
                format!("the row has {count} headers, and 100 are allowed: put the rest into the payload")
            );
        }
        assert!(many(1, &"1".repeat(MOST_HEADER_BYTES - "x-0".len())).is_ok());
        let refused = many(1, &"1".repeat(MOST_HEADER_BYTES)).unwrap_err();
        assert_eq!(refused, "the row's headers have more than 16384 bytes: put the rest into the payload");
    }

    #[test]
    fn bad_headers_are_refused_by_name_and_without_their_value() {
        for (json, said) in [
            (r#"{"X-A": "s3cret\r\nX-B: 1"}"#, "header x-a holds a control character"),
            (r#"{"X-A": "s3cret\u0000"}"#, "header x-a holds a control character"),
            (r#"{"X-A\r\nX-B": "s3cret"}"#, r#"header name "X-A\r\nX-B" is not allowed"#),
            (r#"{"": "s3cret"}"#, r#"header name "" is not allowed"#),
            (r#"{"X A": "s3cret"}"#, r#"header name "X A" is not allowed"#),
            (r#"{"Host": "s3cret"}"#, "header host belongs to the connection"),
            (r#"{"Content-Length": "3"}"#, "header content-length belongs to the connection"),
            (r#"{"TRANSFER-ENCODING": "chunked"}"#, "header transfer-encoding belongs to the connection"),
            (r#"{"Connection": "close"}"#, "header connection belongs to the connection"),
            (r#"{"X-Outbox-Client": "s3cret"}"#, "header x-outbox-client is for clients of the dispatcher's admin API"),
            (r#"{"X-A": 1}"#, r#"header "X-A" is not a string"#),
            (r#"{"X-A": null}"#, r#"header "X-A" is not a string"#),
            (r#"{"X-Taken": "s3cret"}"#, "x-taken is taken"),
            (r#"{"Cookie": "s3cret"}"#, "header cookie is for a channel's own headers"),
            (r#"{"Forwarded": "s3cret"}"#, "header forwarded is for a channel's own headers"),
            (r#"{"X-Forwarded-For": "s3cret"}"#, "header x-forwarded-for is for a channel's own headers"),
            (r#"{"X-Http-Method-Override": "s3cret"}"#, "header x-http-method-override is for a channel's own"),
            (r#"{"X-Original-URL": "s3cret"}"#, "header x-original-url is for a channel's own headers"),
            (r#"{"X-Rewrite-URL": "s3cret"}"#, "header x-rewrite-url is for a channel's own headers"),
            (r#"{"Idempotency_Key": "s3cret"}"#, "header idempotency_key has an underscore"),
            (r#"["s3cret"]"#, "headers is not a JSON object"),
            (r#""s3cret""#, "headers is not a JSON object"),
            ("s3cret", "headers is not JSON"),
        ] {
            let refused = row(json).expect_err(json);
            assert!(refused.contains(said), "{json}: {refused}");
            assert!(!refused.contains("s3cret"), "{json}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_row_says_its_headers_are_those_of_an_object_of_texts_or_are_refused(
            names in proptest::collection::vec("[a-zA-Z-]{1,12}|\\PC{0,8}|host|cookie|x_a|[\\x00-\\x20]{1,3}", 0..6),
            value in prop_oneof![
                "\\PC{0,20}|.{0,8}".prop_map(Value::from),
                any::<i32>().prop_map(Value::from),
                Just(Value::Null),
            ],
        ) {
            let json: serde_json::Map<_, _> = names.iter().map(|name| (name.clone(), value.clone())).collect();
            if let Ok(headers) = row(&Value::Object(json).to_string()) {
                for (name, sent) in &headers {
                    prop_assert!(names.iter().any(|said| said.eq_ignore_ascii_case(name.as_str())), "{}", name);
                    prop_assert_eq!(Some(sent.as_bytes()), value.as_str().map(str::as_bytes));
                    prop_assert!(parse(name.as_str(), "").is_ok() && of_rows(name).is_ok());
                }
            }
        }

        #[test]
        fn no_text_of_a_rows_headers_panics(json in "\\PC*|[\\[{\"]{0,200}") {
            let _ = row(&json);
        }
    }
}
