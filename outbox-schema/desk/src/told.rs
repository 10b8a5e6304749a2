//! Outcomes that are told, from both sides: the messages that tell of one, and the message of which one tells. Both stand in the
//! key of an outcome.

use outbox_schema::MessageId;
use outbox_store::migrate::read_meta;
use outbox_store::sql::AnyConnection;
use outbox_store::statement;
use outbox_store::statement::Statement;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::MessageRecord;

const OUTCOMES_OF: Statement = statement!("desk/outcomes_of");
const STATUS_OF: Statement = statement!("desk/status_of");

/// The most outcomes of one message that are read. Each is of another end: after a redrive there can be a further one.
const OUTCOMES: i64 = 100;

/// A message that tells of an outcome of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
pub struct OutcomeMessage {
    /// The id of the message.
    pub id: i64,
    /// Its channel.
    pub channel: String,
    /// Its status.
    pub status: String,
    /// When it was written, with the outcome.
    pub at: String,
}

/// The message of which another one tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldMessage {
    /// The id of the message.
    pub id: MessageId,
    /// Its status. None where it is no longer there.
    pub status: Option<String>,
}

/// The beginning of the keys of all outcomes of this outbox, without the colon behind it.
async fn beginning(connection: &mut AnyConnection<'_>) -> sqlx::Result<String> {
    let meta = read_meta(connection).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(format!("outcome:{}", meta.outbox_id))
}

/// The messages that tell of the outcomes of a message, the oldest first.
pub(super) async fn told_by(
    connection: &mut AnyConnection<'_>,
    message: &MessageRecord,
) -> sqlx::Result<Vec<OutcomeMessage>> {
    let beginning = format!("{}:{}", beginning(connection).await?, message.id);
    let mut told: Vec<OutcomeMessage> =
        connection.rows_from_index(&OUTCOMES_OF, &[(&beginning).into(), OUTCOMES.into()]).await?;
    told.sort_by_key(|outcome| outcome.id);
    Ok(told)
}

/// The message of which a message tells, where it is an outcome, or repeats one under its key.
pub(super) async fn tells_of(
    connection: &mut AnyConnection<'_>,
    message: &MessageRecord,
) -> sqlx::Result<Option<ToldMessage>> {
    let Some(id) = told_id(message.key_sent(), &beginning(connection).await?) else { return Ok(None) };
    let status: Vec<(String,)> = connection.rows(&STATUS_OF, &[id.0.into()]).await?;
    Ok(Some(ToldMessage { id, status: status.into_iter().next().map(|(status,)| status) }))
}

/// The message in the key of an outcome.
fn told_id(key: &str, beginning: &str) -> Option<MessageId> {
    let (id, revision) = key.strip_prefix(beginning)?.strip_prefix(':')?.split_once(':')?;
    revision.parse::<i32>().ok()?;
    id.parse().ok().map(MessageId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_of_an_outcome_of_this_outbox_names_a_message() {
        let told = |key: &str| told_id(key, "outcome:a");
        assert_eq!(told("outcome:a:17:3"), Some(MessageId(17)));
        for other in ["outcome:b:17:3", "outcome:a:17", "outcome:a:17:", "outcome:a:x:3", "outcome:a", "order-4711", ""]
        {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
