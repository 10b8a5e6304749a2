//! What people see and do: the listener with its page and its admin API, health, explanations, alerts.
//!
//! It looks at the engine, [`outbox_dispatcher`], and at the outbox database. The engine knows nothing of it.

pub mod admin;
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
pub mod text;
pub mod wake_endpoint;
