//! The rules of the schedule, as sentences.

mod fake;
mod properties;
mod rules;
mod simulation;
mod store;
