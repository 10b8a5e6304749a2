//! Messages: the list whose filter is its address, and the search for one.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, Desk, MessageFilter, MessageSelection, MessageSummary};
use outbox_schema::MessageId;
use outbox_store::Status;

use super::fields::{Asked, Fields, Get};
use super::frame::Content;
use super::instead::Instead;
use super::links;
use super::parts::{
    self, TIMES, empty, filter, filter_choice, filter_text, looked_before, more_filters, number, pages, text, time,
};
use super::request_context::RequestContext;
use super::searches::under_way;
use super::selected::{Choice, MESSAGES, choices_of, to_select};
use super::tables::{PAGE, Row, Shape, filled};
use super::unknown::unknown;
use super::{PageState, dead_letters, paths, suggested};
use outbox_console::text::in_one_line;

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let above = html! { (by_status(&asked)) (filter(paths::MESSAGES, &asked, &fields(&page_state, &asked))) };
    let (filter, after) = context.understood("Messages", &above, asked.of_list::<MessageFilter, i64>())?;
    let above = html! { (above) @if context.retries() { (actions(&context, &filter, &asked.filter())) } };
    let database = page_state.api_state.database.clone();
    let choices = filter.status.and_then(|status| choices_of(&context, choices(status)));
    let search = move || async move { Ok(Arc::new(database.messages(&filter, after.map(MessageId), PAGE).await?)) };
    let Some((page, age)) = page_state.messages.find(asked.at(paths::MESSAGES), search).await else {
        return Ok(context.page(&Content::live("Messages", above, under_way(&asked.at(paths::MESSAGES)))));
    };
    let page = page?;
    let mut rows: Vec<_> = page.messages.iter().map(row).collect();
    let heading = filled(HEADING, &mut rows);
    let body = html! {
        @if page.messages.is_empty() {
            (empty("No message meets the filter."))
            (unknown(&page_state, paths::MESSAGES, &asked).await?)
        } @else {
            @let ids = page.messages.iter().map(|message| message.id.to_string());
            (to_select("Messages", &MESSAGES, choices.as_deref(), &Fields::default(), heading, ids.zip(rows)))
        }
        @if page.next.is_some() && page.messages.len() < PAGE as usize {
            p.hint { (number(page.looked_at)) " rows were looked at, and there are more." }
        }
        (suggested::tags_of(page.messages.iter().map(|message| message.tags.as_deref())))
        (looked_before(age))
        (pages(paths::MESSAGES, &asked, page.next.as_ref()))
    };
    Ok(context.page(&Content::live("Messages", above, body)))
}

/// What can be done with selected messages of a status.
fn choices(status: Status) -> &'static [(Action, Choice)] {
    match status {
        Status::Success => &[(Action::Replay, ("/messages/replay", "Replay selected…"))],
        Status::Pending => &[
            (Action::Retry, ("/messages/retry", "Retry selected now…")),
            (Action::Cancel, ("/messages/cancel", "Cancel selected…")),
        ],
        Status::Dead => &dead_letters::CHOICES,
    }
}

/// What can be done with all that the filter means: where it names a status, and of what is no dead letter, not all of that status.
fn actions(context: &RequestContext, filter: &MessageFilter, asked: &Fields) -> Markup {
    let (changes, hint): (&[_], _) = match filter.status {
        Some(Status::Success) => (&[(Action::Replay, "Replay…")], "all delivered messages that the filter means"),
        Some(Status::Pending) => {
            let changes = &[(Action::Retry, "Retry now…"), (Action::Cancel, "Cancel…")];
            (changes, "all messages that wait and that the filter means; a retry, those of them that were tried")
        }
        Some(Status::Dead) => return of_dead(context, asked),
        None => {
            return html! { p.hint { "Choose a status above, to change messages of it: those that are ticked, or all that the filter means." } };
        }
    };
    let chosen = MessageSelection::Filter(filter.clone());
    html! {
        @if changes.iter().all(|(change, _)| chosen.check(*change).is_ok()) {
            div.actions {
                @for (change, label) in changes.iter().filter(|(change, _)| context.may(*change)) {
                    a.button href=(asked.at(&format!("{}/{}", paths::MESSAGES, change.as_str()))) { (label) }
                }
                span.hint { (hint) }
            }
        }
    }
}

