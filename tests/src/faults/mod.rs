//! Faults on a fleet at work: what every run of them shares.
//!
//! A [`Run`] is one stage and one fleet. A fault strikes a poller that has requests in flight; the run notes when, and
//! at its end every guarantee is checked. [`repeat`] gives each run a seed, repeats it for as long as a soak lasts, and
//! holds the medians of what was measured to their bounds.

mod figures;
mod machine;
mod run;
mod soak;

pub use figures::Figures;
pub use machine::Machine;
pub use run::{CHANGES, LATENCY, REPLICAS, Run, Setup, Struck};
pub use soak::{Dice, repeat};
