//! Changes of many messages as tests make them: to their end, and followed by nobody.

use async_trait::async_trait;
use outbox_desk::{
    Author, Because, ByHand, Change, DeskError, MessageSelection, Outcome, Pace, ReplayManner, Selection, Skipped,
    UNWATCHED,
};
use outbox_schema::MessageId;

/// Changes that nobody follows.
#[async_trait]
pub trait Unfollowed: ByHand {
    /// A redrive.
    async fn redrive(&self, selection: &Selection, pace: Pace, author: &Author) -> Result<Outcome, DeskError> {
        self.apply(&Change::Redrive { selection: selection.clone(), pace }, author, UNWATCHED).await
    }

    /// A replay.
    async fn replay(
        &self,
        selection: &MessageSelection,
        manner: ReplayManner,
        author: &Author,
    ) -> Result<Outcome, DeskError> {
        self.apply(&Change::Replay { selection: selection.clone(), manner }, author, UNWATCHED).await
    }

    /// A cancellation of many.
    async fn cancel_all(&self, selection: &MessageSelection, author: &Author) -> Result<Outcome, DeskError> {
        self.apply(&Change::Cancel { selection: selection.clone() }, author, UNWATCHED).await
    }

    /// A retry.
    async fn retry(&self, selection: &MessageSelection, author: &Author) -> Result<Outcome, DeskError> {
        self.apply(&Change::Retry { selection: selection.clone() }, author, UNWATCHED).await
    }

    /// An undo.
    async fn undo(&self, asked: i64, author: &Author) -> Result<Outcome, DeskError> {
        self.apply(&Change::undo(asked), author, UNWATCHED).await
    }

    /// A purge.
    async fn purge(&self, selection: &Selection, author: &Author) -> Result<Outcome, DeskError> {
        self.apply(&Change::Purge { selection: selection.clone() }, author, UNWATCHED).await
    }
}

impl<T: ByHand + ?Sized> Unfollowed for T {}

/// The first messages that are sent again.
pub fn sent(done: &Outcome) -> Vec<MessageId> {
    done.first.iter().map(|sent| sent.id).collect()
}

/// The messages that were refused.
pub fn skipped(done: &Outcome) -> Vec<Skipped> {
    let refused = |because: &Because| match because {
        Because::Refused(refusal) => *refusal,
        Because::Unfit(why) => panic!("{why}"),
    };
    done.left.iter().map(|left| Skipped { id: left.id, because: refused(&left.because) }).collect()
}
