//! Why a token endpoint refused. `gcp_auth` says so only in an event of its log, whose body the log of this program leaves
//! out. Of that body only the two fields are kept that RFC 6749, 5.2 has for people to read.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The most characters of a field that are shown.
const MOST_SHOWN: usize = 200;

/// Hears the events of `gcp_auth`, in place of the log, and keeps the last refusal.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals(Arc<Mutex<Option<Refusal>>>);

/// A refusal of a token endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    status: String,
    body: Option<String>,
}

impl Refusals {
    /// The last refusal, for people. `endpoint` is who refused. None where none was heard.
    pub(super) fn last(&self, endpoint: &str) -> Option<String> {
        let heard = self.0.lock().clone()?;
        Some(heard.in_words(endpoint))
    }
}

impl Refusal {
    fn in_words(&self, endpoint: &str) -> String {
        let body: Value = self.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        let said = |name: &str| body[name].as_str().map(shown).filter(|text| !text.is_empty());
        let (error, description) = (said("error"), said("error_description"));
        let mut text = format!("{endpoint} answered {}", self.status);
        for part in [&error, &description].into_iter().flatten() {
            text = format!("{text}: {part}");
        }
        let cure = match error.as_deref() {
            Some("invalid_grant") => {
                "; is the service account's key deleted or disabled, or the clock of this machine wrong?"
            }
            Some("invalid_client" | "unauthorized_client") => "; does the service account still exist?",
            Some(_) | None => "",
        };
        text + cure
    }
}

/// The beginning of a text of the other side, on one line.
fn shown(text: &str) -> String {
    text.chars().take(MOST_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl Visit for Refusal {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "status" => self.status = format!("{value:?}"),
            "body" => self.body = Some(format!("{value:?}")),
            _ => {}
        }
    }
}

impl Subscriber for Refusals {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() == Level::WARN && metadata.target().starts_with("gcp_auth")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        let mut refusal = Refusal::default();
        event.record(&mut refusal);
        // Its other events tell of the same request again, and of no answer.
        if refusal.body.is_some() {
            *self.0.lock() = Some(refusal);
        }
    }

    // No span is enabled, so nobody calls these.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(body: &str) -> String {
        Refusal { status: "400".to_owned(), body: Some(body.to_owned()) }.in_words("https://oauth2.example/token")
    }

    #[test]
    fn a_refusal_is_its_two_fields_and_no_more_of_the_body() {
        let body =
            r#"{"error": "invalid_grant", "error_description": "Invalid JWT Signature.", "assertion": "s3cret"}"#;
        let text = said(body);
        let expected =
            "https://oauth2.example/token answered 400: invalid_grant: Invalid JWT Signature.; is the service";
        assert!(text.starts_with(expected) && !text.contains("s3cret"), "{text}");
        for other in ["<html>s3cret</html>", "", "[]", r#"{"error": {"message": "s3cret"}}"#] {
            assert_eq!(said(other), "https://oauth2.example/token answered 400", "{other}");
        }
    }

    proptest! {
        #[test]
        fn whatever_an_endpoint_answers_the_words_are_short_and_on_one_line(error in ".{0,500}", more in "\\PC{0,500}") {
            let text = said(&serde_json::json!({ "error": error, "error_description": more }).to_string());
            prop_assert!(text.chars().count() < 700 && !text.contains(char::is_control));
        }
    }
}
