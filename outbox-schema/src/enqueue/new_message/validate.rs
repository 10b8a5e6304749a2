//! The faults of a message that can be found before the database or the receiver sees it.

use std::time::{Duration, SystemTime};

use url::Url;

use super::invalid::InvalidMessage;
use super::{Kind, NewMessage, SendTime, jsonb};
use crate::channel_name;
use crate::enqueue::fcm::{FcmMessage, FcmTarget};
use crate::enqueue::trace::TRACESTATE_BYTES;
use crate::origin::{check_plain, column};

/// The longest idempotency or ordering key, in characters.
const KEY_CHARS: usize = 255;

/// The furthest that a time may lie in the future. A later time is a mistake in a unit.
const FURTHEST: Duration = Duration::from_hours(24 * 366 * 100);

impl NewMessage {
    /// Checks the message as far as that needs no database and no network. [`enqueue`](crate::enqueue()) does this too.
    pub fn validate(&self) -> Result<(), InvalidMessage> {
        self.check_channel()?;
        self.check_keys()?;
        self.check_payload()?;
        self.check_target()?;
        self.check_headers()?;
        self.tags.check().map_err(|problem| InvalidMessage::new("tags", problem))?;
        self.check_numbers()?;
        self.check_times()?;
        self.check_trace()
    }

    fn check_channel(&self) -> Result<(), InvalidMessage> {
        channel_name::check(&self.channel).map_err(|why| {
            let allowed = channel_name::ALLOWED;
            InvalidMessage::new(
                "channel",
                format!("no channel can be called {:?}: {why}; allowed is {allowed}", self.channel),
            )
        })
    }

    fn check_keys(&self) -> Result<(), InvalidMessage> {
        let keys = [
            ("idempotency_key", &self.idempotency_key),
            ("ordering_key", &self.ordering_key),
            ("tenant", &self.tenant),
        ];
        for (field, key) in keys {
            let Some(key) = key else { continue };
            let problem = if key.is_empty() {
                "it is empty: leave it out, or say what the message is about".to_owned()
            } else if key.chars().count() > KEY_CHARS {
                format!("it has {} characters, {KEY_CHARS} are allowed", key.chars().count())
            } else if key.chars().any(char::is_control) {
                "it holds a control character (as NUL or a line break)".to_owned()
            } else if key.trim() != key {
                // MySQL compares texts without the spaces at their end.
                "it begins or ends with a space".to_owned()
            } else {
                continue;
            };
            return Err(InvalidMessage::new(field, problem));
        }
        Ok(())
    }

    fn check_payload(&self) -> Result<(), InvalidMessage> {
        let text = self.payload_text()?;
        // Bodies can be large, so they are parsed only as far as needed.
        serde_json::from_str::<serde::de::IgnoredAny>(&text)
            .map_err(|error| InvalidMessage::new("payload", format!("it is not JSON: {error}")))?;
        if let Some(problem) = jsonb::problem(&text) {
            return Err(InvalidMessage::new("payload", problem));
        }
        match self.kind {
            Kind::Fcm => self.check_fcm(&text),
            Kind::Http | Kind::Any => Ok(()),
        }
    }

    fn check_fcm(&self, payload: &str) -> Result<(), InvalidMessage> {
        let target = FcmTarget::parse(&self.target).map_err(|problem| InvalidMessage::new("target", problem))?;
        FcmMessage::read(payload, &target).map_err(|problem| InvalidMessage::new("payload", problem))?;
        Ok(())
    }

