//! The way of a message through the poller: [`poll`] looks for due rows, [`claim`] claims them, [`send`] sends them,
//! [`mark`] writes the results.

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
