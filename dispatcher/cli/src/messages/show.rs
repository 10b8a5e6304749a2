//! `outbox messages show`: a message, and its life as a line of time.

use outbox_desk::MessageRecord;
use outbox_schema::MessageId;

use super::find;
use crate::session::OutboxAccess;
use outbox_console::explain::life;
use outbox_console::text::{Cell, Page, grouped, print_as};

/// The column of the names of facts.
const NAMES: usize = 16;

/// Prints a message, found by its id or by its key.
pub(crate) async fn show(outbox: &OutboxAccess, message: &str, json: bool) -> anyhow::Result<()> {
    let found = find(outbox.desk().as_ref(), message).await?;
    // None where the message was deleted in the meantime.
    let explained = outbox.explain(MessageId(found.id)).await?;
    let now = explained.as_ref().map_or("", |explanation| explanation.in_short());
    print_as(json, &found, |found| {
        let mut page = head(found);
        page.blank();
        page.append(time_line(found, now));
        page
    })
}

fn head(message: &MessageRecord) -> Page {
    let mut page = Page::default();
    let mut line = |name: &str, value: Cell| page.fact(name, NAMES, value);
    let state = match &message.dead_reason {
        Some(reason) => format!("{} ({reason})", message.status),
        None => message.status.clone(),
    };
    let attempts = match message.max_attempts {
        Some(most) => format!("{} of {most}", message.attempts),
        None => message.attempts.to_string(),
    };
    line("message", Cell::whole(message.id));
    line("status", Cell::state(state));
    line("channel", message.channel.as_str().into());
    line("target", message.target.as_str().into());
    line("destination", message.destination.as_str().into());
    line("idempotency key", message.idempotency_key.as_str().into());
    if let Some(first) = message.replay_of {
        line("replay of", Cell::whole(first));
    }
    if let Some(key) = &message.sent_key {
        line("key sent", key.as_str().into());
    }
    line("attempts", attempts.into());
    if message.status == "PENDING" {
        line("due", message.available_at.as_str().into());
    }
    let optional = [
        ("expires", &message.expires_at),
        ("receipt", &message.receipt),
        ("last error", &message.last_error),
        ("ordering key", &message.ordering_key),
        ("tenant", &message.tenant),
        ("tags", &message.tags),
        ("headers", &message.headers),
        ("traceparent", &message.traceparent),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            line(name, value.as_str().into());
        }
    }
    // The line breaks of the payload are kept: the application may have put it in lines so that people can read it.
    let unread = || {
        let bytes = grouped(message.payload_bytes.unsigned_abs());
        format!("{bytes} bytes, not read back: more than 8 MiB")
    };
    let payload = message.payload.clone().unwrap_or_else(unread);
    let mut lines = payload.split('\n');
    page.fact("payload", NAMES, lines.next().unwrap_or_default());
    lines.for_each(|line| page.line(line));
    page
}

fn time_line(message: &MessageRecord, now: &str) -> Page {
    let events = life(message);
    let width = events.iter().filter_map(|event| event.at.as_ref()).map(String::len).max().unwrap_or_default();
    // The head has the last error already.
    let once = |text: &str| match &message.last_error {
        Some(error) => text.replace(&format!(": {error}"), ""),
        None => text.to_owned(),
    };
    let mut page = Page::default();
    for event in events {
        page.fact(event.at.as_deref().unwrap_or("-"), width + 1, once(&event.what));
        if let Some(more) = event.more {
            page.fact("", width + 1, more);
        }
    }
    page.fact("now", width + 1, once(now));
    page
}
