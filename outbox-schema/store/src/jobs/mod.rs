//! Jobs that run once in a fleet: their tokens and their runs.

mod database;
mod jobs;

pub use jobs::{JobRun, JobStart, JobStore, NotYet, RunEnd, RunEnded, SilentRun, Started};
