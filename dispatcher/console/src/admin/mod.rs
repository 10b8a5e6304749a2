//! The listener of a replica: health, metrics, the admin API and the page.

mod access;
pub mod api;
mod listen_error;
pub mod listener;
mod listener_sources;
mod page;
