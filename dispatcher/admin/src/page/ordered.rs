//! A change that a form orders: its end, or the page where it goes on, and what it did.

use std::time::Duration;

use maud::{Markup, html};
use outbox_desk::{Action, Change, OperationEntry, OperationStatus, Ordered, Outcome, Undoable};
use outbox_store::retention::Pruned;

use super::fields::Fields;
use super::instead::Instead;
use super::parts::{Tone, lead_to, left, message, number};
use super::{PageState, paths};

/// How long a form waits for the end of its change. Then the poller goes on, and the browser is led to the operation.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes a change, and waits a moment for its end. Where it has not ended by then, the browser is led to its page.
pub(super) async fn ordered(page_state: &PageState, change: &Change, sent: &Fields) -> Result<Outcome, Instead> {
    let database = &page_state.api_state.database;
    match outbox_desk::begin(database, change, &sent.author().into_author(), PATIENCE).await? {
        Ordered::Over(done) => Ok(done),
        Ordered::Begun(id) => match outbox_desk::operation(database, id).await? {
            Some(OperationEntry { status: OperationStatus::Done, result: Some(done), .. }) => Ok(done),
            Some(_) | None => Err(Instead::of(lead_to(&paths::operation(id)))),
        },
    }
}

/// The result of an operation, or what it has done so far.
pub(super) fn told(done: &Outcome) -> Markup {
    let tone = if done.action == Action::Purge && done.changed == 0 { Tone::Warning } else { Tone::Good };
    html! {
        p class={ "note " (tone.class()) } role="status" {
            strong { (changed(done)) }
            @match done.action {
                Action::Redrive | Action::Replay => {
                    @if let Some(sent) = done.first.first() { " Look at one: message " (message(sent.id.0)) "." }
                }
                Action::Cancel => {
                    " They are " a href="/dead-letters?reason=cancelled" { "dead letters" } ", and a redrive has them sent after all."
                }
                Action::Retry => {
                    " What was retried is due now."
                    @let untried = done.count("untried");
                    @if untried > 0 { " Never tried before, and scheduled for later: " (number(untried)) "." }
                }
                Action::Edit => { " They are dead letters still." }
                Action::Undo | Action::Purge | Action::Prune => {}
            }
        }
        (besides(done))
    }
}

/// How many messages were changed, and of how many.
fn changed(done: &Outcome) -> String {
    let what = match done.action {
        Action::Undo => {
            let what = match done.undone {
                Undoable::Redrive => "returned to the dead letters.",
                Undoable::Replay => "are not sent again, and their rows removed.",
            };
            return format!("{} {what}", number(done.changed));
        }
        Action::Prune => return format!("{} removed.", counted_messages(done.pruned())),
        Action::Purge => "deleted",
        action => action.done(),
    };
    format!("{} of {} {what}.", number(done.changed), number(done.meant))
}

/// What became of the others.
pub(super) fn besides(done: &Outcome) -> Markup {
    let unchanged = done.count("unchanged");
    html! {
        @if unchanged > 0 { p { (number(unchanged)) " are like that already." } }
        @if done.action == Action::Undo {
            ul {
                @for (name, what) in [
                    ("delivered", "delivered already"),
                    ("under_way", "in flight, or attempted or changed since: left as they are"),
                    ("dead_again", "dead letters already"),
                    ("gone", "not there any more"),
                ] {
                    @if done.count(name) > 0 { li { (number(done.count(name))) " " (what) } }
                }
            }
        }
        (left(done))
    }
}

/// Messages that are past their time, with their nouns.
pub(super) fn counted_messages(Pruned { success, dead }: Pruned) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let (delivered, letters) = (number(success), number(dead));
    format!("{delivered} delivered message{} and {letters} dead letter{}", plural(success), plural(dead))
}
