//! Work on many messages: a batch in a transaction, with pauses between, so that deliveries go on beside it. Between two batches it
//! can be written down, and another process goes on with it.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::Database;
use outbox_store::retention::{BEGINNING, PURGE, PURGE_ATTEMPTS};
use outbox_store::sql::AnyConnection;
use outbox_store::statement::Statement;
use outbox_store::store::ids_as_json;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::state::{Fields, State};
use super::{Action, Change, Outcome, Remaining};
use crate::operation::{Operation, PAUSES, Standing, lock_terms};
use crate::redrive::Schedule;
use crate::statements::{CANCEL, RETRY};
use crate::{dead, edit_all, prune, redrive, replay, retry, undo};

/// A change of many messages, and how far it is.
#[derive(Debug)]
pub(super) struct Work {
    change: Change,
    remaining: Remaining,
    /// None before the first batch.
    schedule: Option<Schedule>,
    /// Of an undo the last entry of the operation that it has come to, of a prune the last row.
    after: MessageId,
    done: Outcome,
}

/// The result of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    /// How many messages the batch has come to.
    pub(super) come_to: u64,
    /// How many messages were changed, in all batches so far.
    pub(super) changed: u64,
    /// How long the database had no work meanwhile, because this process had.
    pub(super) idle: Duration,
    /// Whether no message is left.
    pub(super) last: bool,
}

impl Work {
    /// None where there is nothing to undo.
    pub(super) async fn of(database: &Database, mut change: Change) -> sqlx::Result<Option<Self>> {
        let mut done = Outcome::of(change.action());
        let mut after = MessageId(0);
        match &mut change {
            Change::Undo { asked, of } => match undo::undoable(database, *asked).await? {
                Some((undone, changed)) => (done.undone, *of) = (undone, changed),
                None => return Ok(None),
            },
            Change::Prune { .. } => after = BEGINNING,
            Change::Redrive { .. }
            | Change::Replay { .. }
            | Change::Cancel { .. }
            | Change::Retry { .. }
            | Change::Edit { .. }
            | Change::Purge { .. } => {}
        }
        Ok(Some(Self { change, remaining: Remaining::default(), schedule: None, after, done }))
    }

    pub(super) fn action(&self) -> Action {
        self.done.action
    }

    /// What the audit says of it, once its messages are found.
    pub(super) fn said(&self) -> Value {
        self.change.said(self.done.meant, self.done.undone)
    }

