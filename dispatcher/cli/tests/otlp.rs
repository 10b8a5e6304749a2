//! Traces and metrics reach an OTLP collector. In a process of its own: it listens for what a process exports.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use outbox_adapters::Answer;
use outbox_dispatcher::metrics::{Metrics, Name};
use outbox_dispatcher::telemetry::{self, LogFormat, Settings, Telemetry, spans};
use outbox_schema::enqueue::trace;
use outbox_store::{Epoch, Message, Outcome, Shard};
use parking_lot::Mutex;
use prost::Message as _;
use tracing::Dispatch;

/// What a collector got: the path and the body of each request.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(String, Bytes)>>>);

impl Collector {
    async fn start(&self) -> String {
        let receive = |State(this): State<Self>, uri: Uri, body: Bytes| async move {
            this.0.lock().push((uri.path().to_owned(), body));
            StatusCode::OK
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(receive).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/")
    }

    fn bodies(&self, path: &str) -> Vec<Bytes> {
        self.0.lock().iter().filter(|(got, _)| got == path).map(|(_, body)| body.clone()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let requests =
            self.bodies("/v1/traces").into_iter().map(|body| ExportTraceServiceRequest::decode(body).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        let scopes = resources.flat_map(|resource| {
            assert!(names_the_process(&resource.resource.unwrap()));
            resource.scope_spans
        });
        scopes.flat_map(|scope| scope.spans).collect()
    }

    fn metrics(&self) -> Vec<String> {
        let bodies = self.bodies("/v1/metrics").into_iter();
        let requests = bodies.map(|body| ExportMetricsServiceRequest::decode(body).unwrap());
        let resources = requests.flat_map(|request| request.resource_metrics);
        let metrics = resources.flat_map(|resource| resource.scope_metrics).flat_map(|scope| scope.metrics);
        metrics.map(|metric| metric.name).collect()
    }
}

fn names_the_process(resource: &Resource) -> bool {
    let text = format!("{:?}", resource.attributes);
    text.contains("service.name") && text.contains("service.instance.id") && text.contains("instance-7")
}

fn set_up(endpoint: Option<&str>) -> (Telemetry, Metrics, Dispatch) {
    let settings = Settings {
        log_format: LogFormat::Text,
        log_level: Some("off"),
        otlp_endpoint: endpoint,
        instance: "instance-7",
    };
    let (telemetry, dispatch) = telemetry::prepare(&settings).unwrap();
    let metrics = telemetry.metrics(["http"], &[Shard(0)]).unwrap();
    (telemetry, metrics, dispatch)
}

fn message(traceparent: Option<String>) -> Message {
    Message {
        id: 12,
        revision: 0,
        idempotency_key: "key".to_owned(),
        channel: "http".to_owned(),
        target: "https://receiver.example/hook".to_owned(),
        destination: "https://receiver.example:443".to_owned(),
        payload: "{}".to_owned(),
        headers: None,
        attempts: 0,
        max_attempts: None,
        expires_in_ms: None,
        retrying_for_ms: None,
        deadline_ms: None,
        waited_ms: 0,
        created_ms: Some(0),
        ordering_key: None,
        tenant: None,
        bytes: 2,
        too_large: false,
        unread: None,
        target_is_gone: false,
        traceparent,
        tracestate: None,
    }
}

fn enqueue() -> Message {
    let request = tracing::info_span!(target: "outbox_test", "enqueue");
    let _entered = request.enter();
    message(Some(trace::current().unwrap().traceparent))
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_request_that_enqueues_the_attempt_and_its_request_are_one_trace() {
    let collector = Collector::default();
    let (telemetry, metrics, dispatch) = set_up(Some(&collector.start().await));
    let sent = tracing::dispatcher::with_default(&dispatch, || {
        let message = enqueue();
        let attempt = spans::attempt_span(&message, 1, Epoch(41));
        let request = spans::request_span(&attempt);
        let (traceparent, _) = spans::inject(&request, &message);
        let answer = Answer { status_code: Some(503), ..Answer::failed(Outcome::InDoubt, "no answer came") };
        spans::record(&attempt, &request, &answer);
        traceparent.unwrap()
    });
    telemetry.shutdown(&metrics).await;

    let spans = collector.spans();
    assert_eq!(spans.len(), 3, "the exporter's own requests are not traced: {spans:?}");
    let (enqueue, attempt, request) = (named(&spans, "enqueue"), named(&spans, "attempt"), named(&spans, "request"));
    assert_eq!(attempt.trace_id, enqueue.trace_id);
    assert_eq!(request.trace_id, enqueue.trace_id);
    assert_eq!(attempt.parent_span_id, enqueue.span_id);
    assert_eq!(request.parent_span_id, attempt.span_id);
    assert_eq!(sent, format!("00-{}-{}-01", hex(&request.trace_id), hex(&request.span_id)));
    let shown = format!("{attempt:?} {request:?}");
    for word in
        ["message_id", "channel", "destination", "epoch", "in_doubt", "no answer came", "http.response.status_code"]
    {
        assert!(shown.contains(word), "{word} is not in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_sent_under_the_names_that_prometheus_shows() {
    let collector = Collector::default();
    let (telemetry, metrics, _dispatch) = set_up(Some(&collector.start().await));
    metrics.attempt("http", "delivered", Some(Duration::from_millis(3)));
    telemetry.shutdown(&metrics).await;
    let sent = collector.metrics();
    for name in [Name::Attempts, Name::AttemptDuration, Name::LeaseHeld, Name::FencedMarks] {
        assert!(sent.iter().any(|sent| sent == name.as_str()), "{} is not in {sent:?}", name.as_str());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_down_does_not_hold_up_the_end_of_the_process() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let (telemetry, metrics, dispatch) = set_up(Some(&endpoint));
    tracing::dispatcher::with_default(&dispatch, || drop(spans::attempt_span(&message(None), 1, Epoch(41))));
    let ended = tokio::time::timeout(Duration::from_secs(4), telemetry.shutdown(&metrics)).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn without_an_endpoint_the_rows_own_trace_context_goes_out_as_it_is() {
    let (_, _, dispatch) = set_up(None);
    tracing::dispatcher::with_default(&dispatch, || {
        let row = Message { tracestate: Some("a=1".to_owned()), ..message(Some("whatever it says".to_owned())) };
        let attempt = spans::attempt_span(&row, 1, Epoch(41));
        let sent = spans::inject(&spans::request_span(&attempt), &row);
        assert_eq!(sent, (row.traceparent, row.tracestate));
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_whose_trace_context_is_nonsense_begins_a_trace_of_its_own() {
    let collector = Collector::default();
    let (telemetry, metrics, dispatch) = set_up(Some(&collector.start().await));
    let sent = tracing::dispatcher::with_default(&dispatch, || {
        let row = message(Some("00-nonsense".to_owned()));
        let attempt = spans::attempt_span(&row, 1, Epoch(41));
        spans::inject(&attempt, &row).0.unwrap()
    });
    telemetry.shutdown(&metrics).await;
    let spans = collector.spans();
    let attempt = named(&spans, "attempt");
    assert!(attempt.parent_span_id.is_empty());
    assert_eq!(sent, format!("00-{}-{}-01", hex(&attempt.trace_id), hex(&attempt.span_id)));
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_sent_also_while_nobody_leads() {
    let (collector, home) = (Collector::default(), tempfile::tempdir().unwrap());
    let mut replica = tokio::process::Command::new(env!("CARGO_BIN_EXE_outbox"))
        .arg("run")
        .current_dir(home.path())
        .env_clear()
        .env("OUTBOX_TELEMETRY__OTLP_ENDPOINT", collector.start().await)
        .env("OTEL_METRIC_EXPORT_INTERVAL", "100")
        .env("OUTBOX_ADMIN__LISTEN", "127.0.0.1:0")
        .env("OUTBOX_DATABASE__URL", "sqlite://outbox.db")
        // Nobody is there, and so nobody gets the lease.
        .env("OUTBOX_LEASE__URL", "redis://127.0.0.1:1")
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let all_are_sent = async {
        let state = [Name::Messages, Name::Lag, Name::Ready];
        while !state.iter().all(|name| collector.metrics().iter().any(|sent| sent == name.as_str())) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), all_are_sent).await.unwrap();
    replica.kill().await.unwrap();
}
