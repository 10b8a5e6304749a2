//! What can happen. A step is as large as what nothing can come between: a statement under its locks, a transaction that
//! commits, a look at the gate. Between two steps of a replica all others may take theirs.

mod claiming;
mod failover;
mod leading;
mod marking;
mod sending;
mod settling;
mod step;

pub use step::Step;
