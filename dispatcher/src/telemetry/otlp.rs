//! Sending to an OTLP collector, as protobuf over HTTP
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use outbox_schema::words::{NO_AUTHORITY, own_authority};
use tokio::runtime::Handle;

use super::TelemetryError;

/// How long the collector has for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Makes exporters for one collector.
#[derive(Debug)]
pub(super) struct Otlp {
    base: String,
    client: Arc<Client>,
}

impl Otlp {
    /// An exporter for the collector at a base URL.
    pub(super) fn new(endpoint: &str) -> Result<Self, TelemetryError> {
        let base = endpoint.trim_end_matches('/').to_owned();
        install_tls();
        let http = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build().map_err(refused)?;
        let runtime = Handle::try_current().map_err(refused)?;
        let client = Arc::new(Client { http, runtime, endpoint: base.clone(), failing: AtomicBool::new(false) });
        Ok(Self { base, client })
    }

    pub(super) fn traces(&self) -> Result<SpanExporter, TelemetryError> {
        let exporter = SpanExporter::builder().with_http().with_shared_http_client(self.client.clone());
        exporter
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", self.base))
            .build()
            .map_err(|error: ExporterBuildError| refused(error))
    }

    pub(super) fn metrics(&self) -> Result<MetricExporter, TelemetryError> {
        let exporter = MetricExporter::builder().with_http().with_shared_http_client(self.client.clone());
        exporter
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/metrics", self.base))
            .build()
            .map_err(|error: ExporterBuildError| refused(error))
    }
}

fn refused(error: impl std::fmt::Display) -> TelemetryError {
    TelemetryError::Endpoint { reason: error.to_string() }
}

fn install_tls() {
    // This fails where a provider is installed already, which then serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The error with its causes, in words where the collector's certificate was refused. The outermost says only that a request failed.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (**cause).source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    own_authority(&text, NO_AUTHORITY).unwrap_or(text)
}

/// An HTTP client for exporters. They run on threads of their own without tokio, where an asynchronous client cannot
/// work. So each request is made on the runtime, and the thread waits for its answer.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    runtime: Handle,
    endpoint: String,
    failing: AtomicBool,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        let answer = match self.runtime.spawn(async move { http.send_bytes(request).await }).await {
            Ok(answer) => answer,
            Err(stopped) => Err(stopped.into()),
        };
        match &answer {
            Ok(response) if response.status().is_success() => self.succeeded(),
            Ok(response) => self.failed(&response.status()),
            Err(error) => self.failed(&causes(error.as_ref())),
        }
        answer
    }
}

impl Client {
    // Logs once when sending begins to fail, and once when that is over: batches come every few seconds.
    fn failed(&self, why: &dyn std::fmt::Display) {
        if !self.failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                endpoint = %self.endpoint,
                error = %why,
                "the OTLP collector takes nothing; spans are lost until it does (telemetry.otlp_endpoint)"
            );
        }
    }

    fn succeeded(&self) {
        if self.failing.swap(false, Ordering::Relaxed) {
            tracing::info!(endpoint = %self.endpoint, "the OTLP collector answers again");
        }
    }
}
