//! Dead letters: by cause, and where a filter narrows them down, one by one. The filter is what a change is made to.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{
    Action, Cursor, DeadGroup, DeadLetter, DeadLetterFilter, DeadLetterPage, Desk, GROUPS, MessageSummary, Selection,
};
use outbox_store::Database;

use super::caches::Shown;
use super::deaths::Axis;
use super::fields::{Asked, Fields, Get};
use super::frame::Content;
use super::instead::Instead;
use super::links;
use super::parts::{
    self, TIMES, count, empty, filter, filter_choice, filter_text, looked_before, more_filters, number, pages, stacked,
    text, text_if, time,
};
use super::request_context::RequestContext;
use super::searches::{FORM_PATIENCE, Found, under_way};
use super::selected::{Choice, ID, MESSAGES, choices_of, named, to_select};
use super::tables::{PAGE, Row, Shape, filled};
use super::unknown::unknown;
use super::{PageState, paths, suggested};
use crate::api::{Kind, Problem};
use outbox_console::text::in_one_line;

/// The field by which a form without a filter says that it means every dead letter.
pub(super) const ALL: &str = "all";

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let above = filter(paths::DEAD_LETTERS, &asked, &fields(&page_state, &asked));
    let (filter, after) = context.understood("Dead letters", &above, asked.of_list::<DeadLetterFilter, Cursor>())?;
    let (database, halting) =
        (page_state.api_state.database.clone(), page_state.api_state.configured.current().halting());
    let lists = !asked.is_empty();
    let search = move || async move {
        let groups = database.dead_groups(&Selection::Filter(filter.clone())).await?;
        let deaths = outbox_desk::deaths(&database, &filter, &groups).await?;
        let letters = if lists { Some(database.dead_letters(&filter, &halting, after, PAGE).await?) } else { None };
        let examples = examples(&database, &groups).await?;
        Ok(Arc::new(Shown { groups, examples, deaths, letters }))
    };
    let Some((found, age)) = page_state.dead_letters.find(asked.at(paths::DEAD_LETTERS), search).await else {
        return Ok(context.page(&Content::live("Dead letters", above, under_way(&asked.at(paths::DEAD_LETTERS)))));
    };
    let shown = &*found?;
    let Shown { groups, letters, .. } = shown;
    let above = html! { (above) @if context.retries() && !groups.is_empty() { (actions(&context, &asked.filter())) } };
    let body = html! {
        (by_cause(shown, &asked))
        @if groups.is_empty() { (unknown(&page_state, paths::DEAD_LETTERS, &asked).await?) }
        (looked_before(age))
        (suggested::tags_of(tagged(shown)))
        @if let Some(page) = letters {
            @if !page.letters.is_empty() {
                section {
                    h2 { "Letters" }
                    (table_of(page, &context))
                    (pages(paths::DEAD_LETTERS, &asked, page.next.as_ref()))
                }
            }
        }
    };
    Ok(context.page(&Content::live("Dead letters", above, body)))
}

/// The tags of the letters that are shown, and of the examples.
fn tagged(shown: &Shown) -> impl Iterator<Item = Option<&str>> {
    let letters = shown.letters.iter().flat_map(|page| &page.letters).map(|letter| letter.tags.as_deref());
    letters.chain(shown.examples.values().map(|message| message.tags.as_deref()))
}

/// The most causes whose examples are read.
const EXAMPLES: usize = 50;

/// The examples of the first causes. The error of a cause lacks what varies; theirs is whole.
pub(super) async fn examples(
    database: &Database,
    groups: &[DeadGroup],
) -> Result<BTreeMap<i64, MessageSummary>, Problem> {
    let ids: Vec<_> = groups.iter().take(EXAMPLES).map(|group| group.example).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    Ok(outbox_desk::summaries(database, &ids).await?.into_iter().map(|message| (message.id, message)).collect())
}

fn sum(groups: &[DeadGroup]) -> u64 {
    groups.iter().map(|group| group.count).sum()
}

/// The fields that are folded up.
const SELDOM: [&str; 8] = ["target", "key_prefix", "tags", "tenant", "status_code", "since", "until", "fingerprint"];

