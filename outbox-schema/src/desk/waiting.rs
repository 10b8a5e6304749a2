//! Changes of many messages that wait, by what is done to each: it is cancelled, or made due.

use std::marker::PhantomData;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::operation::{Operation, Standing, lock_terms};
use super::operations::{Batch, Remaining, Work};
use super::{MessageChange, MessageSelection, Skipped, Skips};
use crate::sql::AnyConnection;
use crate::statement::Statement;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// What is done to messages that wait. The type is that of the result.
#[async_trait]
pub(super) trait OfWaiting: From<Tally> + Send + Sync {
    const CHANGE: MessageChange;

    /// What is done to the rows of the messages.
    const STATEMENT: &'static Statement;

    /// Takes out of `fit` what the change is not for. The rows are locked.
    async fn choose(
        _connection: &mut AnyConnection<'_>,
        _selection: &MessageSelection,
        fit: Vec<MessageId>,
    ) -> sqlx::Result<Chosen> {
        Ok(Chosen { fit, ..Chosen::default() })
    }
}

/// The messages of a batch, as a change is for them or not.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) fit: Vec<MessageId>,
    pub(super) skipped: Vec<Skipped>,
    /// How many of those that are changed were never tried.
    pub(super) untried: u64,
}

/// What a change has come to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) audit_id: Option<i64>,
    pub(super) meant: u64,
    pub(super) changed: u64,
    pub(super) untried: u64,
    #[serde(flatten)]
    pub(super) skipped: Skips,
}

/// A change of many messages that wait.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Changing<C> {
    selection: MessageSelection,
    remaining: Remaining,
    done: Tally,
    #[serde(skip)]
    change: PhantomData<C>,
}

impl<C> Changing<C> {
    pub(super) fn of(selection: &MessageSelection) -> Self {
        let (remaining, done) = (Remaining::default(), Tally::default());
        Self { selection: selection.clone(), remaining, done, change: PhantomData }
    }
}

#[async_trait]
impl<C: OfWaiting> Work for Changing<C> {
    const ACTION: &'static str = C::CHANGE.as_str();
    type Done = C;

    fn said(&self) -> serde_json::Value {
        self.selection.said(self.done.meant)
    }

    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let meant = self.selection.ids(database, C::CHANGE, &mut self.remaining.as_of_us).await?;
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, None)))
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let Self { selection, remaining, done, .. } = self;
        let batch = remaining.next();
        // No claim is being made now, so none may take what is changed here.
        lock_terms(connection).await?;
        let (fit, skipped) = Standing::lock(connection, &batch).await?.split(&batch, Status::Pending);
        let chosen = C::choose(connection, selection, fit).await?;
        let fit = ids_as_json(&chosen.fit);
        operation.audit_each(connection, &fit).await?;
        connection.rows::<()>(C::STATEMENT, &[(&fit).into()]).await?;
        done.changed += chosen.fit.len() as u64;
        done.untried += chosen.untried;
        done.skipped.extend(skipped);
        done.skipped.extend(chosen.skipped);
        Ok(Batch::of(&batch, done.changed, remaining))
    }

    fn done(self) -> C {
        self.done.into()
    }
}
