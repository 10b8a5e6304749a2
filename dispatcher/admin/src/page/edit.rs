//! The edit of one dead letter: its target, headers and payload, with the difference shown before it is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use outbox_desk::{Action, ByHand, Desk, Edited, HeadersBefore, MessageRecord, Revised};
use outbox_schema::MessageId;
use outbox_store::Status;
use serde::Deserialize;

use super::PageState;
use super::fields::{AUTHOR, Fields, Plain, Sent};
use super::frame::{Content, wrong};
use super::parts::{difference, lead_to};
use super::request_context::RequestContext;
use crate::api::extract::Id;
use crate::api::{Kind, Problem};
use outbox_console::edit::{Unplanned, differs, indented};
use outbox_console::examine::refusal;
use outbox_console::text::is_deceiving;

/// The longest payload that a form edits, in bytes: as long as a message may be by default.
const PAYLOAD_BYTES: usize = 1 << 20;

/// The fields of the form that edits a message.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The revision that the person looked at.
    revision: i32,
    #[serde(default)]
    target: String,
    /// One header a line, `Name: value`.
    #[serde(default)]
    headers: String,
    #[serde(default)]
    payload: String,
    #[serde(default)]
    keep_key: Option<String>,
    /// Set where the difference was seen.
    #[serde(default)]
    write: Option<String>,
}

pub(super) async fn form(
    State(page_state): State<PageState>,
    context: RequestContext,
    Id(id): Id,
    _: Plain,
) -> Result<Response, Problem> {
    context.require(Action::Edit)?;
    let (message, payload) = dead(&page_state, id).await?;
    let HeadersBefore { texts, .. } = HeadersBefore::of(message.headers.as_deref());
    let headers: Vec<_> = texts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let edit = Edit {
        revision: message.revision,
        target: message.target.clone(),
        headers: headers.join("\n"),
        payload: in_lines(&payload),
        ..Edit::default()
    };
    Ok(shown(&context, id, (&edit, &Fields::default()), &html! {}))
}

/// Shows the difference, and once it was seen, writes the edit.
pub(super) async fn edit(
    State(page_state): State<PageState>,
    context: RequestContext,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let edit: Edit = sent.among(&AUTHOR, false).read()?;
    let (message, payload) = dead(&page_state, id).await?;
    let revised = match revised(&page_state, &message, &payload, &edit) {
        Ok(revised) => revised,
        Err(problem) => {
            let page = shown(&context, id, (&edit, &sent), &wrong(&problem));
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    };
    if edit.write.is_some() {
        let author = sent.author().into_author();
        return match page_state.api_state.database.edit(MessageId(id), edit.revision, &revised, &author).await? {
            Edited::Done { .. } => Ok(lead_to(&format!("/messages/{id}"))),
            Edited::Refused(refused) => Err(Problem::refused(refused)),
        };
    }
    let lines = differs(&message, &payload, &revised);
    let seen = html! {
        section {
            h2 { "What would be different" }
            @if lines.is_empty() { p.empty { "Nothing." } } @else {
                (difference(&lines))
                p.hint {
                    "The message gets " @if edit.keep_key.is_some() { "to keep its" } @else { "a new" }
                    " idempotency key and stays a dead letter: redrive it afterwards. The audit keeps what is overwritten."
                }
                form.change method="post" action={ "/messages/" (id) "/edit" } {
                    (context.token())
                    (sent.with("write", "yes").hidden())
                    button.main type="submit" { "Write this edit" }
                }
            }
        }
    };
    Ok(shown(&context, id, (&edit, &sent), &seen))
}

/// The dead letter, and its payload.
async fn dead(page_state: &PageState, id: i64) -> Result<(MessageRecord, String), Problem> {
    let mut message =
        page_state.api_state.database.message(MessageId(id)).await?.ok_or_else(|| Problem::no_message(id))?;
    if message.status != Status::Dead.as_str() {
        let why = format!("message {id} is {}: only dead letters are edited", message.status);
        return Err(Problem::new(Kind::Refused, why));
    }
    let Some(payload) = message.payload.take() else {
        let unread = Unplanned::Unread { id: MessageId(id), bytes: message.payload_bytes };
        return Err(Problem::new(Kind::Refused, unread.to_string()));
    };
    if payload.len() > PAYLOAD_BYTES {
        let bytes = payload.len();
        let why = format!(
            "its payload of {bytes} bytes is too large for a form: outbox dead-letters edit {id} --payload FILE"
        );
        return Err(Problem::new(Kind::Refused, why));
    }
    Ok((message, payload))
}

fn revised(page_state: &PageState, message: &MessageRecord, payload: &str, edit: &Edit) -> Result<Revised, Problem> {
    // Where nobody touched the payload it stays as the application wrote it, space and all.
    let payload = if edit.payload == in_lines(payload) { payload } else { &edit.payload };
    let revised = Revised::new(&message.channel, edit.target.trim(), payload.trim(), headers(&edit.headers)?)?;
    match refusal(&page_state.api_state.config.current(), &message.channel, &revised) {
        Some(why) => Err(Problem::new(Kind::InvalidMessage, why)),
        None => Ok(revised.keeping_key(edit.keep_key.is_some())),
    }
}

pub(super) fn headers(lines: &str) -> Result<BTreeMap<String, String>, Problem> {
    let pair = |line: &str| {
        let pair = line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        pair.ok_or_else(|| Problem::new(Kind::BadRequest, format!("headers: {line:?} is not of the form Name: value")))
    };
    lines.lines().filter(|line| !line.trim().is_empty()).map(pair).collect()
}

/// A payload in lines. What would deceive an eye is written as JSON can write it, so that the same comes back from the form.
fn in_lines(payload: &str) -> String {
    let mut lines = String::with_capacity(payload.len());
    for c in indented(payload.trim()).chars() {
        if c == '\n' || !is_deceiving(c) {
            lines.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(lines, "\\u{unit:04x}");
            }
        }
    }
    lines
}

