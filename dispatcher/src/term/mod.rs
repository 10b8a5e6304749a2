//! A term in its poller: begun by a minted epoch, trusted as long as its lease is renewed, ended once.

pub mod clock;
pub mod failover;
pub(crate) mod gate;
pub mod leadership;
pub mod liveness;
mod term;
pub mod trust;
pub mod watchdog;

pub use term::Term;