fn fields(page_state: &PageState, asked: &Fields) -> Markup {
    let reasons = ["permanent", "exhausted", "expired", "in_doubt", "cancelled"].map(|reason| (reason, reason));
    let seldom = html! {
        (filter_text(asked, "target", "Target", ""))
        (filter_text(asked, "key_prefix", "Key begins with", "order-4711"))
        (suggested::tags(asked))
        (filter_text(asked, "tenant", "Tenant", ""))
        (filter_text(asked, "status_code", "Status code", "503"))
        (filter_text(asked, "since", "Died since", TIMES))
        (filter_text(asked, "until", "Died until", "10m"))
        (filter_text(asked, "fingerprint", "Fingerprint", "http/exhausted/503/9f0c2d41b7aa"))
    };
    html! {
        (suggested::channel(page_state, asked))
        (filter_choice(asked, "reason", "Reason", &reasons))
        (filter_text(asked, "destination", "Destination", "https://shop.example:443"))
        (filter_text(asked, "error_contains", "Error contains", ""))
        (more_filters(asked, &SELDOM, &seldom))
    }
}

/// What can be done to all that the filter means.
pub(super) fn actions(context: &RequestContext, asked: &Fields) -> Markup {
    let to = |what: &str| asked.at(&format!("{}/{what}", paths::DEAD_LETTERS));
    html! {
        div.actions {
            a.button.main href=(to("redrive")) { "Redrive…" }
            @if context.may(Action::Edit) { a.button href=(to("edit")) { "Edit…" } }
            @if context.may(Action::Purge) { a.button.danger href=(to("purge")) { "Purge…" } }
            span.hint { @if asked.is_empty() { "all of them" } @else { "all that the filter means" } }
        }
    }
}

/// The dead letters that a form means, by cause. None where counting them takes longer than a form waits.
pub(super) async fn counted_for_a_form(
    page_state: &PageState,
    selection: &Selection,
    asked: &Fields,
) -> Result<Option<Found<Arc<Shown>>>, Problem> {
    let (database, selection) = (page_state.api_state.database.clone(), selection.clone());
    let count = move || async move {
        let groups = database.dead_groups(&selection).await?;
        let examples = examples(&database, &groups).await?;
        Ok(Arc::new(Shown { groups, examples, deaths: BTreeMap::new(), letters: None }))
    };
    let found = page_state.dead_letters.find_within(FORM_PATIENCE, asked.at("a form"), count).await;
    found.map(|(shown, age)| Ok((shown?, age))).transpose()
}

/// The number of dead letters in groups. There may be groups that were not counted.
pub(super) fn counted(groups: &[DeadGroup]) -> String {
    let at_least = if groups.len() >= GROUPS { "at least " } else { "" };
    format!("{at_least}{}", number(sum(groups)))
}

/// How many dead letters there are, with their noun.
pub(super) fn counted_letters(groups: &[DeadGroup]) -> String {
    let letters = if sum(groups) == 1 { "dead letter" } else { "dead letters" };
    format!("{} {letters}", counted(groups))
}

/// Dead letters by cause. Each cause leads to its own letters.
pub(super) fn by_cause(shown: &Shown, asked: &Fields) -> Markup {
    let Shown { groups, examples, deaths, .. } = shown;
    let axis = Axis::over(groups, deaths);
    let row = |group: &DeadGroup| {
        let of_group = asked.filter().among(&["fingerprint", ID], false).with("fingerprint", &group.fingerprint);
        let example = examples.get(&group.example.0);
        let row =
            Row::of_shape(Shape::Number, html! { a href=(of_group.at(paths::DEAD_LETTERS)) { (number(group.count)) } })
                .shaped(Shape::Cause, cause(group, example, &of_group.at(paths::DEAD_LETTERS)))
                .shaped(Shape::Whole, count(group.status_code))
                .cell(time(&group.first_seen))
                .cell(time(&group.last_seen));
        let chart =
            |axis: Axis| deaths.get(&group.fingerprint).map_or_else(parts::nothing, |deaths| axis.chart(group, deaths));
        let row = match axis {
            Some(axis) => row.cell(chart(axis)),
            None => row,
        };
        row.shaped(
            Shape::Example,
            html! {
                (parts::message(group.example))
                @if let Some(example) = example { br; span.hint { (parts::target(&example.destination)) } }
            },
        )
    };
    let when = axis.map(|axis| axis.heading());
    let heading =
        ["Letters", "Error", "Code", "First died", "Last died"].into_iter().chain(when.as_deref()).chain(["Example"]);
    html! {
        section {
            h2 { "By cause" }
            @if groups.is_empty() {
                (empty("No dead letters."))
            } @else {
                (stacked("Dead letters by cause", heading, groups.iter().map(row)))
                p.hint {
                    (counted_letters(groups)) ", of "
                    @if groups.len() == 1 { "one cause." } @else { (number(groups.len())) " causes." }
                    @if deaths.values().any(|deaths| deaths.more) { " Charts are of the 2,000 letters of a cause that died last." }
                }
            }
        }
    }
}

