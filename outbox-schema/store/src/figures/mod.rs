//! Figures over time: what was done in each minute, by channel (`outbox_minute`).

mod database;
mod figures;

pub use figures::{BUCKETS, Figures, FiguresRow, LATENCY_BOUNDS_MS, Latency, OTHERS};
