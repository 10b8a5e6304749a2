//! `outbox messages explain`: why a message has not been sent, and why it was sent twice.

use anyhow::Context;
use outbox_schema::MessageId;
use outbox_store::Status;

use super::find;
use crate::session::OutboxAccess;
use outbox_console::explain::{Explanation, Said, Verdict};
use outbox_console::text::{Page, in_one_line, print_as};

pub(super) async fn explain(outbox: &OutboxAccess, message: &str, json: bool) -> anyhow::Result<()> {
    let id = MessageId(find(outbox.desk().as_ref(), message).await?.id);
    let explained = outbox.explain(id).await?;
    print_as(json, &explained.with_context(|| format!("message {id} was deleted a moment ago"))?, in_words)
}

fn in_words(explanation: &Explanation) -> Page {
    let Explanation { id, idempotency_key, channel, status, sent_twice, .. } = explanation;
    let attempts = attempts(explanation.attempts, explanation.uncounted);
    let head = format!("message {id} ({idempotency_key}) of channel {channel}: {status}, attempts: {attempts}");
    let mut page = Page::default();
    page.line(in_one_line(&head));
    if let Some(made_by) = &explanation.made_by {
        page.line(in_one_line(made_by));
    }
    page.blank();
    let sent = explanation.status == Status::Success.as_str();
    page.line(if sent { "Was it sent?" } else { "Why has it not been sent?" });
    listed(&mut page, &explanation.not_sent);
    // Nobody asks that of a message that was never sent.
    if explanation.attempts > 0 || explanation.uncounted > 0 || sent_twice.verdict != Verdict::Once {
        page.blank();
        page.line("Why was it sent twice?");
        page.line(format!("  {}", in_one_line(&sent_twice.sentence)));
        listed(&mut page, &sent_twice.causes);
    }
    if !explanation.outcomes.is_empty() {
        page.blank();
        page.line("Which outcomes are told?");
        listed(&mut page, &explanation.outcomes);
    }
    if !explanation.notes.is_empty() {
        page.blank();
    }
    for Said { sentence, .. } in &explanation.notes {
        page.line(format!("Note: {}", in_one_line(sentence)));
    }
    page
}

/// The attempts that were counted and, where there were others, all requests.
fn attempts(counted: i32, uncounted: usize) -> String {
    let requests = usize::try_from(counted).unwrap_or(0) + uncounted;
    match (uncounted, requests) {
        (0, _) => counted.to_string(),
        (_, 1) => format!("{counted} counted, 1 request"),
        (_, requests) => format!("{counted} counted, {requests} requests"),
    }
}

fn listed<C>(page: &mut Page, said: &[Said<C>]) {
    for Said { sentence, .. } in said {
        page.line(format!("  - {}", in_one_line(sentence)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_counted_as_no_attempt_are_told_beside_the_attempts() {
        assert_eq!(
            [(2, 0), (0, 1), (1, 4)].map(|(counted, uncounted)| attempts(counted, uncounted)),
            ["2", "0 counted, 1 request", "1 counted, 5 requests"]
        );
    }
}
