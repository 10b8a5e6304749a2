//! Changes of many messages, each from what it would do to its exit status: what is the same for all of them.

mod make;
mod outcome;
mod undo;
mod would;

pub(super) use make::make;
pub(super) use outcome::pruned;
pub(super) use undo::undo_of;
pub(super) use would::{count, would};
