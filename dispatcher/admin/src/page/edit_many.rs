//! The same edit of many dead letters. The difference in the first three is shown before anything is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, Change, ContentEdit, MoveTarget, Outcome, Selection};
use serde::Deserialize;

use super::caches::Shown;
use super::dead_letters::{ALL, back, by_cause, counted, counted_for_a_form, counted_letters, meant, selection};
use super::edit::headers;
use super::fields::{AUTHOR, Asked, Fields, Get, Post, Sent};
use super::frame::{Content, wrong};
use super::instead::Instead;
use super::ordered::{besides, ordered};
use super::parts::{difference, looked_before, message, number};
use super::request_context::RequestContext;
use super::searches::{Found, not_counted};
use super::{PageState, paths, selected};
use crate::api::dead_letters::{examined, examined_in};
use crate::api::{Kind, Problem};
use outbox_console::edit::{Planned, Wanted};

/// The messages whose difference is shown.
const SHOWN: usize = 3;

/// The fields of a change that are no part of its filter. No field of the filter has such a name.
const CHANGE: [&str; 6] = ["new_target", "move_from", "move_to", "set_headers", "drop_headers", "keep_key"];

/// The field by which the form says that somebody asked for the difference.
const LOOKS: &str = "looks";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChangeFields {
    new_target: Option<String>,
    move_from: Option<String>,
    move_to: Option<String>,
    set_headers: Option<String>,
    drop_headers: Option<String>,
    keep_key: Option<String>,
}

impl ChangeFields {
    /// The change. None where nothing is filled in.
    fn change(self) -> Result<Option<ContentEdit>, Problem> {
        let move_target = match (self.move_from, self.move_to) {
            (Some(from), Some(to)) => Some(MoveTarget { from: from.trim().to_owned(), to: to.trim().to_owned() }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let why = "the beginning of targets: fill in both what it is and what it becomes, or neither";
                return Err(Problem::new(Kind::BadRequest, why));
            }
        };
        if move_target.is_some() && self.new_target.is_some() {
            return Err(Problem::new(Kind::BadRequest, "a new target, or another beginning of each: one of the two"));
        }
        let names = self.drop_headers.unwrap_or_default();
        let change = ContentEdit {
            target: self.new_target.map(|target| target.trim().to_owned()),
            move_target,
            headers: self.set_headers.as_deref().map(headers).transpose()?.unwrap_or_else(BTreeMap::new),
            drop_headers: names.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            keep_key: self.keep_key.is_some(),
        };
        let keep_key = change.keep_key;
        Ok(Some(change).filter(|change| *change != ContentEdit { keep_key, ..ContentEdit::default() }))
    }
}

fn filter_in(fields: &Fields) -> Fields {
    fields.among(&CHANGE, false).among(&AUTHOR, false).among(&[ALL, LOOKS], false)
}

pub(super) async fn form((State(page_state), context, Asked(asked)): Get) -> Result<Response, Problem> {
    context.require(Action::Edit)?;
    let asked = selected::meant(&asked)?;
    let filter = filter_in(&asked);
    let selection = selection(&filter, &Fields::default().with(ALL, "yes"))?;
    let found = counted_for_a_form(&page_state, &selection, &filter).await?;
    let wanted = asked.among(&CHANGE, true).read::<ChangeFields>().and_then(ChangeFields::change);
    let seen = match wanted {
        Ok(None) if asked.has(LOOKS) => html! { p.note.warning role="alert" { "Say what to change." } },
        Ok(None) => html! {},
        Err(problem) => wrong(&problem),
        Ok(Some(of_any)) => looked_at(&page_state, &context, &asked, (&selection, found.as_ref()), of_any).await?,
    };
    let body = html! {
        @if let Some((shown, _)) = &found {
            p.lead { strong { (counted_letters(&shown.groups)) } " meant. Each gets the same change; their payloads stay." }
        } @else { (not_counted(&asked.at(&format!("{}/edit", paths::DEAD_LETTERS)))) }
        (seen)
        (change_fields(&asked, &filter))
        @if let Some((shown, age)) = &found { (by_cause(shown, &filter)) (looked_before(*age)) }
        (back(&filter))
    };
    Ok(context.page(&Content::still("Edit dead letters", body)))
}

