//! Keeps the figures over time: writes what was counted, and makes hours of old minutes.

mod figures;

pub use figures::{EACH, FiguresKeeper};