    fn check_target(&self) -> Result<(), InvalidMessage> {
        let problem = |problem: String| Err(InvalidMessage::new("target", problem));
        if self.target.trim().is_empty() {
            return problem("it is empty".to_owned());
        }
        if self.target.chars().any(char::is_control) {
            return problem("it holds a control character (as NUL or a line break)".to_owned());
        }
        let begins =
            |scheme: &str| self.target.get(..scheme.len()).is_some_and(|text| text.eq_ignore_ascii_case(scheme));
        let is_url = begins("http:") || begins("https:");
        match (self.kind, Url::parse(&self.target)) {
            (Kind::Fcm, _) => Ok(()),
            (Kind::Any, _) if !is_url => Ok(()),
            (Kind::Http, Err(_)) if self.target.starts_with('/') => Ok(()),
            (Kind::Any | Kind::Http, Ok(url)) => match url.scheme() {
                "http" | "https" if url.username().is_empty() && url.password().is_none() => {
                    check_plain(&url, column(&self.target).as_deref()).or_else(problem)
                }
                "http" | "https" => problem(
                    "the URL holds a user name or a password: credentials belong to the channel's settings".to_owned(),
                ),
                scheme => problem(format!("the URL begins with {scheme}: and must begin with https:// or http://")),
            },
            (Kind::Any | Kind::Http, Err(error)) => {
                problem(format!("it is neither a URL ({error}) nor a path that begins with /"))
            }
        }
    }