/// The error of the example, or else what all errors of the cause have in common. The name of the cause stands below.
fn cause(group: &DeadGroup, example: Option<&MessageSummary>, address: &str) -> Markup {
    let whole = example.and_then(|example| example.last_error.as_deref()).or(group.error.as_deref());
    html! {
        a href=(address) { (text(whole.unwrap_or_else(|| without_error(&group.fingerprint)))) }
        br;
        code.hint { (text(&group.fingerprint)) }
    }
}

/// What stands in place of an error. A message that somebody cancelled has none.
fn without_error(fingerprint: &str) -> &'static str {
    // The reason stands before the status code and the hash.
    if fingerprint.rsplit('/').nth(2) == Some("cancelled") { "cancelled by hand" } else { "no error" }
}

/// What can be done to selected dead letters.
pub(super) const CHOICES: [(Action, Choice); 3] = [
    (Action::Redrive, ("/dead-letters/redrive", "Redrive selected…")),
    (Action::Edit, ("/dead-letters/edit", "Edit selected…")),
    (Action::Purge, ("/dead-letters/purge", "Purge selected…")),
];

/// The letters of a page. Who may change them can select some.
fn table_of(page: &DeadLetterPage, context: &RequestContext) -> Markup {
    let mut rows: Vec<_> = page.letters.iter().map(row).collect();
    let heading = filled(HEADING, &mut rows);
    let rows = page.letters.iter().map(|letter| letter.id.to_string()).zip(rows);
    to_select("Letters", &MESSAGES, choices_of(context, &CHOICES).as_deref(), &Fields::default(), heading, rows)
}

const HEADING: [&str; 9] = ["Id", "Reason", "Code", "Key", "Target", "About", "Attempts", "Died", "Error"];

fn row(letter: &DeadLetter) -> Row {
    Row::of_shape(Shape::Whole, parts::message(letter.id))
        .cell(text_if(letter.dead_reason.as_deref()))
        .shaped(Shape::Whole, count(letter.last_status_code))
        .shaped(Shape::Key, text(&letter.idempotency_key))
        .titled(&in_one_line(&letter.idempotency_key))
        .shaped(Shape::Target, parts::target(&letter.target))
        .seldom(
            Shape::Label,
            links::about(letter.tags.as_deref(), letter.tenant.as_deref(), letter.ordering_key.as_deref()),
        )
        .number(letter.attempts)
        .cell(time(&letter.dead_at))
        .shaped(Shape::Long, text_if(letter.last_error.as_deref()))
}

/// The dead letters that a form means. None but those that it names, or those of its filter: a form without a filter must say that
/// it means all.
pub(super) fn selection(filter: &Fields, sent: &Fields) -> Result<Selection, Problem> {
    if let Some(ids) = named(filter)? {
        return Ok(Selection::Ids(ids));
    }
    let filter: DeadLetterFilter = filter.read()?;
    if filter == DeadLetterFilter::default() && !sent.has(ALL) {
        return Err(Problem::new(
            Kind::BadRequest,
            "the form has no filter, and does not say that it means every dead letter",
        ));
    }
    Ok(Selection::Filter(filter))
}

/// Leads back to the list, or to the one message that is named.
pub(super) fn back(filter: &Fields) -> Markup {
    html! {
        p {
            @if let Some(id) = one(filter) { a href={ "/messages/" (id) } { "Back to message " (id) } }
            @else { a href=(filter.among(&[ID], false).at(paths::DEAD_LETTERS)) { "Back to the dead letters" } }
        }
    }
}

/// The one message that the fields of a form name.
pub(super) fn one(filter: &Fields) -> Option<&str> {
    filter.get(ID).filter(|_| filter.all(ID).count() == 1)
}

/// The fields of a form that say which dead letters it means.
pub(super) fn meant(filter: &Fields) -> Markup {
    html! { (filter.hidden()) @if filter.is_empty() { input type="hidden" name=(ALL) value="yes"; } }
}
