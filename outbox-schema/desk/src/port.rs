//! What operators ask of an outbox, and what they do to it.

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use outbox_store::retention::{Pruned, Retention};

use super::answers::{Cancelled, Edited};
use super::author::Author;
use super::dead_letter::DeadLetterPage;
use super::destinations::{DestinationEntry, Paused, Resumed};
use super::edit::Revised;
use super::error::DeskError;
use super::figures::{FiguresFilter, FiguresSeries};
use super::halted::{HaltedKeyPage, KeyCursor};
use super::invalid_targets::{Cleared, InvalidTargetPage, InvalidTargetSelection};
use super::jobs::{JobAction, JobDone, JobEntry, JobRunEntry, JobRunPage};
use super::message_selection::{MessageGroup, MessageSelection};
use super::messages::{MessageFilter, MessagePage};
use super::operations::{Action, Change, Outcome, Stopped};
use super::progress::Watch;
use super::recurring::{RecurringAction, RecurringDone, RecurringEntry};
use super::report::{DeadGroup, MessageRecord, TermEntry, Vitals};
use super::selection::{Cursor, DeadLetterFilter, Selection};

/// The questions that operators ask of an outbox. [`Database`](outbox_store::Database) answers for each of the three dialects.
/// No question writes anything.
///
/// `halting` are the channels whose ordering keys halt at a dead letter, as the settings of the fleet say. A replica that is asked
/// knows them itself.
#[async_trait]
pub trait Desk: Send + Sync + std::fmt::Debug {
    /// The state of the outbox. Reads pending and dead rows, never the history.
    async fn vitals(&self, halting: &[String]) -> Result<Vitals, DeskError>;

    /// The last terms of all shards, the newest first.
    async fn terms(&self, limit: u32) -> Result<Vec<TermEntry>, DeskError>;

    /// A message with its attempts, its audit and the claim that names it.
    async fn message(&self, id: MessageId) -> Result<Option<MessageRecord>, DeskError>;

    /// The same, found by its idempotency key.
    async fn message_by_key(&self, key: &str) -> Result<Option<MessageRecord>, DeskError>;

    /// Messages without their bodies, the newest first: at most `limit`, with ids below `after`. Looks at 100,000 rows
    /// at most, and says where it stopped ([`MessagePage::next`]).
    async fn messages(
        &self,
        filter: &MessageFilter,
        after: Option<MessageId>,
        limit: u32,
    ) -> Result<MessagePage, DeskError>;

    /// Dead letters, the most recently dead first: at most `limit`, from the place where an earlier page ended.
    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        halting: &[String],
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<DeadLetterPage, DeskError>;

    /// Ordering keys that a dead letter halts, by channel and key: at most `limit`, from the place where an earlier page ended. Of
    /// one channel, or of all that halt. Looks at 100,000 dead letters at most, and says where it stopped.
    async fn halted_keys(
        &self,
        halting: &[String],
        channel: Option<&str>,
        after: Option<&KeyCursor>,
        limit: u32,
    ) -> Result<HaltedKeyPage, DeskError>;

    /// The dead letters of a selection, counted in groups, the largest group first. For a filter, only the [`GROUPS`](super::GROUPS)
    /// groups whose last letter died latest are counted.
    async fn dead_groups(&self, selection: &Selection) -> Result<Vec<DeadGroup>, DeskError>;

    /// The messages that a change of a selection means, counted by channel and destination, the largest group first. With
    /// `after`, only those with a higher id. At most [`MESSAGE_GROUPS`](super::MESSAGE_GROUPS) groups are counted. Reads every
    /// row that the selection may mean.
    async fn message_groups(
        &self,
        action: Action,
        selection: &MessageSelection,
        after: Option<MessageId>,
    ) -> Result<Vec<MessageGroup>, DeskError>;

    /// How many messages are past their retention: those that [`Change::Prune`] would remove, and dead letters that it
    /// would keep since they halt their ordering key. Reads all rows older than the retention, in small stretches with
    /// pauses between.
    async fn past_retention(&self, retention: &Retention) -> Result<Pruned, DeskError>;

