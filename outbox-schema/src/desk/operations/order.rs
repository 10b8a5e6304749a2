//! Orders: what people ask for, to be carried out by whoever is there.

use std::time::Duration;

use super::carry::{carry, carry_for};
use super::entry::{OperationResult, Ordered};
use super::work::Work;
use crate::desk::cancel::Cancelling;
use crate::desk::edit_all::Editing;
use crate::desk::prune::Removing;
use crate::desk::redrive::{Purging, Redriving};
use crate::desk::replay::Replaying;
use crate::desk::retry::Retrying;
use crate::desk::undo::Undoing;
use crate::desk::{Author, ContentEdit, DeskError, MessageSelection, Pace, ReplayManner, Selection, Watch};
use crate::retention::Retention;
use crate::sql::while_doing;
use crate::{ByHand, Database};

/// An order of a change of many messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Order {
    /// As [`ByHand::redrive`](crate::ByHand::redrive).
    Redrive(Selection, Pace),
    /// As [`ByHand::replay`](crate::ByHand::replay).
    Replay(MessageSelection, ReplayManner),
    /// As [`ByHand::cancel_all`](crate::ByHand::cancel_all).
    Cancel(MessageSelection),
    /// As [`ByHand::retry`](crate::ByHand::retry).
    Retry(MessageSelection),
    /// As [`ByHand::edit_all`](crate::ByHand::edit_all).
    Edit(Selection, ContentEdit),
    /// As [`ByHand::undo`](crate::ByHand::undo).
    Undo(i64),
    /// As [`ByHand::purge`](crate::ByHand::purge).
    Purge(Selection),
    /// As [`ByHand::prune`](crate::ByHand::prune), with how many messages there are to remove. None: nobody has counted them.
    Prune(Retention, Option<u64>),
}

impl Order {
    /// What the desk does, for an error.
    fn doing(&self) -> &'static str {
        match self {
            Self::Redrive(..) => "redriving dead letters",
            Self::Replay(..) => "replaying delivered messages",
            Self::Cancel(..) => "cancelling messages",
            Self::Retry(..) => "retrying messages",
            Self::Edit(..) => "editing dead letters",
            Self::Undo(..) => "undoing a redrive or a replay",
            Self::Purge(..) => "purging dead letters",
            Self::Prune(..) => "removing what is past its retention",
        }
    }
}

impl Database {
    /// Begins a change of many messages, and carries it out for so long. Then the poller goes on with it. None where there is nothing
    /// to undo under that id.
    ///
    /// # Errors
    /// The database did not answer, or refused.
    pub async fn order(
        &self,
        order: Order,
        author: &Author,
        within: Duration,
    ) -> Result<Option<Ordered<OperationResult>>, DeskError> {
        let doing = order.doing();
        let ordered = carried(self, order, Manner { author, lasts: Lasts::For(within) }).await;
        ordered.map_err(while_doing(doing))
    }

    /// Carries a change of many messages out to its end, or until `watch` ends it. None where there is nothing to undo under that id.
    ///
    /// # Errors
    /// The database did not answer, or refused.
    pub async fn carry_out(
        &self,
        order: Order,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Option<OperationResult>, DeskError> {
        let doing = order.doing();
        if let Order::Prune(retention, _) = &order {
            // It is counted before.
            return self.prune(retention, author, watch).await.map(|pruned| Some(OperationResult::Prune(pruned)));
        }
        let carried = carried(self, order, Manner { author, lasts: Lasts::Watched(watch) }).await;
        Ok(match carried.map_err(while_doing(doing))? {
            Some(Ordered::Over(result)) => Some(result),
            Some(Ordered::Begun(_)) | None => None,
        })
    }
}

/// How an order is carried out.
#[derive(Clone, Copy)]
struct Manner<'a> {
    author: &'a Author,
    lasts: Lasts<'a>,
}

#[derive(Clone, Copy)]
enum Lasts<'a> {
    For(Duration),
    Watched(Watch<'a>),
}

async fn carried(
    database: &Database,
    order: Order,
    manner: Manner<'_>,
) -> sqlx::Result<Option<Ordered<OperationResult>>> {
    use OperationResult as Told;
    Ok(Some(match order {
        Order::Redrive(selection, pace) => manner.of(database, Redriving::of(&selection, pace), Told::Redrive).await?,
        Order::Replay(selection, how) => manner.of(database, Replaying::of(&selection, how), Told::Replay).await?,
        Order::Cancel(selection) => manner.of(database, Cancelling::of(&selection), Told::Cancel).await?,
        Order::Retry(selection) => manner.of(database, Retrying::of(&selection), Told::Retry).await?,
        Order::Edit(selection, change) => manner.of(database, Editing::of(&selection, &change), Told::Edit).await?,
        Order::Purge(selection) => manner.of(database, Purging::of(&selection), Told::Purge).await?,
        Order::Prune(retention, of) => manner.of(database, Removing::of(&retention, of), Told::Prune).await?,
        Order::Undo(operation) => match Undoing::of(database, operation).await? {
            Some(work) => manner.of(database, work, Told::Undo).await?,
            None => return Ok(None),
        },
    }))
}

impl Manner<'_> {
    async fn of<W: Work>(
        self,
        database: &Database,
        work: W,
        told: fn(W::Done) -> OperationResult,
    ) -> sqlx::Result<Ordered<OperationResult>> {
        let Self { author, lasts } = self;
        Ok(match lasts {
            Lasts::Watched(watch) => Ordered::Over(told(carry(database, work, author, watch).await?)),
            Lasts::For(within) => match carry_for(database, work, author, within).await? {
                Ordered::Over(done) => Ordered::Over(told(done)),
                Ordered::Begun(id) => Ordered::Begun(id),
            },
        })
    }
}
