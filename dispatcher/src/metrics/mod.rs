//! One definition of the metrics.

pub mod bounded;
pub mod counting;
mod labels;
mod metrics;
mod names;
mod observed;
pub mod tally;
mod term_gauge;

pub use self::term_gauge::TermGauge;
pub use metrics::Metrics;
pub use names::Name;
