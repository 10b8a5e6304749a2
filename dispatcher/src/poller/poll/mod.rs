//! The loop.

mod poll;

pub use poll::{Dispatcher, Drained, LoopSettings};