    /// Destinations and channels that hold messages up, by name. With `all`, every one that the outbox remembers.
    async fn destinations(&self, all: bool) -> Result<Vec<DestinationEntry>, DeskError>;

    /// Recurring messages that a poller knows, by name.
    async fn recurring(&self) -> Result<Vec<RecurringEntry>, DeskError>;

    /// Jobs that have run somewhere, by name.
    async fn jobs(&self) -> Result<Vec<JobEntry>, DeskError>;

    /// The runs of a job, the newest first: at most `limit`, with tokens below `after`. None where no job of the name is known.
    async fn job_runs(&self, job: &str, after: Option<i64>, limit: u32) -> Result<Option<JobRunPage>, DeskError>;

    /// A run with the last that it wrote. None where the job has no run with this token.
    async fn job_run(&self, job: &str, token: i64) -> Result<Option<JobRunEntry>, DeskError>;

    /// What was done over time, by channel.
    async fn figures(&self, filter: &FiguresFilter) -> Result<FiguresSeries, DeskError>;

    /// Targets that are known to be gone, the last recorded first: at most `limit`, with ids below `after`.
    async fn invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        after: Option<i64>,
        limit: u32,
    ) -> Result<InvalidTargetPage, DeskError>;
}

/// The changes that operators make. Each change writes to `outbox_audit` in its own transaction, and raises the
/// revision of the row. So no earlier claim or mark can touch the row.
///
/// A change of many messages goes in small batches with pauses between, so that deliveries go on beside it. A batch is
/// done whole or not at all.
///
/// # Cancel safety
/// Safe: batches that were committed stay so, and the call can be repeated.
#[async_trait]
pub trait ByHand: Send + Sync + std::fmt::Debug {
    /// Cancels a pending message: it becomes a dead letter with the reason `cancelled`. A message that may be in flight
    /// is refused.
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError>;

    /// Makes a change of many messages, and `watch` follows it.
    async fn apply(&self, change: &Change, author: &Author, watch: Watch<'_>) -> Result<Outcome, DeskError>;

    /// Gives a dead letter that is still at `revision` another payload, target or headers, and a new idempotency key:
    /// receivers refuse a key with another body. The message stays a dead letter.
    async fn edit(&self, id: MessageId, revision: i32, revised: &Revised, author: &Author)
    -> Result<Edited, DeskError>;

    /// Stops an operation after its present batch, whoever carries it out. What it has changed stays changed. None where there is no
    /// such operation.
    async fn stop(&self, operation: i64, author: &Author) -> Result<Option<Stopped>, DeskError>;

    /// Pauses a destination, or a whole channel, for a century at most. None: until an operator resumes it. Messages in
    /// flight go on. The poller learns of the pause within a second.
    async fn pause(&self, destination: &str, lasting: Option<Duration>, author: &Author) -> Result<Paused, DeskError>;

    /// Ends every pause of a destination or of a channel, and forgets its failures. Rows that were deferred are due
    /// again at their own times.
    async fn resume(&self, destination: &str, author: &Author) -> Result<Resumed, DeskError>;

    /// Pauses a recurring message, resumes it, or has one written at once. The poller learns of it within a second. None where no
    /// poller has known the name.
    async fn change_recurring(
        &self,
        name: &str,
        action: RecurringAction,
        author: &Author,
    ) -> Result<Option<RecurringDone>, DeskError>;

    /// Pauses a job, so that no run of it begins, or resumes it. A run that goes on is left alone. None where no job of the name is
    /// known.
    async fn change_job(&self, name: &str, action: JobAction, author: &Author) -> Result<Option<JobDone>, DeskError>;

    /// Forgets targets that are known to be gone. Until then, messages to them become dead letters without an attempt.
    /// Those dead letters stay until an operator redrives them.
    async fn clear_invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        author: &Author,
    ) -> Result<Cleared, DeskError>;
}
