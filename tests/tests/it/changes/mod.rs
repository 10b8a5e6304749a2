//! What people change by hand: one message, and many.

mod audit;
mod by_hand;
mod cancel;
pub(crate) mod cancel_by_key;
mod dead_letters;
mod duplicates;
mod halted;
pub(crate) mod long_changes;
mod operations;
mod replay;
mod told;
