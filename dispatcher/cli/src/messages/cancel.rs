//! `outbox messages cancel`: makes messages that wait dead letters, `cancelled`.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use outbox_console::text::print_as;
use outbox_schema::MessageId;
use outbox_schema::desk::{Author, Cancelled, CancelledAll, MessageChange, MessageSelection};

use super::selection::over;
use super::waiting::{WaitingArgs, would};
use crate::pace::{changed_of, ended, go_on, left};
use crate::progress::LongChange;
use crate::session::OutboxAccess;

pub(super) async fn cancel(outbox: &OutboxAccess, args: WaitingArgs) -> anyhow::Result<ExitCode> {
    let WaitingArgs { meant, dry_run, author, json } = args;
    let selection = meant.into_selection(outbox, MessageChange::Cancel).await?;
    if dry_run {
        return would(outbox, &selection, (MessageChange::Cancel, "cancelled"), json).await;
    }
    let author = author.into_author();
    match selection {
        MessageSelection::Ids(ids) if ids.len() == 1 => one(outbox, ids[0], &author, json).await,
        selection => many(outbox, &selection, &author, json).await,
    }
}

async fn one(outbox: &OutboxAccess, id: MessageId, author: &Author, json: bool) -> anyhow::Result<ExitCode> {
    let cancelled = outbox.by_hand().cancel(id, author).await?;
    if let Cancelled::Refused(refused) = &cancelled {
        bail!("message {} was not cancelled: {}", refused.id, refused.because);
    }
    print_as(json, &cancelled, |_| format!("message {id} is cancelled"))?;
    Ok(ExitCode::SUCCESS)
}

async fn many(
    outbox: &OutboxAccess,
    selection: &MessageSelection,
    author: &Author,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let follow = LongChange::new("cancel", "cancelled", |_| TAKE_BACK.to_owned());
    let by_hand = outbox.by_hand();
    let tell = |progress| follow.tell(progress);
    let change = by_hand.cancel_all_watched(selection, author, &tell);
    let (done, stopped) = match follow.through(change, (&*by_hand, author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(json, &done, |done| in_words(done, stopped.is_some()))?;
    let otherwise = stopped.unwrap_or_else(|| ended(done.cancelled, &done.skipped));
    over(outbox, selection, done.meant, otherwise).await
}

/// How what was cancelled is sent after all.
const TAKE_BACK: &str = "take back: outbox dead-letters redrive --reason cancelled, with the same filter";

fn in_words(done: &CancelledAll, stopped: bool) -> String {
    let mut text = changed_of(done.cancelled, done.meant, "cancelled");
    text += &go_on(done.meant, done.cancelled, done.skipped.count(), stopped);
    if done.cancelled > 0 {
        let _ = write!(text, "\n{TAKE_BACK}");
    }
    text + &left(&done.skipped)
}
