//! A change of many messages: a batch in a transaction, with pauses between, so that deliveries go on beside it.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Remaining;
use crate::desk::operation::{Operation, PAUSES};
use crate::sql::AnyConnection;
use crate::{Database, MessageId};

/// A change that is made batch by batch. Between two batches it can be written down, and another process goes on with it.
#[async_trait]
pub(in crate::desk) trait Work: Serialize + DeserializeOwned + Send + Sync {
    /// The name of the change in the audit.
    const ACTION: &'static str;

    /// The result of the change.
    type Done: Send;

    /// What the audit says of the change, once its messages are found.
    fn said(&self) -> serde_json::Value;

    /// Finds the messages that the change has not come to. Gives how many it has to come to in all, where that is known.
    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>>;

    /// Whether there is nothing to do, where so many messages are meant.
    fn is_nothing(&self, meant: Option<u64>) -> bool {
        meant == Some(0)
    }

    /// The change has this entry in the audit.
    fn begun(&mut self, audit_id: i64);

    /// A pause is this many times as long as the batch before it.
    fn pauses(&self) -> u32 {
        PAUSES
    }

    /// Changes the next messages, in the transaction of the connection, and counts them.
    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch>;

    /// The result so far.
    fn done(self) -> Self::Done;
}

/// The result of a batch.
#[derive(Debug, Clone, Copy)]
pub(in crate::desk) struct Batch {
    /// How many messages the batch has come to.
    pub(in crate::desk) come_to: u64,
    /// How many messages were changed, in all batches so far.
    pub(in crate::desk) changed: u64,
    /// How long the database had no work meanwhile, because this process had.
    pub(in crate::desk) idle: Duration,
    /// Whether no message is left.
    pub(in crate::desk) last: bool,
}

impl Batch {
    /// A batch that left the database no rest.
    pub(in crate::desk) fn of(batch: &[MessageId], changed: u64, remaining: &Remaining) -> Self {
        Self { come_to: batch.len() as u64, changed, idle: Duration::ZERO, last: remaining.is_over() }
    }
}
