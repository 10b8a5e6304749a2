//! `outbox bench`: the speed of the product on the operator's own servers, beside the speed of those servers alone.
//!
//! Everything that is measured is a process of its own: the receiver, the bare client (H), the bare table (D), and the
//! product, which is the real `outbox run`. They take turns for several rounds, and the report shows medians.
//! docs/internals/bench.md explains the figures.

mod bench;
mod counters;
mod grounds;
mod measure;
mod number;
mod pace;
mod part;
mod plan;
mod redis_commands;
mod replicas;
mod report;
mod rows;
mod say;
mod scenario;
mod scenarios;
mod usage;

pub use bench::bench;
pub use part::work as be_a_part;
pub use plan::Plan;
pub use report::{Report, in_words};
use say::say;
pub use scenario::Scenario;
