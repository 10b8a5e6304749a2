//! One message: what it is, why it has or has not been sent, its life, and what can be done with it.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, Desk, HeadersBefore, MessageRecord};
use outbox_schema::MessageId;
use outbox_store::{Database, Status};

use super::PageState;
use super::fields::{Asked, Fields, NoFields, Sent};
use super::frame::Content;
use super::links::{self, linked, with};
use super::parts::{self, copy, facts, lead_to, moment, moment_if, nothing, number, text};
use super::request_context::RequestContext;
use crate::api::extract::{Body, Id};
use crate::api::{Authored, Problem, Redaction, messages as api};
use outbox_console::edit::indented;
use outbox_console::examine::as_curl;
use outbox_console::explain::Said;
use outbox_console::explain::{Explanation, Mentions, Repetition, Verdict, explain, life};

/// What a message was looked for by, where that says more than its id.
pub(super) const NAMED: &str = "named";

pub(super) async fn show(
    State(page_state): State<PageState>,
    context: RequestContext,
    Id(id): Id,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let NoFields {} = asked.among(&[NAMED], false).read()?;
    let api_state = &page_state.api_state;
    let message = api_state.database.message(MessageId(id)).await?.ok_or_else(|| Problem::no_message(id))?;
    let message = context.redaction.of_message(message);
    // None where the message was deleted in the meantime.
    let explained =
        explain(&api_state.database, &api_state.configured.current(), &api_state.schedule, MessageId(id)).await?;
    let above = html! { @if context.retries() { (actions(&context, &message)) } };
    let found_by = if let Some(named) = asked.get(NAMED) {
        found_by(&api_state.database, &message, named).await?
    } else {
        html! {}
    };
    let body = html! {
        (found_by)
        (head(&message, api_state.started.telemetry.trace_url.as_deref()))
        @if let Some(explained) = &explained { (why(explained)) }
        (time_line(&message))
        @if let Some(explained) = &explained { (more(explained)) }
        (content(&message))
        @if let Some(curl) = request(&page_state, &context, &message).await {
            section {
                details {
                    summary { "Request" }
                    p.hint { "As its channel would make it now, with *** for what is secret. " (copy("request", "the request")) }
                    pre #request .payload role="group" tabindex="0" aria-label="Request" { (curl) }
                }
            }
        }
    };
    Ok(context.page(&Content::live(format!("Message {id}"), above, body)))
}

/// What is to be said where the name by which the message was looked for means another message as well, or is a former key.
async fn found_by(database: &Database, message: &MessageRecord, named: &str) -> Result<Markup, Problem> {
    let by_key = database.message_by_key(named).await?;
    Ok(match by_key {
        Some(other) if other.id != message.id && named == message.id.to_string() => html! {
            p.hint { "This is the message with the id " (named) ". Message " (parts::message(other.id)) " has " (named) " as its idempotency key." }
        },
        Some(same) if same.id == message.id && same.idempotency_key != named => html! {
            p.hint { "Its idempotency key was " (text(named)) " before it was edited." }
        },
        _ => html! {},
    })
}

/// The request of the message, where the person may see all of it and a page has room for it.
async fn request(page_state: &PageState, context: &RequestContext, message: &MessageRecord) -> Option<String> {
    let is_small = usize::try_from(message.payload_bytes).is_ok_and(|bytes| bytes <= SHOWN);
    if context.redaction != Redaction::None || !is_small {
        return None;
    }
    let (config, message) = (page_state.api_state.config.current(), message.clone());
    // Its channel reads files.
    tokio::task::spawn_blocking(move || as_curl(&config, &message)).await.ok().flatten()
}

pub(super) async fn cancel(
    State(page_state): State<PageState>,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let Json(_) = api::cancel(State(page_state.api_state), Id(id), Body(author_alone(&sent)?)).await?;
    Ok(lead_to(&format!("/messages/{id}")))
}

pub(super) async fn retry(
    State(page_state): State<PageState>,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let Json(_) = api::retry(State(page_state.api_state), Id(id), Body(author_alone(&sent)?)).await?;
    Ok(lead_to(&format!("/messages/{id}")))
}

pub(super) async fn redrive(
    State(page_state): State<PageState>,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let Json(_) = api::redrive(State(page_state.api_state), Id(id), Body(author_alone(&sent)?)).await?;
    Ok(lead_to(&format!("/messages/{id}")))
}

