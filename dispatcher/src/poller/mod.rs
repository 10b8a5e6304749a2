//! The poller's way of a message: [`poll`] looks for due rows, [`claim`] takes them, [`send`] sends them, [`mark`] writes
//! what came of it.

pub mod assemble;
pub mod attention;
pub mod channels;
pub mod claim;
pub mod handle;
pub mod hints;
pub mod mark;
pub mod ordering_keys;
pub mod poll;
pub mod send;
pub mod settling;
pub mod suspects;
pub mod verdict;
pub mod walk;
