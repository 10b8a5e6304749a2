//! Figures over time: what was done in each minute, by channel (`outbox_minute`).

mod database;
mod figures;

pub(crate) use figures::FiguresRow;
pub use figures::{BUCKETS, Figures, LATENCY_BOUNDS_MS, Latency, OTHERS};
