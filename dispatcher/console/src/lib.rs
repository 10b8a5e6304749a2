//! What a replica knows of itself and says of its messages: health, explanations, checks, edits, alerts.
//!
//! It looks at the engine, [`outbox_dispatcher`], and at the outbox database. The engine knows nothing of it. The command line and
//! the listener (`outbox-admin`) show what it says.

pub mod alerts;
pub mod check;
pub mod configured;
pub mod edit;
pub mod examine;
pub mod explain;
pub mod figures;
#[cfg(test)]
mod fixtures;
pub mod health;
mod in_time;
pub mod jobs;
pub mod release;
pub mod text;
