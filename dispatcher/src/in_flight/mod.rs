//! The messages that this process has claimed and not yet marked: the slots that bound them, and the rows that
//! a claim must leave out.

mod in_flight;

pub use in_flight::InFlight;
