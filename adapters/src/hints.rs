//! The port of hints that come from an application, for databases that give none: after its commit the application says that
//! there is something new.

use async_trait::async_trait;
use outbox_schema::store::Wakeups;

use crate::LeaseError;

/// Where applications give hints. A hint may be lost, and may come for nothing: polling alone always suffices.
#[async_trait]
pub trait Hints: Send + Sync + std::fmt::Debug {
    /// Hears of the hints that are given from now on, until what it returns is dropped.
    async fn listen(&self) -> Result<Box<dyn Wakeups>, LeaseError>;

    /// Gives a hint. Returns how many listeners got it.
    async fn give(&self) -> Result<u64, LeaseError>;
}
