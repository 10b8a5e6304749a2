//! The search above each page: for one message by its id or key, else for the messages of which somebody knows something.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::Response;
use outbox_desk::{Desk, MessageFilter, tag_names};
use outbox_schema::{MessageId, Tags};
use outbox_store::Database;

use super::fields::{Asked, Fields, NoFields};
use super::message::NAMED;
use super::parts::lead_to;
use super::{PageState, paths};
use crate::api::{Kind, Problem};

/// So many names of tags are tried with a value.
const TAG_NAMES: usize = 10;

/// How long lists are looked at for one search, but for the last of them.
const LOOKS_FOR: Duration = Duration::from_secs(2);

/// Leads to the message that has this id, or else this idempotency key. The page of that message is told of the name where it may
/// mean another message, or is a former key. Where there is none, leads to the list of those that the text says something about.
pub(super) async fn find(State(page_state): State<PageState>, Asked(asked): Asked) -> Result<Response, Problem> {
    let NoFields {} = asked.among(&["message"], false).read()?;
    let named = asked.get("message").map(str::trim).unwrap_or_default();
    if named.contains('\0') {
        return Err(Problem::new(Kind::BadRequest, "no message has NUL in its idempotency key"));
    }
    let database = &page_state.api_state.database;
    let by_id = match named.parse() {
        Ok(id) => database.message(MessageId(id)).await?,
        Err(_) => None,
    };
    let by_key = database.message_by_key(named).await?;
    let (id, is_plain) = match (by_id, by_key) {
        (Some(found), other) => (found.id, other.is_none_or(|other| other.id == found.id)),
        (None, Some(found)) => (found.id, found.idempotency_key == named),
        (None, None) => {
            let list = list(database, named).await?;
            return list.map(|address| lead_to(&address)).ok_or_else(|| Problem::no_such(named));
        }
    };
    let named = if is_plain { Fields::default() } else { Fields::default().with(NAMED, named) };
    Ok(lead_to(&named.at(&format!("{}/{id}", paths::MESSAGES))))
}

/// The list of the messages whose key begins so, which have this tag or this value of one, this target, tenant or ordering key. The
/// first that finds any.
async fn list(database: &Database, known: &str) -> Result<Option<String>, Problem> {
    if known.is_empty() {
        return Ok(None);
    }
    let with = |field, value: &str| Fields::default().with(field, value);
    let mut ways = vec![with("key_prefix", known)];
    if known.parse::<Tags>().is_ok_and(|tags| !tags.is_empty()) {
        ways.push(with("tags", known));
    }
    for name in tag_names(database).await?.into_iter().take(TAG_NAMES) {
        let mut tags = Tags::none();
        tags.set(name, known);
        ways.push(with("tags", &tags.to_string()));
    }
    ways.extend(["target", "tenant", "ordering_key"].map(|field| with(field, known)));
    let began = Instant::now();
    for way in ways {
        // Such as a tag of a text that is too long for one.
        let Ok(filter) = way.read::<MessageFilter>() else { continue };
        if began.elapsed() > LOOKS_FOR {
            return Ok(None);
        }
        if !database.messages(&filter, None, 1).await?.messages.is_empty() {
            return Ok(Some(way.at(paths::MESSAGES)));
        }
    }
    Ok(None)
}
