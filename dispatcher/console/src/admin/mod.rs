//! The listener of a replica: health, metrics, the admin API and the page.

mod access;
pub mod api;
pub mod listener;
mod page;
