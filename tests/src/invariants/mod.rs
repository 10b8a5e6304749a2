//! What must hold after every run, whatever happened in it: accounts that know nothing of each other, the
//! application's, the receiver's, the tables' and the replicas', are compared. The rules are those of
//! docs/guarantees.md, by their numbers there.

mod accounts;
mod invariants;
mod limits;
mod rules;
#[cfg(test)]
mod tests;

pub use accounts::Accounts;
use accounts::{Trail, instance, places};
pub use invariants::{Report, breaches, changes_under_load, check, hand_overs_under_load, pollers};
pub use limits::Limits;
