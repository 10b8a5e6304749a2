//! What every implementation of a port must do.

pub mod lease;
pub mod store;
