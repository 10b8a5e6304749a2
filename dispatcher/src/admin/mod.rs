//! The listener of a replica: health, metrics, the admin API and the page.

pub mod api;
pub mod listener;
mod page;
