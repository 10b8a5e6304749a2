//! The listener of a replica: probes, metrics, the admin API and the page.
//!
//! It asks the desk, [`outbox_desk`], and shows what [`outbox_console`] says.

mod access;
pub mod api;
mod listen_error;
pub mod listener;
mod listener_sources;
mod page;
pub mod wake_endpoint;
