//! Posts alerts: too many dead letters, or no poller.

mod alert;
mod alerts;
mod webhook;

pub use alerts::{AlertWatch, Alerts};
