//! Redriving makes dead letters due again.

use outbox_schema::MessageId;
use outbox_store::sql::AnyConnection;
use outbox_store::store::ids_as_json;
use serde::{Deserialize, Serialize};

use super::Pace;
use super::operation::Operation;
use super::operations::{Outcome, Sent};
use super::statements::REDRIVE;

/// Makes the messages of a batch due.
pub(super) async fn batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    fit: Vec<MessageId>,
    (pace, schedule): (Pace, &mut Option<Schedule>),
    done: &mut Outcome,
) -> sqlx::Result<()> {
    let schedule = Schedule::begun(schedule, connection, pace).await?;
    operation.audit_each(connection, &ids_as_json(&fit)).await?;
    let due: serde_json::Value =
        fit.iter().map(|id| serde_json::json!({ "id": id, "due_us": schedule.next_us() })).collect();
    connection.rows::<()>(&REDRIVE, &[due.to_string().as_str().into()]).await?;
    done.changed += fit.len() as u64;
    done.show(fit.into_iter().map(|id| Sent { id, replay_of: None }));
    Ok(())
}

/// When the messages of a redrive or of a replay come due, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Schedule {
    start_us: i64,
    rate: Option<i64>,
    handed_out: i64,
}

impl Schedule {
    /// The schedule of a change, which begins with the first batch.
    pub(super) async fn begun<'a>(
        schedule: &'a mut Option<Self>,
        connection: &mut AnyConnection<'_>,
        pace: Pace,
    ) -> sqlx::Result<&'a mut Self> {
        if schedule.is_none() {
            let rate = pace.rate.map(|rate| i64::from(rate.get()));
            *schedule = Some(Self { start_us: connection.now_us().await?, rate, handed_out: 0 });
        }
        schedule.as_mut().ok_or(sqlx::Error::RowNotFound)
    }

    pub(super) fn next_us(&mut self) -> i64 {
        let after_us = self.rate.map_or(0, |rate| self.handed_out.saturating_mul(1_000_000) / rate);
        self.handed_out += 1;
        self.start_us.saturating_add(after_us)
    }
}
