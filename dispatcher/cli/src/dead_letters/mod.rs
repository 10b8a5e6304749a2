//! `outbox dead-letters`: finds the messages that could not be delivered, mends them, and sends them again.

mod change;
mod command;
mod edit;
mod edit_many;
mod filter;
mod list;

pub(super) use change::{UndoArgs, undo};
pub(super) use command::{DeadLettersCommand, dead_letters};
pub(super) use list::groups;
