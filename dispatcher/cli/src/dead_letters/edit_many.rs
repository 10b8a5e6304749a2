//! The same change to many dead letters. The operator is asked once, after seeing the difference in one of them.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use outbox_schema::desk::{Author, EditedAll, Selection};

use super::list::hint;
use crate::nearest;
use crate::progress::LongChange;
use crate::session::{OutboxAccess, confirmed};
use outbox_console::edit::{Planned, Wanted};
use outbox_console::text::{Page, grouped, print, print_as};

/// The most messages that are named where many were left as they are.
const NAMED: usize = 20;

/// Makes the change to each dead letter of the selection. A message that cannot be changed is left as it is, and the result
/// names it.
pub(super) async fn edit(
    outbox: &OutboxAccess,
    change: &Wanted,
    selection: &Selection,
    (yes, json): (bool, bool),
    author: &Author,
) -> anyhow::Result<ExitCode> {
    let desk = outbox.desk();
    if !(yes && json) {
        let groups = desk.dead_groups(selection).await?;
        if let Some(Planned { id, difference, .. }) = change.first(desk.as_ref(), selection, &groups, 1).await?.pop() {
            if !json {
                print(difference)?;
            }
            let found = grouped(groups.iter().map(|group| group.count).sum());
            let question = format!("write this to message {id}, and the like to the others of {found}?");
            if !yes && !confirmed(Page::default(), &question)? {
                bail!("nothing was changed");
            }
        }
    }
    let follow = LongChange::new("edit", "looked at", |_| "the audit keeps what is overwritten".to_owned());
    let by_hand = outbox.by_hand();
    let tell = |progress| follow.tell(progress);
    let editing = by_hand.edit_all(selection, &change.of_any, author, &tell);
    let (done, stopped) = match follow.through(editing, (&*by_hand, author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(json, &done, |done| in_words(done, change.of_any.keep_key))?;
    if done.meant == 0 {
        hint(outbox, selection).await?;
    }
    let ended = if done.edited == 0 && !done.left.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    Ok(stopped.unwrap_or_else(|| nearest::ended(selection, done.meant, ended)))
}

fn in_words(done: &EditedAll, keeps_keys: bool) -> String {
    let key = match (done.edited, keeps_keys) {
        (0, _) => "",
        (_, true) => ", each under its own idempotency key",
        (_, false) => ", each under a new idempotency key",
    };
    let mut text = format!("{} edited{key}", done.edited);
    if done.unchanged > 0 {
        let _ = write!(text, "\n{} are like that already", done.unchanged);
    }
    for left in done.left.iter().take(NAMED) {
        let _ = write!(text, "\nleft as it is:   {}: {}", left.id, left.because);
    }
    let left = done.left_count.max(done.left.len() as u64);
    if left > NAMED as u64 {
        let _ = write!(text, "\nand {} others", left - NAMED as u64);
    }
    text
}
