//! `outbox exclusive`: runs a command in one place of a fleet at a time.
//!
//! It is two processes. The *guard* is the one that was started: it runs the command, passes signals on, and ends the command when
//! it may go on no longer. It asks no server anything, so nothing keeps it from that. The *keeper*, its child, holds the seat of the
//! job and writes its history. Each ends the command where the other dies.

mod child;
mod guard;
mod keeper;
mod pipe;

pub use guard::{Guard, OnLoss, guard};
pub use keeper::{Keeper, Wait, keep};

/// The exit code where the seat was lost, and the command ended.
pub const LOST: u8 = 121;
/// The exit code where the command took longer than it may, as that of `timeout`.
pub const TIMED_OUT: u8 = 124;
/// The exit code where the command was not started, because something failed.
pub const FAILED: u8 = 125;
