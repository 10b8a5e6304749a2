//! `outbox exclusive`: a command in one place of a fleet at a time.

mod faults;
mod runs;
