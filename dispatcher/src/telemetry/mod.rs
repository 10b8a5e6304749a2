//! The telemetry of the process: logs on standard error, and traces and metrics over OTLP where
//! `telemetry.otlp_endpoint` is set.

mod error;
mod otlp;
mod repeats;
pub mod spans;
mod telemetry;

pub use error::TelemetryError;
pub use outbox_config::LogFormat;
pub use telemetry::{Settings, Telemetry, prepare, start};