/// The author of a change that asks for nothing else.
fn author_alone(sent: &Fields) -> Result<Authored, Problem> {
    sent.read::<Authored>()?;
    Ok(sent.author())
}

/// What can be done with a message in its state.
fn actions(context: &RequestContext, message: &MessageRecord) -> Markup {
    let is = |status: Status| message.status == status.as_str();
    html! {
        @if is(Status::Dead) {
            div.actions {
                details {
                    summary.button { "Redrive" }
                    (change(context, message.id, "redrive", "Redrive this message", "It is due again, under the same idempotency key. Its attempts start anew."))
                }
                @if context.may(Action::Edit) { a.button href={ "/messages/" (message.id) "/edit" } { "Edit" } }
                @if context.may(Action::Purge) { a.button.danger href={ "/dead-letters/purge?id=" (message.id) } { "Purge…" } }
            }
        } @else if is(Status::Success) {
            div.actions { a.button href={ "/messages/replay?id=" (message.id) } { "Replay…" } }
        } @else if is(Status::Pending) {
            div.actions {
                details {
                    summary.button { "Retry now" }
                    (change(context, message.id, "retry", "Retry this message now", "It is due now, whatever it waited for: another attempt, or the time that its application chose. Its attempts go on."))
                }
                @if context.may(Action::Cancel) {
                    details {
                        summary.button { "Cancel" }
                        (change(context, message.id, "cancel", "Cancel this message", "It becomes a dead letter and is not sent. One that is in flight cannot be called back."))
                    }
                }
            }
        }
    }
}

fn change(context: &RequestContext, id: i64, what: &str, label: &str, advice: &str) -> Markup {
    html! {
        form.change method="post" action={ "/messages/" (id) "/" (what) } {
            (context.token())
            p { (advice) }
            (context.author_fields(false, &Fields::default()))
            button.main type="submit" { (label) }
        }
    }
}

/// A trace, which leads to where people look at it. An application wrote the text, so only what is an id gets into the address.
fn trace(traceparent: &str, url: Option<&str>) -> Markup {
    let id =
        traceparent.split('-').nth(1).filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match (id, url) {
        (Some(id), Some(url)) => {
            html! { a href=(url.replace("{trace_id}", id)) rel="noreferrer" { (text(traceparent)) } }
        }
        _ => text(traceparent),
    }
}