/// The fields of the filter of messages that the filter of dead letters lacks. The time in it is that of a death.
const OF_NO_DEATH: [&str; 4] = ["ordering_key", "priority", "since", "until"];

/// The changes of dead letters, where their filter can say the same.
fn of_dead(context: &RequestContext, asked: &Fields) -> Markup {
    html! {
        @if asked.among(&OF_NO_DEATH, true).is_empty() {
            (dead_letters::actions(context, &asked.among(&["status"], false)))
        } @else {
            p.hint { "An ordering key, a priority and a time of creation are no filter of dead letters: select them in the list." }
        }
    }
}

/// The statuses by which the list is filtered, and the words for them.
const STATUSES: [(Option<Status>, &str); 4] = [
    (None, "All"),
    (Some(Status::Pending), "Pending"),
    (Some(Status::Success), "Delivered"),
    (Some(Status::Dead), "Dead"),
];

/// The list by status. The rest of the filter stays.
fn by_status(asked: &Fields) -> Markup {
    let others = asked.filter().among(&["status"], false);
    let chosen = |status: Option<Status>| status.is_some() == asked.has("status") && status == chosen_status(asked);
    html! {
        nav.spans aria-label="Status" {
            @for (status, word) in STATUSES {
                @let of_status = status.map_or_else(|| others.clone(), |status| others.with("status", status.as_str()));
                a href=(of_status.at(paths::MESSAGES)) aria-current=[chosen(status).then_some("true")] { (word) }
            }
        }
    }
}

/// The status that is asked for. None where there is none of that name.
fn chosen_status(asked: &Fields) -> Option<Status> {
    let named = asked.get("status")?;
    Status::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(named))
}

/// The fields that are folded up.
const SELDOM: [&str; 9] =
    ["tags", "tenant", "ordering_key", "priority", "error_contains", "attempts_from", "in_doubt", "since", "until"];

fn fields(page_state: &PageState, asked: &Fields) -> Markup {
    let status = chosen_status(asked);
    let seldom = html! {
        (suggested::tags(asked))
        (filter_text(asked, "tenant", "Tenant", ""))
        (filter_text(asked, "ordering_key", "Ordering key", ""))
        (filter_choice(asked, "priority", "Priority", &[("0", "0"), ("1", "1"), ("2", "2"), ("3", "3")]))
        (filter_text(asked, "error_contains", "Error contains", ""))
        (filter_text(asked, "attempts_from", "Attempts, at least", "2"))
        (filter_text(asked, "in_doubt", "In doubt, in the term", "any, or 17"))
        (filter_text(asked, "since", "Created since", TIMES))
        (filter_text(asked, "until", "Created until", "10m"))
    };
    html! {
        @if let Some(status) = status { input type="hidden" name="status" value=(status.as_str()); }
        (suggested::channel(page_state, asked))
        (filter_text(asked, "destination", "Destination", "https://shop.example:443"))
        (filter_text(asked, "target", "Target", ""))
        (filter_text(asked, "key_prefix", "Key begins with", "order-4711"))
        (more_filters(asked, &SELDOM, &seldom))
    }
}

const HEADING: [&str; 9] = ["Id", "Status", "Channel", "Key", "Target", "About", "Attempts", "Created", "Last error"];

fn row(message: &MessageSummary) -> Row {
    let status = html! {
        (parts::status(&message.status, message.dead_reason.as_deref()))
        @if let Some(original) = message.replay_of { span.hint { " replay of " (parts::message(original)) } }
    };
    Row::of_shape(Shape::Whole, parts::message(message.id))
        .cell(status)
        .cell(text(&message.channel))
        .shaped(Shape::Key, text(&message.idempotency_key))
        .titled(&in_one_line(&message.idempotency_key))
        .shaped(Shape::Target, parts::target(&message.target))
        .seldom(
            Shape::Label,
            links::about(message.tags.as_deref(), message.tenant.as_deref(), message.ordering_key.as_deref()),
        )
        .number(message.attempts)
        .cell(time(&message.created_at))
        .seldom(Shape::Long, message.last_error.as_deref().map(text))
}
