//! The details of an entry of the audit, in words.

use maud::{Markup, html};
use outbox_desk::AuditEntry;
use serde_json::{Map, Value};

use super::parts::{nothing, text};
use outbox_console::text::span;

/// The details of an entry. What has no words is shown as it is kept.
pub(super) fn details(entry: &AuditEntry) -> Markup {
    let Some(kept) = entry.details.as_deref() else { return nothing() };
    match in_words(entry, kept) {
        Some(words) if words.is_empty() => nothing(),
        Some(words) => text(&words),
        None => html! { code { (text(kept)) } },
    }
}

fn in_words(entry: &AuditEntry, kept: &str) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_str(kept).ok()?;
    match entry.action.as_str() {
        "pause" => Some(how_long(&fields)),
        // The column beside says of what.
        "resume" | "stop" | "fire" => Some(String::new()),
        _ => entry.order_in_words().or_else(|| values_in_words(&fields)),
    }
}

fn how_long(fields: &Map<String, Value>) -> String {
    let ms = fields.get("for_ms").and_then(Value::as_i64);
    ms.map_or_else(|| "until somebody resumes it".to_owned(), |ms| format!("for {}", span(ms)))
}

/// Values by their names, as `channel http, revision 2`. None where there is more within one of them.
fn values_in_words(fields: &Map<String, Value>) -> Option<String> {
    let mut words = Vec::new();
    for (name, value) in fields {
        let value = match value {
            Value::Null => continue,
            Value::Array(all) if all.is_empty() => continue,
            Value::Array(all) => {
                let each: Option<Vec<_>> = all.iter().map(Value::as_str).collect();
                each?.join(" ")
            }
            Value::Object(_) => return None,
            Value::String(value) => value.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
        };
        words.push(format!("{} {value}", name.replace('_', " ")));
    }
    Some(words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_told_in_words_and_what_has_none_is_shown_as_it_is_kept() {
        for (action, kept, said) in [
            ("pause", r#"{"destination": "http", "for_ms": 7200000}"#, "for 2h 0m"),
            ("pause", r#"{"destination": "http", "for_ms": null}"#, "until somebody resumes it"),
            ("resume", r#"{"destination": "http"}"#, "<span class=\"none\">–</span>"),
            ("redrive", r#"{"filter": {"status_code": 404}, "canary": 1}"#, "status code 404, 1 at the most"),
            ("clear", r#"{"targets": ["a", "b"], "channel": null, "meant": 2}"#, "meant 2, targets a b"),
            ("cancel", r#"{"channel": "<b>", "revision": 2}"#, "channel &lt;b&gt;, revision 2"),
            (
                "edit",
                r#"{"headers": {"a": "b"}}"#,
                "<code>{&quot;headers&quot;: {&quot;a&quot;: &quot;b&quot;}}</code>",
            ),
            ("edit", "[<", "<code>[&lt;</code>"),
        ] {
            let entry = AuditEntry {
                id: 1,
                at: String::new(),
                who: "ada".to_owned(),
                action: action.to_owned(),
                why: None,
                details: Some(kept.to_owned()),
                part_of: None,
            };
            assert_eq!(details(&entry).into_string(), said, "{action} {kept}");
        }
    }
}
