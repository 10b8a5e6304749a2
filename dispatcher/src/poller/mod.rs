//! The way of a message through the poller: [`intake`] finds out what is due, and lets the schedule choose; [`claim`] claims that,
//! [`send`] sends it, [`mark`] writes the results. [`poll`] is the loop around them.

pub mod assemble;
pub mod claim;
pub mod handle;
pub(crate) mod intake;
pub mod journal;
pub(crate) mod looks;
pub(crate) mod mark;
pub mod marker_health;
pub(crate) mod measure;
pub mod mend;
pub mod poll;
pub(crate) mod poll_backoff;
pub(crate) mod quarantine;
pub mod schedule_now;
pub(crate) mod send;
pub(crate) mod settling;
pub(crate) mod verdict;
pub mod wake_ups;

pub use crate::channels;
