//! One destination: its window, its breaker, its rate, its pauses, and whether it takes messages now.

mod deferral;
mod destination;

pub use destination::{Closed, Standing};
pub(crate) use destination::{Destination, Situation};