fn head(message: &MessageRecord, trace_url: Option<&str>) -> Markup {
    let attempts = html! {
        (message.attempts) @if let Some(most) = message.max_attempts { " of " (most) }
    };
    let mut all = vec![
        ("Status", parts::status(&message.status, message.dead_reason.as_deref())),
        ("Channel", html! { a href=(with("channel", &message.channel)) { (text(&message.channel)) } }),
        ("Target", text(&message.target)),
        ("Destination", links::destination(&message.destination)),
        (
            "Idempotency key",
            html! { code #key { (text(&message.idempotency_key)) } " " (copy("key", "the idempotency key")) },
        ),
        ("Attempts", attempts),
        ("Created", moment(&message.created_at)),
    ];
    if message.status == Status::Pending.as_str() {
        all.push(("Due", moment(&message.available_at)));
    }
    if let Some(first) = message.replay_of {
        all.push(("Replay of", parts::message(first)));
    }
    let optional =
        [("Key sent", &message.sent_key), ("Last error", &message.last_error), ("Receipt", &message.receipt)];
    all.extend(optional.into_iter().filter_map(|(name, value)| Some((name, text(value.as_deref()?)))));
    if let Some(tenant) = &message.tenant {
        all.push(("Tenant", html! { a href=(with("tenant", tenant)) { (text(tenant)) } }));
    }
    if let Some(tags) = &message.tags {
        all.push(("Tags", links::tags(tags)));
    }
    if let Some(traceparent) = &message.traceparent {
        all.push(("Trace", trace(traceparent, trace_url)));
    }
    if let Some(key) = &message.ordering_key {
        all.push(("Ordering key", html! { a href=(with("ordering_key", key)) { (text(key)) } }));
    }
    if let Some(at) = &message.expires_at {
        all.push(("Expires", moment(at)));
    }
    all.push(("Priority", html! { (message.priority) }));
    facts(all)
}

/// Why it was sent, or was not.
fn why(explained: &Explanation) -> Markup {
    html! {
        section {
            h2 { @if explained.status == Status::Success.as_str() { "Was it sent?" } @else { "Why has it not been sent?" } }
            (said(&explained.not_sent))
        }
    }
}

/// What else can be told of it.
fn more(explained: &Explanation) -> Markup {
    html! {
        @if let Some(made_by) = &explained.made_by { p.hint { (text(made_by)) } }
        (sent_twice(&explained.sent_twice))
        @if !explained.outcomes.is_empty() {
            section { h2 { "Which outcomes are told?" } (said(&explained.outcomes)) }
        }
        @if !explained.notes.is_empty() {
            section { h2 { "Likely mistakes of the application" } (said(&explained.notes)) }
        }
    }
}

/// Why it was sent twice. Where nothing says that it was, the answer is folded up.
fn sent_twice(twice: &Repetition) -> Markup {
    let asks = "Why was it sent twice?";
    let answer = html! { p { (twice.sentence) } (said(&twice.causes)) };
    html! {
        @if twice.verdict == Verdict::Once { details { summary { (asks) } (answer) } }
        @else { section { h2 { (asks) } (answer) } }
    }
}

fn said<C: Mentions>(causes: &[Said<C>]) -> Markup {
    let sentence = |said: &Said<C>| links::prose_about(&said.sentence, &said.cause.mentions());
    html! { @if !causes.is_empty() { ul.causes { @for cause in causes { li { (sentence(cause)) } } } } }
}

fn time_line(message: &MessageRecord) -> Markup {
    html! {
        section {
            h2 { "Its life" }
            ol.life {
                @for event in life(message) {
                    li {
                        (moment_if(event.at.as_deref()))
                        p { (linked(&event.what, &event.mentions)) }
                        @if let Some(more) = &event.more { p.hint.more { (linked(more, &event.mentions)) } }
                    }
                }
            }
        }
    }
}

/// The most bytes of a payload that a page shows.
const SHOWN: usize = 64 << 10;

/// A payload as a page shows it, whole or its beginning.
fn beginning(payload: &str) -> (String, bool) {
    let is_whole = payload.len() <= SHOWN;
    (if is_whole { indented(payload) } else { payload[..payload.floor_char_boundary(SHOWN)].to_owned() }, is_whole)
}

fn content(message: &MessageRecord) -> Markup {
    let HeadersBefore { texts, others } = HeadersBefore::of(message.headers.as_deref());
    html! {
        section {
            h2 { "Headers" }
            @if texts.is_empty() && others.is_empty() { p { (nothing()) } } @else {
                dl.facts.headers {
                    @for (name, value) in &texts { div { dt { (text(name)) } dd { (text(value)) } } }
                    @for (name, value) in &others {
                        div { dt { (text(name)) } dd { (text(&value.to_string())) " " span.hint { "not a text: no request carries it" } } }
                    }
                }
            }
        }
        (payload(message))
    }
}

fn payload(message: &MessageRecord) -> Markup {
    let Some(whole) = &message.payload else {
        return html! {
            section {
                h2 { "Payload" }
                p.empty { "Its " (number(message.payload_bytes)) " bytes are not read back: they are more than 8 MiB." }
            }
        };
    };
    let (shown, is_whole) = beginning(whole);
    html! {
        section {
            h2 { "Payload" @if is_whole { " " (copy("payload", "the payload")) } }
            pre #payload .payload role="group" tabindex="0" aria-label="Payload" { (shown) }
            @if !is_whole {
                p.hint {
                    "These are the first 64 KiB of " (number(message.payload_bytes)) " bytes. Whole: "
                    code { "outbox messages show " (message.id) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_the_beginning_of_a_payload_that_is_longer_than_it_has_room_for() {
        assert_eq!(beginning("[1]"), ("[\n  1\n]".to_owned(), true));
        let long = format!("[\"{}\"]", "\u{e9}".repeat(SHOWN));
        let (shown, is_whole) = beginning(&long);
        assert!(!is_whole && long.starts_with(&shown) && SHOWN - shown.len() < 2, "{}", shown.len());
    }
}
