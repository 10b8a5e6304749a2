//! Why telemetry cannot be set up.

use opentelemetry_sdk::error::OTelSdkError;

/// Why telemetry cannot be set up with these settings.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The endpoint cannot be used.
    #[error("telemetry.otlp_endpoint cannot be used: {reason}")]
    Endpoint {
        /// Why it cannot be used.
        reason: String,
    },
    /// The value is not a log level.
    #[error(
        "the log level \"{value}\" is not understood ({reason}); it takes error, warn, info, debug or trace, or \
         filters such as info,outbox=debug"
    )]
    Level {
        /// The value, from the settings or from `RUST_LOG`.
        value: String,
        /// Why it is not a log level.
        reason: String,
    },
    /// Logging was set up before: there is one log per process.
    #[error("logging was set up before")]
    Started,
    /// The metrics library refused.
    #[error("the metrics could not be set up: {0}")]
    Metrics(OTelSdkError),
}
