//! The messages that an operator names.

use anyhow::bail;
use outbox_console::text::warning;
use outbox_desk::{Desk, MessageFilter, MessageRecord};
use outbox_schema::MessageId;

use crate::session::Misuse;

/// What stands before an id that is not to be taken for an idempotency key.
const ID: &str = "id:";

/// The id that an operator wrote, where it may be one.
fn id_in(message: &str) -> Option<MessageId> {
    message.strip_prefix(ID).unwrap_or(message).parse().ok().map(MessageId)
}

/// The id of another message, whose idempotency key is the number that the operator wrote.
async fn namesake(desk: &dyn Desk, message: &str, id: i64) -> anyhow::Result<Option<i64>> {
    if message.starts_with(ID) {
        return Ok(None);
    }
    let other = desk.message_by_key(message).await?.map(|other| other.id);
    Ok(other.filter(|other| *other != id))
}

/// The message with this id or this idempotency key.
pub(crate) async fn find(desk: &dyn Desk, message: &str) -> anyhow::Result<MessageRecord> {
    let by_id = match id_in(message) {
        Some(id) => desk.message(id).await?,
        None => None,
    };
    if let Some(found) = &by_id
        && let Some(other) = namesake(desk, message, found.id).await?
    {
        warning(&format!(
            "this is the message with the id {message}; message {other} has the idempotency key `{message}`"
        ));
    }
    let found = match by_id {
        Some(found) => Some(found),
        None => desk.message_by_key(message).await?,
    };
    match found {
        Some(found) => {
            if id_in(message) != Some(MessageId(found.id)) && found.idempotency_key != message {
                warning(&format!("message {} had the key `{message}` before it was edited", found.id));
            }
            Ok(found)
        }
        None => bail!("no message has the id or the idempotency key `{message}`{}", was_there(desk, message).await?),
    }
}

/// The id of the message that an operator names for a change. A number that no message has stays: the change says what came of it.
///
/// # Errors
/// The number is the id of one message and the idempotency key of another, or the text is neither.
pub(crate) async fn id_of(desk: &dyn Desk, message: &str) -> anyhow::Result<MessageId> {
    if let Ok(id) = message.parse()
        && desk.message(MessageId(id)).await?.is_some()
        && let Some(other) = namesake(desk, message, id).await?
    {
        let both = format!("{message} is the id of one message, and the idempotency key of message {other}");
        return Err(Misuse::new(format!("{both}: write {ID}{message} or {ID}{other}")).into());
    }
    match (find(desk, message).await, id_in(message)) {
        (Ok(found), _) => Ok(MessageId(found.id)),
        (Err(_), Some(id)) => Ok(id),
        (Err(error), None) => Err(error),
    }
}

/// The ids of the messages that the operator names.
pub(crate) async fn ids_of(desk: &dyn Desk, messages: &[String]) -> anyhow::Result<Vec<MessageId>> {
    let mut ids = Vec::new();
    for message in messages {
        ids.push(id_of(desk, message).await?);
    }
    Ok(ids)
}

/// What can be said of an id that no message has: whether it was given.
async fn was_there(desk: &dyn Desk, message: &str) -> anyhow::Result<String> {
    let newest = desk.messages(&MessageFilter::default(), None, 1).await?.messages;
    Ok(match (id_in(message), newest.first()) {
        (Some(MessageId(id)), Some(newest)) if id > 0 && id < newest.id => format!(
            ": ids up to {} were given, so it was removed (delivered messages are kept for retention.success, dead letters for \
             retention.dead), purged (`outbox audit list --message {id}` says by whom), or never committed",
            newest.id
        ),
        (Some(_), Some(newest)) => format!(": ids up to {} were given", newest.id),
        (Some(_), None) => String::new(),
        (None, _) => {
            ": it was removed, or never committed (`outbox audit list` tells of each purge, with the key)".to_owned()
        }
    })
}
