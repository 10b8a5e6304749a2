//! Recurring messages.

mod faults;
mod store;
