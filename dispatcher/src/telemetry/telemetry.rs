//! The telemetry of the process: logs on standard error, and traces and metrics over OTLP where
//! `telemetry.otlp_endpoint` is set.

use std::env;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use outbox_store::Shard;
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use super::error::TelemetryError;
use super::otlp::Otlp;
use super::repeats::Repeats;
use super::spans;
use crate::metrics::Metrics;
use outbox_config::LogFormat;

/// The log level where none is set.
const DEFAULT_LEVEL: &str = "info";

/// How long the last spans and metrics may take to be sent when the process ends.
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The settings of telemetry.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// The format of log lines.
    pub log_format: LogFormat,
    /// `info`, or filters such as `info,outbox=debug`. The environment variable `RUST_LOG` goes before it.
    pub log_level: Option<&'a str>,
    /// The base URL of an OTLP/HTTP collector. None: nothing is sent. Its headers come from the environment variable
    /// `OTEL_EXPORTER_OTLP_HEADERS`, and the share of kept traces from `OTEL_TRACES_SAMPLER`.
    pub otlp_endpoint: Option<&'a str>,
    /// The unique id of this process, which becomes `service.instance.id`.
    pub instance: &'a str,
}

/// The parts that must be flushed before the process ends.
#[derive(Debug)]
pub struct Telemetry {
    resource: Resource,
    otlp: Option<Otlp>,
    tracer: Option<SdkTracerProvider>,
    repeats: Repeats,
}

/// Sets up logs, and traces where an endpoint is set, for the whole process. Call it within the tokio runtime that is
/// to send them.
///
/// # Errors
/// For people: which setting is wrong and what it takes.
pub fn start(settings: &Settings<'_>) -> Result<Telemetry, TelemetryError> {
    let (telemetry, dispatch) = prepare(settings)?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|_| TelemetryError::Started)?;
    tokio::spawn(telemetry.repeats.clone().tell());
    Ok(telemetry)
}

/// Does the same as [`start`], but returns the subscriber to the caller instead of installing it for the process.
pub fn prepare(settings: &Settings<'_>) -> Result<(Telemetry, Dispatch), TelemetryError> {
    let resource = Resource::builder()
        .with_service_name("outbox")
        .with_attribute(KeyValue::new("service.instance.id", settings.instance.to_owned()))
        .build();
    let otlp = settings.otlp_endpoint.map(Otlp::new).transpose()?;
    let tracer = otlp.as_ref().map(|otlp| tracer(otlp, &resource)).transpose()?;
    // This is a list, because an absent layer (`None`) counts as one that wants every span.
    let repeats = Repeats::default();
    let mut layers = vec![log_layer(settings, repeats.clone())?];
    layers.extend(tracer.as_ref().map(traces_layer));
    Ok((Telemetry { resource, otlp, tracer, repeats }, Dispatch::new(Registry::default().with(layers))))
}

impl Telemetry {
    /// The metrics of this process, sent to the same endpoint as its traces.
    pub fn metrics<'a>(
        &self,
        channels: impl IntoIterator<Item = &'a str>,
        shards: &[Shard],
    ) -> Result<Metrics, TelemetryError> {
        let exporter = self.otlp.as_ref().map(Otlp::metrics).transpose()?;
        Metrics::new(channels, shards, self.resource.clone(), exporter).map_err(TelemetryError::Metrics)
    }

    /// Tells how many lines were left out of the log, and sends what is left, for at most two seconds.
    pub async fn shutdown(self, metrics: &Metrics) {
        self.repeats.tell_the_rest();
        let Some(tracer) = self.tracer else { return };
        let meter = metrics.provider();
        let (done, flushed) = tokio::sync::oneshot::channel();
        // The libraries block while they flush, and longer than they are told. A thread of its own lets the process end
        // without them; tokio would wait for one of its blocking tasks.
        std::thread::spawn(move || {
            // Data that cannot be sent now is lost. The log has said so already.
            let _ = tracer.shutdown_with_timeout(FLUSH_PATIENCE);
            let _ = meter.shutdown();
            let _ = done.send(());
        });
        if tokio::time::timeout(FLUSH_PATIENCE, flushed).await.is_err() {
            tracing::warn!("the last spans and metrics were not sent: the OTLP collector took longer than 2 s");
        }
    }
}

fn tracer(otlp: &Otlp, resource: &Resource) -> Result<SdkTracerProvider, TelemetryError> {
    let exporter = otlp.traces()?;
    Ok(SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(exporter).build())
}

fn traces_layer(tracer: &SdkTracerProvider) -> BoxedLayer {
    // Only our own targets (`outbox`, `outbox_dispatcher` …): the libraries trace the exporter's HTTP client too, and
    // exporting those spans would make new ones for ever.
    let ours = Targets::new().with_target("outbox", Level::INFO);
    tracing_opentelemetry::layer()
        .with_tracer(tracer.tracer("outbox"))
        .with_context_activation(false)
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(ours)
        .boxed()
}

