//! `outbox messages cancel`: makes messages that wait dead letters, `cancelled`.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use outbox_dispatcher::text::print_as;
use outbox_schema::desk::{Author, Cancelled, CancelledAll, MessageFilter, MessageSelection, Pace};
use outbox_schema::{MessageId, Status};

use super::filter::FilterArgs;
use super::selection::{counted, over, selection, table_of};
use crate::pace::{changed_of, ended, go_on, left};
use crate::progress::LongChange;
use crate::session::{AuthorArgs, Misuse, OutboxAccess};

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The ids of the rows, or their idempotency keys; or a filter instead.
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    /// The idempotency key of one message alone, also where that is a number.
    #[arg(long, conflicts_with = "messages")]
    key: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Say what would be cancelled, and change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn cancel(outbox: &OutboxAccess, args: CancelArgs) -> anyhow::Result<ExitCode> {
    let CancelArgs { messages, key, filter, dry_run, author, json } = args;
    let filter = filter.into_filter(outbox)?;
    let selection = match key {
        Some(_) if filter != MessageFilter::default() => {
            return Err(Misuse::new("name either a key or a filter").into());
        }
        Some(key) => {
            let found = outbox.desk().message_by_key(&key).await?;
            let found = found.with_context(|| format!("no message has the idempotency key `{key}`"))?;
            MessageSelection::Ids(vec![MessageId(found.id)])
        }
        None => selection(outbox, &messages, filter, Status::Pending).await?,
    };
    if dry_run {
        let found = outbox.desk().message_groups(Status::Pending, &selection).await?;
        print_as(json, &found[..], |found| {
            let mut text = table_of(found);
            text.line(format!("{}; nothing was changed", counted(found).would_be("cancelled", Pace::default())));
            text
        })?;
        return over(outbox, &selection, found.len() as u64, ExitCode::SUCCESS).await;
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
