//! From merged settings to typed ones: checks what has to fit together.

mod alerts;
mod channel;
mod config;
mod outcomes;
mod recurring;

pub(super) use config::config;
pub use config::is_on_loopback;
