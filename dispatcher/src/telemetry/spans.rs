//! The spans of an attempt. Their parent is the request that enqueued the message, which the row remembers. The headers
//! of the attempt in turn tell the receiver the span of the request.
//!
//! Without an OTLP endpoint the spans are disabled: making one costs a comparison, and the row's own trace context goes
//! out unchanged.

use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use outbox_adapters::Answer;
use outbox_schema::TraceContext;
use outbox_store::{Epoch, Message, Outcome};
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The target of these spans, for log filters.
pub const TARGET: &str = "outbox::trace";

/// The span of enqueuing this many messages from the command line, which the rows remember.
pub fn enqueue_span(messages: usize) -> Span {
    tracing::info_span!(target: TARGET, "enqueue", otel.kind = "producer", messages)
}

/// The span of attempt `number` (1 for the first) to deliver `message` under `epoch`.
pub fn attempt_span(message: &Message, number: u32, epoch: Epoch) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        parent: None,
        "attempt",
        otel.kind = "consumer",
        otel.status_code = Empty,
        otel.status_description = Empty,
        message_id = message.id,
        channel = %message.channel,
        destination = %message.destination,
        attempt = number,
        epoch = epoch.0,
        outcome = Empty,
    );
    if !span.is_disabled() {
        let parent = TraceContextPropagator::new().extract_with_context(&opentelemetry::Context::new(), &Row(message));
        if parent.span().span_context().is_valid() {
            // This fails only where no layer traces: then there is no trace to join.
            let _ = span.set_parent(parent);
        }
    }
    span
}

/// The span of the HTTP request of `attempt`: enter it while the adapter delivers.
pub fn request_span(attempt: &Span) -> Span {
    tracing::info_span!(
        target: TARGET,
        parent: attempt,
        "request",
        otel.kind = "client",
        otel.status_code = Empty,
        http.response.status_code = Empty,
    )
}

/// The `traceparent` and `tracestate` that go out with `message`. They are those of `span`, whose child the receiver
/// becomes, or else the row's own.
pub fn inject(span: &Span, message: &Message) -> (Option<String>, Option<String>) {
    let own = if span.is_disabled() { None } else { TraceContext::of(&span.context()) };
    match own {
        Some(context) => (Some(context.traceparent), context.tracestate),
        None => (message.traceparent.clone(), message.tracestate.clone()),
    }
}

/// Writes the result into the spans of an attempt and of its request.
pub fn record(attempt: &Span, request: &Span, answer: &Answer) {
    attempt.record("outcome", answer.outcome.as_str());
    request.record("http.response.status_code", answer.status_code);
    match answer.outcome {
        Outcome::Delivered { .. } | Outcome::Unsent => {}
        Outcome::Retry { .. }
        | Outcome::Refused { .. }
        | Outcome::Dead { .. }
        | Outcome::DeadTarget
        | Outcome::Defer { .. }
        | Outcome::InDoubt => {
            attempt.record("otel.status_code", "ERROR");
            attempt.record("otel.status_description", answer.error.as_deref());
            request.record("otel.status_code", "ERROR");
        }
    }
}

/// The trace context of a row, read as if it were headers.
struct Row<'a>(&'a Message);

impl Extractor for Row<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.0.traceparent.as_deref(),
            "tracestate" => self.0.tracestate.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}