    fn check_headers(&self) -> Result<(), InvalidMessage> {
        // RFC 9110, 5.6.2: the characters of a token.
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        for (name, value) in &self.headers {
            if name.is_empty() || !name.bytes().all(token) {
                return Err(InvalidMessage::new(
                    "headers",
                    format!("{name:?} is not a header's name: use letters, digits and hyphens"),
                ));
            }
            if value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(InvalidMessage::new(
                    "headers",
                    format!("the value of {name} holds a control character (as CR, LF or NUL)"),
                ));
            }
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), InvalidMessage> {
        if self.priority > 3 {
            return Err(InvalidMessage::new("priority", format!("it is {}; 0 to 3 are allowed", self.priority)));
        }
        match self.max_attempts {
            Some(attempts) if attempts == 0 || i16::try_from(attempts).is_err() => {
                Err(InvalidMessage::new("max_attempts", format!("it is {attempts}; 1 to {} are allowed", i16::MAX)))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_times(&self) -> Result<(), InvalidMessage> {
        let now = SystemTime::now();
        let from_now = |moment: SendTime| match moment {
            SendTime::After(time) => time,
            SendTime::At(time) => time.duration_since(now).unwrap_or_default(),
        };
        for (field, moment) in [("available_at", self.due), ("expires_at", self.expires)] {
            if moment.is_some_and(|moment| from_now(moment) > FURTHEST) {
                return Err(InvalidMessage::new(field, "it is more than a hundred years away: mind the unit"));
            }
            if moment.is_some_and(|moment| matches!(moment, SendTime::At(time) if time < SystemTime::UNIX_EPOCH)) {
                return Err(InvalidMessage::new(field, "it is before 1970: mind the unit"));
            }
        }
        let expires_first = match (self.due.unwrap_or(SendTime::After(Duration::ZERO)), self.expires) {
            (SendTime::After(due), Some(SendTime::After(expires))) => expires <= due,
            (SendTime::At(due), Some(SendTime::At(expires))) => expires <= due,
            // These are two clocks. The database will compare the times.
            (SendTime::After(_), Some(SendTime::At(_))) | (SendTime::At(_), Some(SendTime::After(_))) | (_, None) => {
                false
            }
        };
        if expires_first {
            return Err(InvalidMessage::new("expires_at", "it expires before it is due: it would never be sent"));
        }
        Ok(())
    }

    fn check_trace(&self) -> Result<(), InvalidMessage> {
        let Some(context) = &self.trace else { return Ok(()) };
        if !is_traceparent(&context.traceparent) {
            return Err(InvalidMessage::new(
                "traceparent",
                "it is not a W3C traceparent: 00-<32 hex digits>-<16 hex digits>-<2 hex digits>",
            ));
        }
        match &context.tracestate {
            Some(state) if state.len() > TRACESTATE_BYTES || !state.bytes().all(|b| (b' '..=b'~').contains(&b)) => {
                Err(InvalidMessage::new(
                    "tracestate",
                    format!("it must be printable ASCII of up to {TRACESTATE_BYTES} bytes"),
                ))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// `version-trace-parent-flags`, of lower-case hex digits. <https://www.w3.org/TR/trace-context/#traceparent-header>
fn is_traceparent(text: &str) -> bool {
    let hex = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let parts: Vec<_> = text.split('-').collect();
    parts.len() == 4 && parts.iter().map(|part| part.len()).eq([2, 32, 16, 2]) && parts.iter().all(|part| hex(part))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;
    use crate::TraceContext;

    fn valid() -> NewMessage {
        NewMessage::http("https://shop.example/hook").json(&serde_json::json!({ "order": 1 }))
    }

    fn context(traceparent: &str) -> TraceContext {
        TraceContext { traceparent: traceparent.to_owned(), tracestate: Some("a=b".to_owned()) }
    }

    /// The column that the error names.
    fn refused(message: &NewMessage) -> &'static str {
        message.validate().unwrap_err().field
    }

    #[test]
    fn a_message_that_says_everything_is_valid() {
        let message = valid()
            .channel("partner-hooks_2")
            .header("X-Tenant", "7")
            .idempotency_key("order-1")
            .ordering_key("order")
            .tenant("shop")
            .tag("order", "4711")
            .priority(3)
            .delay(Duration::from_mins(1))
            .expires_in(Duration::from_hours(1))
            .max_attempts(3)
            .trace_context(context("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"));
        assert_eq!(message.validate(), Ok(()));
        assert_eq!(valid().due_at(SystemTime::now()).expires_in(Duration::from_secs(1)).validate(), Ok(()));
    }

    #[test]
    fn each_column_is_checked_before_the_insert() {
        assert_eq!(refused(&valid().channel("")), "channel");
        assert_eq!(refused(&valid().channel("a".repeat(65))), "channel");
        assert_eq!(refused(&valid().channel("two words")), "channel");
        assert_eq!(refused(&valid().channel("HTTP")), "channel");
        assert_eq!(refused(&valid().channel("a.b")), "channel");
        assert_eq!(refused(&valid().idempotency_key("k".repeat(256))), "idempotency_key");
        assert_eq!(valid().idempotency_key("ü".repeat(255)).validate(), Ok(()));
        assert_eq!(refused(&valid().idempotency_key("")), "idempotency_key");
        assert_eq!(refused(&valid().idempotency_key("a ")), "idempotency_key");
        assert_eq!(refused(&valid().ordering_key("a\0b")), "ordering_key");
        assert_eq!(refused(&valid().tenant("")), "tenant");
        assert_eq!(refused(&valid().tag("a=b", "c")), "tags");
        assert_eq!(refused(&valid().header("X Tenant", "7")), "headers");
        assert_eq!(refused(&valid().header("X-Tenant", "7\r\nHost: evil")), "headers");
        assert_eq!(refused(&valid().priority(4)), "priority");
        assert_eq!(refused(&valid().max_attempts(0)), "max_attempts");
        assert_eq!(refused(&valid().max_attempts(40_000)), "max_attempts");
        assert_eq!(refused(&valid().trace_context(context("00-1-2-3"))), "traceparent");
    }

    #[test]
    fn a_payload_must_be_json_that_every_database_can_keep() {
        assert_eq!(refused(&NewMessage::new("http", "/hook", "{")), "payload");
        assert_eq!(refused(&NewMessage::new("http", "/hook", r#"{"a":["\u0000"]}"#)), "payload");
        assert_eq!(NewMessage::new("http", "/hook", r#"{"a":"\\u0000"}"#).validate(), Ok(()));
        assert_eq!(refused(&NewMessage::new("http", "/hook", r#"{"a":"\ud800"}"#)), "payload");
        assert_eq!(refused(&NewMessage::new("http", "/hook", r#"{"a":1e999999}"#)), "payload");
        assert_eq!(NewMessage::new("http", "/hook", r#"{"a":[1e400,"\ud83d\ude00"]}"#).validate(), Ok(()));
        assert_eq!(refused(&valid().json(&f64_keyed())), "payload");
    }

    /// A value that has no JSON form.
    fn f64_keyed() -> std::collections::HashMap<(i32, i32), i32> {
        [((1, 2), 3)].into()
    }

    #[test]
    fn a_target_must_be_a_url_or_a_path_for_http_and_is_free_for_other_channels() {
        assert_eq!(NewMessage::http("/orders").validate(), Ok(()));
        assert_eq!(NewMessage::new("fcm", "abc:APA91b", "{}").validate(), Ok(()));
        for wrong in ["", " ", "file:///etc/passwd", "orders", "https://", "https://me:secret@shop.example/", "/a\nb"] {
            assert_eq!(refused(&NewMessage::http(wrong)), "target", "{wrong:?}");
        }
        assert_eq!(refused(&NewMessage::new("hooks", "http://[", "{}")), "target");
        for two_ways in
            ["http://a.example:9001\\@b.example/s3cret", "http:/b.example/s3cret", "HTTP://b.example:080/s3cret"]
        {
            for message in [NewMessage::http(two_ways), NewMessage::new("hooks", two_ways, "{}")] {
                let told = message.validate().unwrap_err().to_string();
                assert!(told.contains("write the host plainly") && !told.contains("s3cret"), "{two_ways}: {told}");
            }
        }
        let told = NewMessage::http("https://me:secret@shop.example/").validate().unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }

    #[test]
    fn a_message_that_would_expire_before_it_is_due_is_refused() {
        let (soon, later) = (Duration::from_mins(1), Duration::from_mins(2));
        assert_eq!(refused(&valid().delay(later).expires_in(soon)), "expires_at");
        let now = SystemTime::now();
        assert_eq!(refused(&valid().due_at(now + later).expires_at(now + soon)), "expires_at");
        assert_eq!(refused(&valid().delay(Duration::from_secs(u64::MAX))), "available_at");
    }

    #[test]
    fn a_push_message_is_built_field_by_field_and_held_to_fcms_limits() {
        let push = |target| NewMessage::fcm(target).notification("Hello", "World").data("order", "1");
        let token = FcmTarget::Token("abc:APA91b".to_owned());
        assert_eq!(push(token.clone()).validate(), Ok(()));
        assert_eq!(
            push(token.clone()).payload_text().unwrap(),
            r#"{"data":{"order":"1"},"notification":{"body":"World","title":"Hello"}}"#
        );
        assert_eq!(refused(&push(FcmTarget::Topic("no spaces".to_owned()))), "target");
        assert_eq!(refused(&push(FcmTarget::Token(String::new()))), "target");
        assert_eq!(refused(&push(token.clone()).data("google.a", "1")), "payload");
        assert_eq!(refused(&push(token.clone()).data("big", "x".repeat(4096))), "payload");
        assert_eq!(refused(&push(FcmTarget::Topic("news".to_owned())).data("big", "x".repeat(2048))), "payload");
        assert_eq!(refused(&push(token.clone()).json(&serde_json::json!({ "token": "other" }))), "payload");
        assert_eq!(refused(&push(token.clone()).json(&serde_json::json!({ "data": "no object" }))), "payload");
        assert_eq!(push(token).json(&serde_json::json!({ "token": null })).validate(), Ok(()));
        assert_eq!(refused(&push(FcmTarget::Token("/topics/news".to_owned()))), "target");
    }

    #[test]
    fn fields_are_added_to_an_object_that_was_given_whole() {
        let message = NewMessage::fcm(FcmTarget::Topic("/topics/news".to_owned()))
            .json(&serde_json::json!({ "android": { "ttl": "60s" } }))
            .data("a", "b");
        assert_eq!(message.target, "topic:news");
        assert_eq!(message.payload_text().unwrap(), r#"{"android":{"ttl":"60s"},"data":{"a":"b"}}"#);
        assert_eq!(refused(&NewMessage::new("fcm", "token:a", "[]").data("a", "b")), "payload");
    }
}
