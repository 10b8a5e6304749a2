//! Changes of many dead letters: redrive, undo and purge. Each says first what it would do.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, Change, Outcome};

use super::caches::Shown;
use super::dead_letters::{ALL, back, by_cause, counted_for_a_form, counted_letters, meant, one, selection};
use super::fields::{AUTHOR, Asked, Fields, Get, Plain, Post, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::ordered::{ordered, told};
use super::pace::{PACE, pace, pace_fields};
use super::parts::looked_before;
use super::request_context::RequestContext;
use super::searches::{Found, not_counted};
use super::selected::{self, ID};
use super::went::how_they_went;
use super::{PageState, paths};
use crate::api::Problem;
use crate::api::extract::Id;

/// Which dead letters a form means, beside what else is in it.
fn filter_in(sent: &Fields) -> Fields {
    sent.among(&AUTHOR, false).among(&PACE, false).among(&[ALL], false)
}

/// What a form means.
struct Meant {
    /// The dead letters by cause. None where they are counted still.
    found: Option<Found<Arc<Shown>>>,
    /// The form that asks for them again.
    address: String,
}

impl Meant {
    /// The dead letters that the address of the form of a change means.
    async fn of(
        page_state: &PageState,
        context: &RequestContext,
        asked: &Fields,
        change: Action,
    ) -> Result<Self, Problem> {
        context.require(change)?;
        let selection = selection(asked, &Fields::default().with(ALL, "yes"))?;
        let found = counted_for_a_form(page_state, &selection, asked).await?;
        Ok(Self { found, address: asked.at(&format!("{}/{}", paths::DEAD_LETTERS, change.as_str())) })
    }

    /// The first words, which say how many there are, and the causes.
    fn shown(&self, asked: &Fields, first: impl FnOnce(&str) -> Markup) -> Markup {
        let Some((shown, age)) = &self.found else { return not_counted(&self.address) };
        html! { (first(&counted_letters(&shown.groups))) (by_cause(shown, asked)) (looked_before(*age)) }
    }

    fn is_nothing(&self) -> bool {
        self.found.as_ref().is_some_and(|(shown, _)| shown.groups.is_empty())
    }
}

pub(super) async fn redrive_form((State(page_state), context, Asked(asked)): Get) -> Result<Response, Problem> {
    let asked = selected::meant(&asked)?;
    let meant = Meant::of(&page_state, &context, &asked, Action::Redrive).await?;
    let first = |counted: &str| {
        html! { p.lead { strong { (counted) } " would be redriven: due again, under the same idempotency keys. Nothing is changed yet." } }
    };
    let body = html! {
        (meant.shown(&asked, first))
        @if !meant.is_nothing() { (redrive_fields(&context, &asked, &Fields::default().with("canary", "1"), "Redrive them")) }
        (back(&asked))
    };
    Ok(context.page(&Content::still("Redrive dead letters", body)))
}

fn redrive_fields(context: &RequestContext, filter: &Fields, sent: &Fields, label: &str) -> Markup {
    html! {
        form.change method="post" action={ (paths::DEAD_LETTERS) "/redrive" } {
            (context.token())
            (meant(filter))
            (pace_fields(sent))
            (context.author_fields(false, sent))
            button.main type="submit" { (label) }
        }
    }
}

pub(super) async fn redrive((State(page_state), context, Sent(sent)): Post) -> Result<Response, Instead> {
    let filter = filter_in(&sent);
    let (selection, pace) = (selection(&filter, &sent)?, pace(&sent)?);
    let done = ordered(&page_state, &Change::Redrive { selection, pace }, &sent).await?;
    let went = how_they_went(&page_state, Some(&done), true).await?;
    Ok(context.page(&Content::still("Redriven", redriven(&context, &done, (&filter, &sent), &went))))
}

fn redriven(context: &RequestContext, done: &Outcome, (filter, sent): (&Fields, &Fields), went: &Markup) -> Markup {
    html! {
        (told(done))
        (went)
        @if done.meant > done.changed + done.left_count {
            section {
                h2 { "Go on with the others" }
                (redrive_fields(context, filter, &sent.among(&["canary"], false), "Redrive the others"))
            }
        }
        @if let (Some(id), 1..) = (done.audit_id, done.changed) { (undo_fields(context, id)) }
        (back(filter))
    }
}

pub(super) fn undo_fields(context: &RequestContext, id: i64) -> Markup {
    html! {
        section {
            h2 { "Take it back" }
            p { "What has not been sent since is taken back: redriven messages are dead letters again, and the rows of a replay are removed." }
            form.change method="post" action={ "/redrives/" (id) "/undo" } {
                (context.token())
                (context.author_fields(false, &Fields::default()))
                button type="submit" { "Take back what audit entry " (id) " did" }
            }
        }
    }
}

pub(super) async fn undo_form(context: RequestContext, Id(id): Id, _: Plain) -> Result<Response, Problem> {
    context.require(Action::Undo)?;
    Ok(context.page(&Content::still(format!("Take back what audit entry {id} did"), undo_fields(&context, id))))
}

pub(super) async fn undo(
    State(page_state): State<PageState>,
    context: RequestContext,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Instead> {
    let done = ordered(&page_state, &Change::undo(id), &sent).await?;
    let body = html! { (told(&done)) (back(&Fields::default())) };
    Ok(context.page(&Content::still("Taken back", body)))
}

pub(super) async fn purge_form((State(page_state), context, Asked(asked)): Get) -> Result<Response, Problem> {
    let asked = selected::meant(&asked)?;
    let would = Meant::of(&page_state, &context, &asked, Action::Purge).await?;
    let (their, them) = if one(&asked).is_some() { ("its", "it") } else { ("their", "them") };
    let first = |counted: &str| {
        html! { p.note.bad { strong { (counted) " would be deleted for good," } " with " (their) " attempts. Only the audit remembers " (them) ". Nothing is changed yet." } }
    };
    let body = html! {
        @if would.is_nothing() && asked.has(ID) {
            p.note.warning { "No dead letter has " @if one(&asked).is_some() { "this id." } @else { "one of these ids." } " Only a dead letter can be purged: what waits is cancelled first, and what was delivered is removed after its retention." }
        } @else { (would.shown(&asked, first)) }
        @if !would.is_nothing() {
            form.change method="post" action={ (paths::DEAD_LETTERS) "/purge" } {
                (context.token())
                (meant(&asked))
                (context.author_fields(true, &Fields::default()))
                button.danger type="submit" { "Delete " (them) " for good" }
            }
        }
        (back(&asked))
    };
    Ok(context.page(&Content::still("Purge dead letters", body)))
}

pub(super) async fn purge((State(page_state), context, Sent(sent)): Post) -> Result<Response, Instead> {
    let filter = filter_in(&sent);
    let done = ordered(&page_state, &Change::Purge { selection: selection(&filter, &sent)? }, &sent).await?;
    let is_spared = done.changed == 0;
    let audit = match one(&filter) {
        Some(id) => Fields::default().with("message", id),
        None => Fields::default(),
    };
    let body = html! {
        (told(&done))
        @if is_spared { (back(&filter)) } @else {
            p { a href=(audit.at("/audit")) { "The audit" } " keeps who purged, what and why." }
            (back(&Fields::default()))
        }
    };
    Ok(context.page(&Content::still(if is_spared { "Nothing was purged" } else { "Purged" }, body)))
}
