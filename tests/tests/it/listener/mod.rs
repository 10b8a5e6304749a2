//! What a replica says of itself over HTTP.

pub(crate) mod alerts;
mod api;
mod fleet;
pub(crate) mod incident;
pub(crate) mod memory;
pub(crate) mod readiness;