/// The difference in the first of the letters, or what is wrong with the change. Nothing where the letters are counted still.
async fn looked_at(
    page_state: &PageState,
    context: &RequestContext,
    asked: &Fields,
    (selection, found): (&Selection, Option<&Found<Arc<Shown>>>),
    of_any: ContentEdit,
) -> Result<Markup, Problem> {
    // The examples of the causes are among those whose difference is shown.
    let Some((shown, _)) = found else { return Ok(html! {}) };
    if let Err(problem) = examined_in(&page_state.api_state, &shown.groups, &of_any).await {
        return Ok(wrong(&problem));
    }
    let wanted = Wanted { payload: None, of_any };
    let plans = wanted.first(&page_state.api_state.database, selection, &shown.groups, SHOWN).await?;
    Ok(seen(context, asked, &plans, &counted(&shown.groups)))
}

fn change_fields(asked: &Fields, filter: &Fields) -> Markup {
    let field = |name: &str, label: &str, hint: &str| {
        html! {
            label {
                span { (label) @if !hint.is_empty() { span.hint { (hint) } } }
                input type="text" name=(name) value=[asked.get(name)] autocomplete="off" spellcheck="false";
            }
        }
    };
    html! {
        form.change.edit method="get" action={ (paths::DEAD_LETTERS) "/edit" } {
            (filter.hidden())
            input type="hidden" name=(LOOKS) value="yes";
            (field("move_from", "Where targets begin with", ""))
            (field("move_to", "let them begin with", ""))
            (field("new_target", "Or a new target", "the same for each"))
            label {
                span { "Set headers" span.hint { "one a line, as Name: value" } }
                textarea name="set_headers" rows="2" spellcheck="false" { "\n" (asked.get("set_headers").unwrap_or_default()) }
            }
            label {
                span { "Take headers away" span.hint { "one name a line" } }
                textarea name="drop_headers" rows="2" spellcheck="false" { "\n" (asked.get("drop_headers").unwrap_or_default()) }
            }
            label.box {
                input type="checkbox" name="keep_key" value="yes" checked[asked.has("keep_key")];
                span { "Keep the idempotency keys, so that receivers recognise the messages" }
            }
            button.main type="submit" { "Show the difference" }
        }
    }
}

fn seen(context: &RequestContext, asked: &Fields, plans: &[Planned], of: &str) -> Markup {
    html! {
        section {
            h2 { "What would be different" }
            @if plans.is_empty() {
                p.empty { "Nothing, in those that were looked at: they are like that already, or the change does not fit them." }
            } @else {
                @for plan in plans {
                    h3 { "Message " (message(plan.id)) }
                    (difference(&plan.difference))
                }
                form.change method="post" action={ (paths::DEAD_LETTERS) "/edit" } {
                    (context.token())
                    (asked.among(&CHANGE, true).hidden())
                    (meant(&filter_in(asked)))
                    (context.author_fields(false, &Fields::default()))
                    button.main type="submit" { "Write this, and the like to the others of " (of) }
                }
            }
        }
    }
}

pub(super) async fn edit((State(page_state), context, Sent(sent)): Post) -> Result<Response, Instead> {
    let filter = filter_in(&sent);
    let change = sent.among(&CHANGE, true).read::<ChangeFields>()?.change()?;
    let change = change.ok_or_else(|| Problem::new(Kind::BadRequest, "the form says nothing that is to change"))?;
    let selection = selection(&filter, &sent)?;
    examined(&page_state.api_state, &selection, &change).await?;
    let keeps_keys = change.keep_key;
    let done = ordered(&page_state, &Change::Edit { selection, change }, &sent).await?;
    Ok(context.page(&Content::still("Edited", edited(&done, &filter, keeps_keys))))
}

fn edited(done: &Outcome, filter: &Fields, keeps_keys: bool) -> Markup {
    html! {
        p.note.good role="status" {
            strong { (number(done.changed)) " of " (number(done.meant)) " edited," }
            " each under " @if keeps_keys { "its own" } @else { "a new" } " idempotency key. They are dead letters still."
        }
        (besides(done))
        div.actions { a.button.main href=(filter.at(&format!("{}/redrive", paths::DEAD_LETTERS))) { "Redrive them…" } }
        (back(filter))
    }
}
