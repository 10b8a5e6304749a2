//! What people ask of an outbox.

mod deliveries;
mod desk;
mod destinations;
pub(crate) mod figures;
pub(crate) mod finding;
mod messages;
mod replicas;
mod retention;
mod status;
mod tags;