    /// Finds the messages that the change has not come to. Gives how many it has to come to in all, where that is known.
    pub(super) async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let (action, as_of_us) = (self.action(), &mut self.remaining.as_of_us);
        let mut meant = match &self.change {
            Change::Redrive { selection, .. } | Change::Edit { selection, .. } | Change::Purge { selection } => {
                dead::meant(database, selection, as_of_us).await?
            }
            Change::Replay { selection, .. } | Change::Cancel { selection } | Change::Retry { selection } => {
                selection.ids(database, action, as_of_us).await?
            }
            Change::Undo { of, .. } | Change::Prune { of, .. } => return Ok(*of),
        };
        if let Change::Replay { manner, .. } = &self.change {
            meant.retain(|id| manner.after.is_none_or(|after| *id > after));
        }
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, self.change.pace().canary.map(NonZeroU32::get))))
    }

    /// Whether there is nothing to do, where so many messages are meant. A prune also removes attempts of messages that are gone,
    /// which nobody counts.
    pub(super) fn is_nothing(&self, meant: Option<u64>) -> bool {
        meant == Some(0) && self.action() != Action::Prune
    }

    /// The change has this entry in the audit.
    pub(super) fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    /// A pause is this many times as long as the batch before it. An edit holds no term, so no claim waits for its batches as claims
    /// wait for those of a redrive. SQLite has one writer, and waits.
    pub(super) fn pauses(&self) -> u32 {
        if self.action() == Action::Edit { 2 } else { PAUSES }
    }

    /// The result so far.
    pub(super) fn done(self) -> Outcome {
        self.done
    }

    /// Changes the next messages, in the transaction of the connection, and counts them.
    pub(super) async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
    ) -> sqlx::Result<Batch> {
        let Self { change, after, done, .. } = self;
        let (come_to, last) = match change {
            Change::Undo { asked, .. } => undo::batch(connection, operation, (*asked, after), done).await?,
            Change::Prune { retention, .. } => prune::batch(connection, retention, after, done).await?,
            Change::Redrive { .. }
            | Change::Replay { .. }
            | Change::Cancel { .. }
            | Change::Retry { .. }
            | Change::Edit { .. }
            | Change::Purge { .. } => return self.batch_of_selected(connection, operation).await,
        };
        Ok(Batch { come_to, changed: self.done.changed, idle: Duration::ZERO, last })
    }

    /// The same where a selection says which messages.
    async fn batch_of_selected(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
    ) -> sqlx::Result<Batch> {
        let Self { change, remaining, schedule, done, .. } = self;
        let (action, batch) = (change.action(), remaining.next());
        if action.holds_terms() {
            lock_terms(connection).await?;
        }
        let (fit, skipped) = match action.status() {
            Some(status) => Standing::lock(connection, &batch).await?.split(&batch, status),
            None => (Vec::new(), Vec::new()),
        };
        done.leave(skipped);
        let mut idle = Duration::ZERO;
        match change {
            Change::Redrive { pace, .. } => {
                redrive::batch(connection, operation, fit, (*pace, schedule), done).await?;
            }
            Change::Replay { manner, .. } => {
                replay::batch(connection, operation, fit, (*manner, schedule), done).await?;
            }
            Change::Edit { change, .. } => idle = edit_all::batch(connection, operation, &fit, change, done).await?,
            Change::Cancel { .. } => each(connection, operation, &fit, &[&CANCEL], done).await?,
            Change::Retry { selection } => {
                let fit = retry::chosen(connection, selection, &fit, done).await?;
                each(connection, operation, &fit, &[&RETRY], done).await?;
            }
            Change::Purge { .. } => each(connection, operation, &fit, &[&PURGE_ATTEMPTS, &PURGE], done).await?,
            Change::Undo { .. } | Change::Prune { .. } => {}
        }
        // The rest may be gone by now: what was reached stays reached.
        done.last = batch.last().copied().or(done.last);
        Ok(Batch { come_to: batch.len() as u64, changed: done.changed, idle, last: remaining.is_over() })
    }

    /// The work as it is written down. An earlier release reads it too.
    pub(super) fn fields(&self) -> serde_json::Result<Fields> {
        let Self { change, remaining, schedule, after, done } = self;
        let Value::Object(mut fields) = serde_json::to_value(change)? else { return Ok(Fields::new()) };
        // The row has it in a column.
        fields.remove("action");
        fields.insert("remaining".to_owned(), serde_json::to_value(remaining)?);
        fields.insert("schedule".to_owned(), serde_json::to_value(schedule)?);
        fields.insert("after".to_owned(), serde_json::to_value(after)?);
        fields.insert("done".to_owned(), done.kept()?);
        Ok(fields)
    }

    /// Reads the work as it was written down.
    ///
    /// # Errors
    /// It is of another release.
    fn read(action: Action, mut fields: Fields) -> serde_json::Result<Self> {
        let done = Outcome::read(action, fields.remove("done").unwrap_or_default())?;
        let remaining: Option<_> = field(&mut fields, "remaining")?;
        let (schedule, after): (_, Option<_>) = (field(&mut fields, "schedule")?, field(&mut fields, "after")?);
        fields.insert("action".to_owned(), action.as_str().into());
        Ok(Self {
            change: serde_json::from_value(fields.into())?,
            remaining: remaining.unwrap_or_default(),
            schedule,
            after: after.unwrap_or(MessageId(0)),
            done,
        })
    }

    /// The work, as its row has it.
    pub(super) fn standing(action: Action, state: &State) -> serde_json::Result<Self> {
        Self::read(action, state.standing()?)
    }
}

