//! Replaying sends again what was delivered: each message by a row of its own, which says what it repeats. So the first row
//! stays as it was.

use std::collections::BTreeSet;

use outbox_schema::MessageId;
use outbox_store::sql::AnyConnection;
use outbox_store::store::ids_as_json;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::edit::not_json;
use super::operation::Operation;
use super::operations::{Outcome, Sent};
use super::redrive::Schedule;
use super::statements::{REPLAY, REPLAYED, REPLAYS};
use super::{Pace, Refusal, Skipped};

/// How to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayManner {
    /// Whether each row gets a key of its own. Otherwise the receiver gets the key of the message that is repeated, and may
    /// recognise it.
    pub new_key: bool,
    /// Whether messages that were replayed before are sent once more. Otherwise they are left out, so that a command can be
    /// repeated: without its canary, or where nobody knows whether it came through.
    pub again: bool,
    /// Only messages with a higher id than this, to go on after a canary that was told to send messages `again`.
    pub after: Option<MessageId>,
    /// How fast, and how many.
    pub pace: Pace,
}

/// A row to write, as the statement reads it.
#[derive(Serialize)]
struct Repeated {
    id: MessageId,
    key: String,
    due_us: i64,
    same_key: bool,
}

/// Sends the messages of a batch again.
pub(super) async fn batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    mut fit: Vec<MessageId>,
    (manner, schedule): (ReplayManner, &mut Option<Schedule>),
    done: &mut Outcome,
) -> sqlx::Result<()> {
    let schedule = Schedule::begun(schedule, connection, manner.pace).await?;
    if !manner.again {
        let before: Vec<(i64,)> = connection.rows(&REPLAYED, &[(&ids_as_json(&fit)).into()]).await?;
        let before: BTreeSet<_> = before.into_iter().map(|(id,)| id).collect();
        let (left, others): (Vec<_>, _) = fit.into_iter().partition(|id| before.contains(&id.0));
        fit = others;
        done.leave(left.into_iter().map(|id| Skipped { id, because: Refusal::Replayed }).collect());
    }
    let rows = fit.iter().map(|id| Repeated {
        id: *id,
        key: Uuid::now_v7().to_string(),
        due_us: schedule.next_us(),
        same_key: !manner.new_key,
    });
    let rows: Vec<_> = rows.collect();
    let keys: Vec<_> = rows.iter().map(|row| row.key.as_str()).collect();
    let (rows, keys) =
        (serde_json::to_string(&rows).map_err(not_json)?, serde_json::to_string(&keys).map_err(not_json)?);
    connection.rows::<()>(&REPLAY, &[(&rows).into()]).await?;
    let written: Vec<(i64, i64)> = connection.rows(&REPLAYS, &[(&keys).into()]).await?;
    operation.audit_parts(connection, &parts(&written, manner.new_key)).await?;
    done.changed += written.len() as u64;
    let sent = |(id, first): (i64, i64)| Sent { id: MessageId(id), replay_of: Some(MessageId(first)) };
    done.show(written.into_iter().map(sent));
    Ok(())
}

/// The entries of the messages that were repeated.
fn parts(written: &[(i64, i64)], new_key: bool) -> String {
    let part = |(id, first): &(i64, i64)| {
        let details = serde_json::json!({ "replay": id, "new_key": new_key });
        serde_json::json!({ "id": first, "details": details.to_string() })
    };
    serde_json::Value::Array(written.iter().map(part).collect()).to_string()
}
