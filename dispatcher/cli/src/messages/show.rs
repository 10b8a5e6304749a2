//! `outbox messages show`: a message, and its life as a line of time.

use std::fmt::Write as _;

use outbox_schema::MessageId;
use outbox_schema::desk::MessageRecord;

use super::find;
use crate::session::OutboxAccess;
use outbox_dispatcher::explain::life;
use outbox_dispatcher::text::{in_one_line, print_as};

/// Prints a message, found by its id or by its key.
pub(crate) async fn show(outbox: &OutboxAccess, message: &str, json: bool) -> anyhow::Result<()> {
    let found = find(outbox.desk().as_ref(), message).await?;
    // None where the message was deleted in the meantime.
    let explained = outbox.explain(MessageId(found.id)).await?;
    let now = explained.as_ref().map_or("", |explanation| explanation.in_short());
    print_as(json, &found, |found| format!("{}\n{}", head(found), time_line(found, now)))
}

fn head(message: &MessageRecord) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<16} {}", in_one_line(value));
    };
    let state = match &message.dead_reason {
        Some(reason) => format!("{} ({reason})", message.status),
        None => message.status.clone(),
    };
    let attempts = match message.max_attempts {
        Some(most) => format!("{} of {most}", message.attempts),
        None => message.attempts.to_string(),
    };
    line("message", &message.id.to_string());
    line("status", &state);
    line("channel", &message.channel);
    line("target", &message.target);
    line("destination", &message.destination);
    line("idempotency key", &message.idempotency_key);
    line("attempts", &attempts);
    if message.status == "PENDING" {
        line("due", &message.available_at);
    }
    let optional = [
        ("expires", &message.expires_at),
        ("receipt", &message.receipt),
        ("last error", &message.last_error),
        ("ordering key", &message.ordering_key),
        ("tenant", &message.tenant),
        ("headers", &message.headers),
        ("traceparent", &message.traceparent),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            line(name, value);
        }
    }
    // The line breaks of the payload are kept: the application may have put it in lines so that people can read it.
    let _ = writeln!(text, "{:<16} {}", "payload", message.payload);
    text
}

fn time_line(message: &MessageRecord, now: &str) -> String {
    let events = life(message);
    let width = events.iter().filter_map(|event| event.at.as_ref()).map(String::len).max().unwrap_or_default();
    let mut text = String::new();
    for event in events {
        let _ = writeln!(text, "{:<width$}  {}", event.at.as_deref().unwrap_or("-"), in_one_line(&event.what));
        if let Some(more) = event.more {
            let _ = writeln!(text, "{:width$}  {}", "", in_one_line(&more));
        }
    }
    let _ = writeln!(text, "{:<width$}  {}", "now", in_one_line(now));
    text
}
