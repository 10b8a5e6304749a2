//! `outbox status`: who polls, what is due, what is dead.

pub(crate) mod source;
mod status;

pub(crate) use status::{StatusArgs, halted, interval, nobody, status, what_it_waits_for};
