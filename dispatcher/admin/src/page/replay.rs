//! Sending again what was delivered. The form says first what that would be.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, Change, Outcome, ReplayManner};
use outbox_schema::MessageId;

use super::fields::{AUTHOR, Asked, Fields, Get, Post, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::ordered::{ordered, told};
use super::pace::{PACE, pace, pace_fields};
use super::parts::number;
use super::paths;
use super::redrive::undo_fields;
use super::request_context::RequestContext;
use super::selected::{back, counted, meant, selection, table_of, uncounted, would};
use super::went::how_they_went;
use crate::api::Problem;

/// The fields that ask for new idempotency keys, and for messages that were replayed before.
const MANNER: [&str; 2] = ["new_key", "again"];

/// The field that names the last message of a replay before, where that sent messages again.
const AFTER: &str = "from";

pub(super) async fn form((State(page_state), context, Asked(asked)): Get) -> Result<Response, Problem> {
    context.require(Action::Replay)?;
    let meant = meant(&asked)?;
    let counted = counted(&page_state, &meant, Action::Replay).await?;
    let body = html! {
        @if let Some((found, _)) = &counted {
            p.lead {
                (would(found, "delivered", "would be sent again, each by a row of its own."))
                @let before: u64 = found.groups.iter().map(|group| group.replayed).sum();
                @if before > 0 { " Of them " (number(before)) " were replayed before, and are left out." }
            }
        } @else { (uncounted(&meant, Action::Replay)) }
        @if let Some(counted) = &counted { (table_of(counted, "Delivered messages")) }
        @if counted.as_ref().is_some_and(|(found, _)| found.is_none()) {
            p { "Only what was delivered can be replayed." }
        } @else {
            (fields(&context, &meant, &Fields::default().with("canary", "1"), "Replay them"))
        }
        (back(&meant))
    };
    Ok(context.page(&Content::still("Replay messages", body)))
}

fn fields(context: &RequestContext, meant: &Fields, sent: &Fields, label: &str) -> Markup {
    html! {
        form.change method="post" action={ (paths::MESSAGES) "/replay" } {
            (context.token())
            (meant.hidden())
            @if let Some(after) = sent.get(AFTER) { input type="hidden" name=(AFTER) value=(after); }
            (pace_fields(sent))
            (choice(sent, MANNER[0], "New idempotency keys", "for a receiver that remembers the old ones and would not look again"))
            (choice(sent, MANNER[1], "Also those that were replayed before", "otherwise they are left out"))
            (context.author_fields(false, sent))
            button.main type="submit" { (label) }
        }
    }
}

fn choice(sent: &Fields, name: &str, label: &str, hint: &str) -> Markup {
    html! {
        label.box {
            input type="checkbox" name=(name) value="yes" checked[sent.has(name)];
            span { (label) " " span.hint { (hint) } }
        }
    }
}

pub(super) async fn replay((State(page_state), context, Sent(sent)): Post) -> Result<Response, Instead> {
    let meant = sent.among(&AUTHOR, false).among(&PACE, false).among(&MANNER, false).among(&[AFTER], false);
    let selection = selection(&meant, Action::Replay)?;
    let after = sent.get(AFTER).and_then(|id| id.parse().ok()).map(MessageId);
    let manner = ReplayManner { new_key: sent.has(MANNER[0]), again: sent.has(MANNER[1]), after, pace: pace(&sent)? };
    let done = ordered(&page_state, &Change::Replay { selection, manner }, &sent).await?;
    let went = how_they_went(&page_state, Some(&done), true).await?;
    Ok(context.page(&Content::still("Replayed", replayed(&context, &done, (&meant, &sent), &went))))
}

/// The fields of a replay of those that this one has not come to.
fn others(sent: &Fields, done: &Outcome) -> Fields {
    let others = sent.among(&["canary", AFTER], false);
    match done.last {
        // What was sent again would be sent once more.
        Some(last) if sent.has(MANNER[1]) => others.with(AFTER, &last.to_string()),
        _ => others,
    }
}

fn replayed(context: &RequestContext, done: &Outcome, (meant, sent): (&Fields, &Fields), went: &Markup) -> Markup {
    html! {
        (told(done))
        (went)
        @if done.meant > done.changed + done.left_count {
            section {
                h2 { "Go on with the others" }
                (fields(context, meant, &others(sent, done), "Replay the others"))
            }
        }
        @if let (Some(id), 1..) = (done.audit_id, done.changed) { (undo_fields(context, id)) }
        (back(meant))
    }
}
