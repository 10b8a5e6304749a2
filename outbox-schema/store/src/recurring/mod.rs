//! Recurring messages: what is kept of each, and the messages that a poller writes for them.

mod database;
mod recurring;

pub use recurring::{RecurringNow, RecurringState, RecurringStep, RecurringStore};