fn log_layer(settings: &Settings<'_>, repeats: Repeats) -> Result<BoxedLayer, TelemetryError> {
    let wanted = filter_fn(is_for_logs).with_max_level_hint(LevelFilter::TRACE);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match settings.log_format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let level = level(env::var("RUST_LOG").ok(), settings.log_level)?;
    // Whoever wants details wants each line.
    let counted = level.max_level_hint().is_some_and(|level| level < LevelFilter::DEBUG).then_some(repeats);
    Ok(lines.with_filter(level.and(wanted).and(counted)).boxed())
}

/// Whether logs want this. They leave out the spans of attempts, which are for traces: without traces nothing wants
/// those spans, and they cost nothing. Logs also leave out libraries that log secrets.
fn is_for_logs(metadata: &Metadata<'_>) -> bool {
    let logs_secrets = LOGS_SECRETS.iter().any(|library| metadata.target().starts_with(library));
    metadata.target() != spans::TARGET && !(logs_secrets && *metadata.level() > Level::ERROR)
}

/// A level by itself is that of this program. What the libraries would say of an outage is said by this program in its own words, and
/// theirs quote whole statements: of them it shows errors, but for those of the pool, which are no news. Who asks for details, or
/// gives filters, gets what that says.
fn of_this_program(value: &str) -> String {
    match value.trim().parse::<LevelFilter>() {
        Ok(LevelFilter::INFO | LevelFilter::WARN) => {
            format!("error,sqlx_core::pool=off,outbox={}", value.trim().to_lowercase())
        }
        Ok(_) | Err(_) => value.to_owned(),
    }
}

/// What logs the bodies of failed token requests, and lines of `.pgpass` that it cannot read, with their passwords.
const LOGS_SECRETS: [&str; 2] = ["gcp_auth", "sqlx_postgres::options"];

fn level(environment: Option<String>, configured: Option<&str>) -> Result<EnvFilter, TelemetryError> {
    let environment = environment.filter(|value| !value.is_empty());
    let value = environment.as_deref().or(configured).unwrap_or(DEFAULT_LEVEL);
    EnvFilter::try_new(of_this_program(value))
        .map_err(|error| TelemetryError::Level { value: value.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SETTINGS: Settings<'static> =
        Settings { log_format: LogFormat::Text, log_level: Some("info"), otlp_endpoint: None, instance: "test" };

    #[test]
    fn a_wrong_level_is_refused_with_what_it_takes() {
        let error = level(None, Some("outbox=loud")).unwrap_err().to_string();
        assert!(error.contains("\"outbox=loud\"") && error.contains("info"), "{error}");
    }

    #[test]
    fn the_environment_comes_before_the_settings_and_an_empty_one_is_none() {
        assert_eq!(level(Some("debug".to_owned()), Some("warn")).unwrap().to_string(), "debug");
        assert_eq!(level(Some(String::new()), Some("trace")).unwrap().to_string(), "trace");
        let [set, default] = [Some("WARN"), None].map(|value| level(None, value).unwrap().to_string());
        assert!(set.contains("outbox=warn") && default.contains("outbox=info"), "{set} {default}");
    }

    #[test]
    fn libraries_tell_of_errors_alone_unless_details_are_asked_for() {
        let hears = |asked_for: &str| {
            let (_, dispatch) = prepare(&Settings { log_level: Some(asked_for), ..SETTINGS }).unwrap();
            tracing::dispatcher::with_default(&dispatch, || {
                [
                    tracing::enabled!(target: "outbox_dispatcher::term", Level::INFO),
                    tracing::enabled!(target: "sqlx::query", Level::WARN),
                    tracing::enabled!(target: "sqlx::query", Level::ERROR),
                ]
            })
        };
        assert_eq!(hears("INFO"), [true, false, true]);
        assert_eq!(hears("info,sqlx=warn"), [true, true, true]);
        assert_eq!(hears("DEBUG"), [true, true, true]);
    }

    #[test]
    fn nobody_can_have_the_bodies_of_token_requests_and_lines_of_passwords_logged() {
        let asked_for = Settings { log_level: Some("trace,gcp_auth::types=trace,sqlx_postgres=trace"), ..SETTINGS };
        let (_, dispatch) = prepare(&asked_for).unwrap();
        tracing::dispatcher::with_default(&dispatch, || {
            assert!(tracing::enabled!(target: "outbox", Level::TRACE));
            assert!(tracing::enabled!(target: "gcp_auth::types", Level::ERROR));
            assert!(!tracing::enabled!(target: "gcp_auth::types", Level::WARN));
            assert!(!tracing::enabled!(target: "sqlx_postgres::options::pgpass", Level::WARN));
            assert!(tracing::enabled!(target: "sqlx_postgres::connection", Level::WARN));
        });
    }

    #[test]
    fn without_an_endpoint_the_spans_of_attempts_are_disabled() {
        let (_, dispatch) = prepare(&SETTINGS).unwrap();
        tracing::dispatcher::with_default(&dispatch, || {
            assert!(tracing::info_span!(target: spans::TARGET, "attempt").is_disabled());
        });
    }
}
