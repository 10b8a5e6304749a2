//! What documents promise.

mod compose;
mod documents;
mod grafana;
mod guarantees;
