//! What a replica knows about itself and the fleet: the sources behind `/metrics` and `/readyz`.

pub(crate) mod answering;
pub mod cached;
pub mod fleet;
mod health;
pub mod lease_health;
pub mod presence;
pub mod readiness;
pub mod replicas;
pub mod standings;
pub mod status;
pub mod store_health;
pub mod vitals;

pub use health::{Health, of_newer_tables};
