//! What a change did, in words.

use std::fmt::Write as _;

use outbox_desk::{Action, Because, Change, Outcome, Refusal, ReplayManner, Undoable};
use outbox_store::retention::Pruned;

use super::undo::undo_of;
use crate::pace::{changed_of, go_on, last_due};

/// The most messages that are named where many were left as they are.
const NAMED: usize = 20;

/// How what was cancelled is sent after all.
pub(super) const TAKE_CANCELLED_BACK: &str =
    "take back: outbox dead-letters redrive --reason cancelled, with the same filter";

/// What the change did, or had done when it was stopped.
pub(super) fn in_words(done: &Outcome, change: &Change, stopped: bool) -> String {
    let mut text = changed(done, change) + &last_due(done.changed, change.pace());
    if let Some(sent) = done.first.first() {
        let _ = write!(text, "\nlook at one:     outbox messages show {}", sent.id);
    }
    if let Action::Redrive | Action::Replay | Action::Cancel | Action::Retry = done.action {
        text += &rest(done, change, stopped);
    }
    text += &besides(done);
    text += &taken_back(done);
    text + &left(done)
}

fn changed(done: &Outcome, change: &Change) -> String {
    let Outcome { changed, meant, .. } = *done;
    match (done.action, change) {
        (Action::Edit, Change::Edit { change, .. }) if changed > 0 => {
            let key = if change.keep_key { "its own idempotency key" } else { "a new idempotency key" };
            format!("{changed} edited, each under {key}")
        }
        (Action::Edit, _) => format!("{changed} edited"),
        (Action::Undo, _) => match done.undone {
            Undoable::Redrive => format!("{changed} returned to the dead letters"),
            Undoable::Replay => format!("{changed} are not sent again, and their rows removed"),
        },
        (Action::Purge, _) => format!("{changed} deleted"),
        (Action::Prune, _) => pruned(&done.pruned(), "removed"),
        (action @ (Action::Redrive | Action::Replay | Action::Cancel | Action::Retry), _) => {
            changed_of(changed, meant, action.done())
        }
    }
}

/// How to go on with those that the change has not come to.
fn rest(done: &Outcome, change: &Change, stopped: bool) -> String {
    let rest = go_on(done.meant, done.changed, done.left_count, stopped);
    match (change, done.last) {
        // The same command would send once more what this one has sent.
        (Change::Replay { manner: ReplayManner { again: true, .. }, .. }, Some(last)) if !rest.is_empty() => {
            format!("\ngo on:           the same command with --after {last}, without --canary")
        }
        _ => rest,
    }
}

fn besides(done: &Outcome) -> String {
    let mut text = String::new();
    for (name, before, what) in [
        ("untried", "never tried:     ", "of them, scheduled for later and due now"),
        ("unchanged", "", "are like that already"),
        ("delivered", "", "delivered already"),
        ("under_way", "", "in flight, or attempted or changed since: left as they are"),
        ("dead_again", "", "dead letters already"),
        ("gone", "", "not there any more"),
    ] {
        let number = done.count(name);
        if number > 0 {
            let _ = write!(text, "\n{before}{number} {what}");
        }
    }
    text
}

fn taken_back(done: &Outcome) -> String {
    if done.changed == 0 {
        return String::new();
    }
    if done.action == Action::Cancel {
        return format!("\n{TAKE_CANCELLED_BACK}");
    }
    let undo = done.audit_id.and_then(|id| undo_of(done.action, id));
    undo.map_or_else(String::new, |undo| format!("\ntake back:       {undo}"))
}

/// The messages that were left as they are.
fn left(done: &Outcome) -> String {
    let mut text = String::new();
    for one in done.left.iter().take(NAMED) {
        let because = match &one.because {
            Because::Refused(Refusal::Replayed) => {
                "it has been replayed before (--again sends it once more)".to_owned()
            }
            because => because.to_string(),
        };
        let _ = write!(text, "\nleft as it is:   {}: {because}", one.id);
    }
    let others = done.left_count.saturating_sub(NAMED as u64);
    if others > 0 {
        let _ = write!(text, "\nand {others} others");
    }
    text
}

/// Messages that are past their retention, and what becomes of them.
pub(crate) fn pruned(pruned: &Pruned, done: &str) -> String {
    let Pruned { success, dead } = pruned;
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    format!("{success} delivered message{} and {dead} dead letter{} {done}", plural(*success), plural(*dead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_words() {
        let found = Pruned { success: 200, dead: 1 };
        assert_eq!(pruned(&found, "removed"), "200 delivered messages and 1 dead letter removed");
    }
}
