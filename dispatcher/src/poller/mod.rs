//! The way of a message through the poller: [`poll`] looks for due rows, [`claim`] claims them, [`send`] sends them,
//! [`mark`] writes the results.

pub mod assemble;
pub(crate) mod attention;
pub mod channels;
pub mod claim;
pub mod handle;
pub(crate) mod hidden;
pub mod hints;
pub(crate) mod kept;
pub(crate) mod leftover;
pub(crate) mod looks;
pub(crate) mod mark;
pub mod marking;
pub(crate) mod measure;
pub(crate) mod ordering_keys;
pub mod poll;
pub(crate) mod scheduled;
pub(crate) mod send;
pub(crate) mod settling;
pub(crate) mod suspects;
pub(crate) mod turns;
pub(crate) mod verdict;
pub(crate) mod walk;
