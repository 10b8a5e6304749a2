//! A model of the protocol, small enough to be searched to the end: three replicas, two messages, up to three terms.
//! In it the lease may vanish at any step, the lease store may forget everything, a replica may stop for any time
//! between any two steps (whatever happens next, others may act first) and may die, an answer may be lost, and what a look
//! has shown may be edited before it is claimed. Or the database fails over to a standby that lacks its last commits.
//!
//! [`state`] is what there is, [`steps`] what can happen, each step named as the function of the code that takes it;
//! [`promises`] is what must hold, and [`guards`] what keeps it so. ARCHITECTURE.md maps steps to functions.

pub mod guards;
mod model;
mod promise;
pub mod promises;
mod protocol;
pub mod search;
pub mod state;
pub mod steps;
pub mod traces;

pub use protocol::{Faults, Policy, Protocol};
