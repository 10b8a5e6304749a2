//! `outbox messages retry`: makes messages due now that wait for another attempt.

use std::fmt::Write as _;
use std::process::ExitCode;

use outbox_console::text::print_as;
use outbox_schema::desk::{MessageChange, Retried};

use super::selection::over;
use super::waiting::{WaitingArgs, would};
use crate::pace::{changed_of, ended, go_on, left};
use crate::progress::LongChange;
use crate::session::OutboxAccess;

pub(super) async fn retry(outbox: &OutboxAccess, args: WaitingArgs) -> anyhow::Result<ExitCode> {
    let WaitingArgs { meant, dry_run, author, json } = args;
    let selection = meant.into_selection(outbox, MessageChange::Retry).await?;
    if dry_run {
        return would(outbox, &selection, (MessageChange::Retry, "retried"), json).await;
    }
    let follow = LongChange::new("retry", "retried", |_| "what was retried is due".to_owned());
    let (by_hand, author) = (outbox.by_hand(), author.into_author());
    let tell = |progress| follow.tell(progress);
    let change = by_hand.retry_watched(&selection, &author, &tell);
    let (done, stopped) = match follow.through(change, (&*by_hand, &author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(json, &done, |done| in_words(done, stopped.is_some()))?;
    let otherwise = stopped.unwrap_or_else(|| ended(done.retried, &done.skipped));
    over(outbox, &selection, done.meant, otherwise).await
}

fn in_words(done: &Retried, stopped: bool) -> String {
    let mut text = changed_of(done.retried, done.meant, "retried");
    text += &go_on(done.meant, done.retried, done.skipped.count(), stopped);
    if done.untried > 0 {
        let _ = write!(text, "\nnever tried:     {} of them, scheduled for later and due now", done.untried);
    }
    text + &left(&done.skipped)
}
