//! What the metrics read of a term.

use std::fmt::Debug;
use std::time::Duration;

use outbox_store::TermId;

/// A term of this process, read whenever the metrics are.
pub trait TermGauge: Debug + Send + Sync {
    /// The id of the term.
    fn id(&self) -> &TermId;

    /// Whether the term goes on.
    fn is_on(&self) -> bool;

    /// How long its lease is still trusted.
    fn trusted_for(&self) -> Duration;
}
