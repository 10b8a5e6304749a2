//! The scenarios, with a file for each family.

mod backlog;
mod beside;
mod destinations;
mod drain;
mod drains;
mod enqueue;
mod fair;
mod fcm;
mod hosts;
mod idle;
mod latency;
mod run;
mod snapshot;

use drains::{drain, plain_drain};
pub(super) use run::run;
