//! Changes of many dead letters: redrive, undo and purge. Each says first what it would do.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::desk::{DeadGroup, Redriven, Undoable, Undone};
use outbox_schema::{ByHand, Desk};

use super::Reception;
use super::dead_letters::{ALL, PATH, by_cause, counted, meant, selection};
use super::door::Visit;
use super::fields::{AUTHOR, Asked, Fields, Sent};
use super::frame::Content;
use super::pace::{PACE, pace, pace_fields};
use super::parts::{left, message, number};
use crate::admin::api::extract::Id;
use crate::admin::api::{Kind, Problem};

/// Which dead letters a form means, beside what else is in it.
fn filter_in(sent: &Fields) -> Fields {
    sent.among(&AUTHOR, false).among(&PACE, false).among(&[ALL], false)
}

/// The dead letters that the address means, by cause.
async fn would(reception: &Reception, visit: &Visit, asked: &Fields) -> Result<Vec<DeadGroup>, Problem> {
    visit.require_operate()?;
    let all = Fields::default().with(ALL, "yes");
    Ok(reception.office.database.dead_groups(&selection(asked, &all)?).await?)
}

pub(super) async fn redrive_form(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let groups = would(&reception, &visit, &asked).await?;
    let body = html! {
        p.lead { strong { (counted(&groups)) } " dead letters would be redriven: due again, under the same idempotency keys. Nothing is changed yet." }
        (by_cause(&groups, &asked))
        @if !groups.is_empty() { (redrive_fields(&visit, &asked, &Fields::default().with("canary", "1"), "Redrive them")) }
        (back(&asked))
    };
    Ok(visit.page(&Content::still("Redrive dead letters", body)))
}

fn redrive_fields(visit: &Visit, filter: &Fields, sent: &Fields, label: &str) -> Markup {
    html! {
        form.change method="post" action={ (PATH) "/redrive" } {
            (visit.token())
            (meant(filter))
            (pace_fields(sent))
            (visit.author_fields(false, sent))
            button.main type="submit" { (label) }
        }
    }
}

pub(super) async fn redrive(
    State(reception): State<Reception>,
    visit: Visit,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let filter = filter_in(&sent);
    let (selection, pace) = (selection(&filter, &sent)?, pace(&sent)?);
    let done = reception.office.database.redrive(&selection, pace, &sent.author().into_author()).await?;
    Ok(visit.page(&Content::still("Redriven", redriven(&visit, &done, &filter, &sent))))
}

fn redriven(visit: &Visit, done: &Redriven, filter: &Fields, sent: &Fields) -> Markup {
    let more = done.meant > done.redriven + done.skipped.len() as u64;
    html! {
        p.note.good role="status" {
            strong { (number(done.redriven)) " of " (number(done.meant)) " redriven." }
            @if let Some(example) = done.messages.first() { " Look at one: message " (message(*example)) "." }
        }
        (left(&done.skipped))
        @if more {
            section {
                h2 { "Go on with the others" }
                (redrive_fields(visit, filter, &sent.among(&["canary"], false), "Redrive the others"))
            }
        }
        @if let (Some(id), 1..) = (done.audit_id, done.redriven) { (undo_fields(visit, id)) }
        (back(filter))
    }
}

pub(super) fn undo_fields(visit: &Visit, id: i64) -> Markup {
    html! {
        section {
            h2 { "Take it back" }
            p { "What has not been sent since is taken back: redriven messages are dead letters again, and the rows of a replay are removed." }
            form.change method="post" action={ "/redrives/" (id) "/undo" } {
                (visit.token())
                (visit.author_fields(false, &Fields::default()))
                button type="submit" { "Take " (id) " back" }
            }
        }
    }
}

pub(super) async fn undo_form(visit: Visit, Id(id): Id) -> Result<Response, Problem> {
    visit.require_operate()?;
    Ok(visit.page(&Content::still(format!("Take {id} back"), undo_fields(&visit, id))))
}

pub(super) async fn undo(
    State(reception): State<Reception>,
    visit: Visit,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let done = reception.office.database.undo(id, &sent.author().into_author()).await?;
    let done =
        done.ok_or_else(|| Problem::new(Kind::NotThere, format!("no redrive or replay has the audit entry {id}")))?;
    Ok(visit.page(&Content::still("Taken back", undone(&done))))
}

fn taken_back(undone: Undoable) -> &'static str {
    match undone {
        Undoable::Redrive => "returned to the dead letters.",
        Undoable::Replay => "are not sent again, and their rows removed.",
    }
}

fn undone(done: &Undone) -> Markup {
    html! {
        p.note.good role="status" { strong { (number(done.returned)) " " (taken_back(done.undone)) } }
        ul {
            @for (count, what) in [
                (done.delivered, "delivered already"),
                (done.under_way, "in flight, or attempted or changed since: left as they are"),
                (done.dead_again, "dead letters already"),
                (done.gone, "not there any more"),
            ] {
                @if count > 0 { li { (number(count)) " " (what) } }
            }
        }
        (back(&Fields::default()))
    }
}

pub(super) async fn purge_form(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let groups = would(&reception, &visit, &asked).await?;
    let body = html! {
        p.note.bad { strong { (counted(&groups)) " dead letters would be deleted for good," } " with their attempts. Only the audit remembers them. Nothing is changed yet." }
        (by_cause(&groups, &asked))
        @if !groups.is_empty() {
            form.change method="post" action={ (PATH) "/purge" } {
                (visit.token())
                (meant(&asked))
                (visit.author_fields(true, &Fields::default()))
                button.danger type="submit" { "Delete them for good" }
            }
        }
        (back(&asked))
    };
    Ok(visit.page(&Content::still("Purge dead letters", body)))
}

pub(super) async fn purge(
    State(reception): State<Reception>,
    visit: Visit,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let filter = filter_in(&sent);
    let author = sent.author().into_author();
    let done = reception.office.database.purge(&selection(&filter, &sent)?, &author).await?;
    let body = html! {
        p.note.good role="status" { strong { (number(done.purged)) " of " (number(done.meant)) " deleted." } }
        (left(&done.skipped))
        (back(&Fields::default()))
    };
    Ok(visit.page(&Content::still("Purged", body)))
}

fn back(filter: &Fields) -> Markup {
    html! { p { a href=(filter.at(PATH)) { "Back to the dead letters" } } }
}
