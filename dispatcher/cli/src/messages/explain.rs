//! `outbox messages explain`: why a message has not been sent, and why it was sent twice.

use std::fmt::Write as _;

use anyhow::Context;
use outbox_schema::MessageId;

use super::find;
use crate::session::OutboxAccess;
use outbox_dispatcher::explain::{Explanation, Said};
use outbox_dispatcher::text::{in_one_line, print_as};

pub(super) async fn explain(outbox: &OutboxAccess, message: &str, json: bool) -> anyhow::Result<()> {
    let id = MessageId(find(outbox.desk().as_ref(), message).await?.id);
    let explained = outbox.explain(id).await?;
    print_as(json, &explained.with_context(|| format!("message {id} was deleted a moment ago"))?, in_words)
}

fn in_words(explanation: &Explanation) -> String {
    let Explanation { id, idempotency_key, channel, status, attempts, sent_twice, .. } = explanation;
    let head = format!("message {id} ({idempotency_key}) of channel {channel}: {status}, attempts: {attempts}");
    let mut text = format!("{}\n", in_one_line(&head));
    text.push_str("\nWhy has it not been sent?\n");
    listed(&mut text, &explanation.not_sent);
    let _ = write!(text, "\nWhy was it sent twice?\n  {}\n", in_one_line(&sent_twice.sentence));
    listed(&mut text, &sent_twice.causes);
    if !explanation.notes.is_empty() {
        text.push('\n');
    }
    for Said { sentence, .. } in &explanation.notes {
        let _ = writeln!(text, "Note: {}", in_one_line(sentence));
    }
    text
}

fn listed<C>(text: &mut String, said: &[Said<C>]) {
    for Said { sentence, .. } in said {
        let _ = writeln!(text, "  - {}", in_one_line(sentence));
    }
}
