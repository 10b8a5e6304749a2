//! From merged settings to typed ones: checks each range, and what has to fit together.

mod alerts;
mod auth;
mod channel;
mod config;
mod lengths;
mod outcomes;

use lengths::{DAY, HOUR, SECOND};

pub(super) use config::config;
pub use config::is_on_loopback;
