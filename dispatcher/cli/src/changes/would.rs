//! What a change would do.

use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::Context;
use outbox_console::text::{Page, print_as, warning};
use outbox_desk::{Action, Change, MessageGroup, Preview, Selection};

use super::outcome::pruned;
use crate::dead_letters::groups;
use crate::messages::table_of;
use crate::nearest;
use crate::pace::Count;
use crate::session::OutboxAccess;

/// Says what the change would do. Gives the exit status: that of the change itself, where named messages are no dead letters, or a
/// filter found none.
pub(crate) async fn would(outbox: &OutboxAccess, change: &Change, json: bool) -> anyhow::Result<ExitCode> {
    let found = Preview::of(outbox.desk().as_ref(), change).await?.context("nobody can say what an undo would do")?;
    print_as(json, &found, |found| in_words(found, change))?;
    let meant = count(&found).counted;
    if let Change::Redrive { selection: Selection::Ids(ids), .. } | Change::Purge { selection: Selection::Ids(ids) } =
        change
        && ids.iter().collect::<HashSet<_>>().len() as u64 > meant
    {
        warning(&format!("not all of these {} messages are dead letters: {meant} are", ids.len()));
        return Ok(ExitCode::FAILURE);
    }
    nearest::ended(outbox, change, meant, ExitCode::SUCCESS).await
}

/// How many messages were found.
pub(crate) fn count(found: &Preview) -> Count {
    let (counted, more) = found.count();
    Count { counted, more }
}

fn in_words(found: &Preview, change: &Change) -> Page {
    let mut count = count(found);
    let (mut page, mut left) = (Page::default(), String::new());
    match found {
        Preview::Past(past) => return pruned(past, "would be removed; nothing was changed").into(),
        Preview::Letters(found) => {
            page = groups(found);
            if !found.is_empty() {
                page.blank();
            }
        }
        Preview::Messages(found) => {
            page.append(table_of(found));
            let sum = |of: fn(&MessageGroup) -> u64| found.iter().map(of).sum::<u64>();
            let (out, why) = match change {
                Change::Replay { manner, .. } if !manner.again => {
                    (sum(|group| group.replayed), "that were replayed before left out (--again)")
                }
                Change::Retry { .. } => (sum(|group| group.deferred), "that are deferred left"),
                _ => (0, ""),
            };
            if out > 0 {
                count.counted = count.counted.saturating_sub(out);
                left = format!(", and {out} {why}");
            }
        }
    }
    let done = if change.action() == Action::Purge { "deleted" } else { change.action().done() };
    page.line(format!("{}{left}; nothing was changed", count.would_be(done, change.pace())));
    page
}
