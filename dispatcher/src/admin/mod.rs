//! The listener of a replica: health, metrics and the admin API.

pub mod api;
pub mod listener;
