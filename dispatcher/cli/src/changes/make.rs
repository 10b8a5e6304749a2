//! Makes a change, which its operator follows.

use std::process::ExitCode;

use outbox_console::text::print_as;
use outbox_desk::{Action, Author, Change};

use super::outcome::{TAKE_CANCELLED_BACK, in_words};
use super::undo::{UNDO_REDRIVE, UNDO_REPLAY};
use crate::nearest;
use crate::progress::LongChange;
use crate::session::OutboxAccess;

/// What the messages are that a change has come to, and what takes back the change with a number.
fn words(action: Action) -> (&'static str, fn(i64) -> String) {
    match action {
        Action::Redrive => ("redriven", |id| format!("take back: {UNDO_REDRIVE} {id}")),
        Action::Replay => ("replayed", |id| format!("take back: {UNDO_REPLAY} {id}")),
        Action::Cancel => ("cancelled", |_| TAKE_CANCELLED_BACK.to_owned()),
        Action::Retry => ("retried", |_| "what was retried is due".to_owned()),
        Action::Edit => ("looked at", |_| "the audit keeps what is overwritten".to_owned()),
        Action::Undo => ("looked at", |_| "the same command again goes on".to_owned()),
        Action::Purge => ("deleted", |_| "nothing takes this back".to_owned()),
        Action::Prune => ("removed", |_| "nothing takes this back".to_owned()),
    }
}

/// Makes the change, and tells what it did. Gives the exit status: a failure where no message was changed and some were left.
pub(crate) async fn make(
    outbox: &OutboxAccess,
    change: &Change,
    author: &Author,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let (done, take_back) = words(change.action());
    let follow = LongChange::new(change.action().as_str(), done, take_back);
    let by_hand = outbox.by_hand();
    let tell = |progress| follow.tell(progress);
    let applied = by_hand.apply(change, author, &tell);
    let (done, stopped) = match follow.through(applied, (&*by_hand, author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(json, &done, |done| in_words(done, change, stopped.is_some()))?;
    let failed = done.changed == 0 && !done.left.is_empty();
    let ended = stopped.unwrap_or(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    nearest::ended(outbox, change, done.meant, ended).await
}
