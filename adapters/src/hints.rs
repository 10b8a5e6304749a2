//! The port of hints from an application, for databases that give none: after its commit the application says that
//! there is a new message.

use async_trait::async_trait;
use outbox_store::store::Wakeups;

use crate::LeaseError;

/// A place where applications give hints. A hint may be lost, and may come for nothing: polling alone always suffices.
#[async_trait]
pub trait Hints: Send + Sync + std::fmt::Debug {
    /// Listens for hints from now on, until the returned value is dropped.
    async fn listen(&self) -> Result<Box<dyn Wakeups>, LeaseError>;

    /// Gives a hint. Returns the number of listeners that got it.
    async fn give(&self) -> Result<u64, LeaseError>;
}
