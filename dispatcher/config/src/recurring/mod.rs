//! Recurring messages: their settings, and the times at which each is due.

mod recurring;
#[cfg(test)]
mod tests;
mod timetable;

pub use recurring::{Missed, RecurringConfig};
pub use timetable::Timetable;