fn shown(context: &RequestContext, id: i64, (edit, sent): (&Edit, &Fields), result: &Markup) -> Response {
    let body = html! {
        (result)
        form.change.edit method="post" action={ "/messages/" (id) "/edit" } {
            (context.token())
            input type="hidden" name="revision" value=(edit.revision);
            label { span { "Target" } input type="text" name="target" value=(edit.target) required autocomplete="off" spellcheck="false"; }
            label {
                span { "Headers" span.hint { "one a line, as Name: value" } }
                textarea name="headers" rows="4" spellcheck="false" { "\n" (edit.headers) }
            }
            label {
                span { "Payload" span.hint { "JSON" } }
                textarea.payload name="payload" rows="16" required spellcheck="false" { "\n" (edit.payload) }
            }
            label.box {
                input type="checkbox" name="keep_key" value="yes" checked[edit.keep_key.is_some()];
                span { "Keep the idempotency key, so that receivers recognise the message. Only where the payload stays the same." }
            }
            (context.author_fields(false, sent))
            button.main type="submit" { "Show the difference" }
        }
        p { a href={ "/messages/" (id) } { "Back to the message" } }
    };
    context.page(&Content::still(format!("Edit message {id}"), body))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;

    #[test]
    fn a_payload_comes_back_from_the_form_as_it_went_into_it() {
        let payload = "{\"a\": \"x\u{202e}y\u{e0041}\", \"n\": 1.50}";
        let lines = in_lines(payload);
        assert_eq!(lines, "{\n  \"a\": \"x\\u202ey\\udb40\\udc41\",\n  \"n\": 1.50\n}");
        let values = [payload, &lines].map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(values[0], values[1]);
        assert_eq!(in_lines(&lines), lines);
    }

    #[test]
    fn headers_are_read_line_by_line() {
        let read = headers("X-Tenant: 8\n\n Authorization : Bearer a:b ").unwrap();
        let pairs: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("Authorization", "Bearer a:b"), ("X-Tenant", "8")]);
        assert!(headers("no colon").unwrap_err().detail.contains("\"no colon\""));
    }
}