fn field<T: DeserializeOwned>(fields: &mut Fields, name: &str) -> serde_json::Result<T> {
    serde_json::from_value(fields.remove(name).unwrap_or_default())
}

/// Runs statements that take ids, each for all messages of a batch.
async fn each(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    fit: &[MessageId],
    statements: &[&'static Statement],
    done: &mut Outcome,
) -> sqlx::Result<()> {
    let ids = ids_as_json(fit);
    operation.audit_each(connection, &ids).await?;
    for statement in statements {
        connection.rows::<()>(statement, &[(&ids).into()]).await?;
    }
    done.changed += fit.len() as u64;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Orders as releases before this one kept them in their rows, with what their batches changed.
    fn kept_before() -> [(Action, Value); 8] {
        let remaining = json!({"as_of_us": 17, "after": 5, "come_to": 3});
        let filter = json!({"filter": {"channel": "hook", "until": "2026-05-01T14:00:00Z"}});
        let skipped = json!({"audit_id": 7, "meant": 9, "skipped": [], "skipped_count": 0});
        let with = |more: Value| {
            let mut all = skipped.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let schedule = json!({"start_us": 1, "rate": 10, "handed_out": 3});
        let pace = json!({"canary": null, "rate": 10});
        [
            (
                Action::Redrive,
                json!({"selection": filter, "pace": pace, "remaining": remaining, "schedule": schedule,
                       "done": with(json!({"redriven": 3, "messages": [5]}))}),
            ),
            (
                Action::Replay,
                json!({"selection": filter, "manner": {"new_key": true, "again": false, "after": null, "pace": pace},
                       "remaining": remaining, "schedule": null,
                       "done": with(json!({"replayed": 3, "replays": [{"id": 11, "replay_of": 5}], "last": 5}))}),
            ),
            (
                Action::Cancel,
                json!({"selection": {"ids": [5, 6]}, "remaining": remaining,
                       "done": with(json!({"changed": 3, "untried": 0}))}),
            ),
            (
                Action::Retry,
                json!({"selection": {"ids": [5, 6]}, "remaining": remaining,
                       "done": with(json!({"changed": 3, "untried": 2}))}),
            ),
            (
                Action::Edit,
                json!({"selection": filter, "change": {"target": "/new"}, "remaining": remaining,
                       "done": {"audit_id": 7, "meant": 9, "edited": 3, "unchanged": 1, "left": [], "left_count": 0}}),
            ),
            (
                Action::Undo,
                json!({"asked": 7, "of": 9, "after": 21,
                       "done": {"undone": "replay", "audit_id": 8, "returned": 3, "delivered": 1, "dead_again": 0,
                                "under_way": 0, "gone": 0}}),
            ),
            (Action::Purge, json!({"selection": filter, "remaining": remaining, "done": with(json!({"purged": 3}))})),
            (
                Action::Prune,
                json!({"retention": {"success": {"secs": 5, "nanos": 0}, "dead": null, "continuing": ["hook"]}, "of": 9,
                       "after": 5, "done": {"success": 2, "dead": 1}}),
            ),
        ]
    }

    /// Whether all of `kept` is in `written` too, so that whoever wrote the one reads the other.
    fn holds(written: &Value, kept: &Value) -> bool {
        match (written, kept) {
            (Value::Object(written), Value::Object(kept)) => {
                kept.iter().all(|(name, kept)| written.get(name).is_some_and(|written| holds(written, kept)))
            }
            (written, kept) => written == kept,
        }
    }

    #[test]
    fn work_of_an_earlier_release_is_gone_on_with_and_an_earlier_release_goes_on_with_that_of_this_one() {
        for (action, kept) in kept_before() {
            let Value::Object(fields) = kept.clone() else { panic!("{kept}") };
            let work = Work::read(action, fields).unwrap();
            assert_eq!((work.action(), work.done.changed), (action, 3));
            let written = Value::Object(work.fields().unwrap());
            assert!(holds(&written, &kept), "{action:?}: {written} has not all of {kept}");
            assert!(written.get("action").is_none(), "{written}");
        }
    }
}
