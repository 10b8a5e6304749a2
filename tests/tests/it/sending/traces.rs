//! A trace that reaches from the request that enqueued a message to the receiver.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use outbox_schema::{NewMessage, TraceContext};
use prost::Message as _;

use crate::outboxes;
use crate::program::Program;
use crate::sink::Sink;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const ENQUEUED_IN: &str = "00f067aa0ba902b7";

#[tokio::test]
async fn an_attempt_belongs_to_the_trace_of_the_request_that_enqueued_it() {
    for outbox in outboxes::each().await {
        let (sink, collector) = (Sink::start().await, Sink::start().await);
        let traceparent = format!("00-{TRACE}-{ENQUEUED_IN}-01");
        let context = TraceContext { traceparent, tracestate: Some("shop=1".to_owned()) };
        outbox.enqueue(&[NewMessage::http(sink.url("/")).trace_context(context)]).await;
        let settings = format!(
            "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n\
             [telemetry]\notlp_endpoint = \"{}\"\n",
            collector.url("")
        );
        Program::new(&outbox.test.url, &settings).deliver().await;

        let spans = spans(&collector);
        let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{spans:?}"));
        let (attempt, request) = (named("attempt"), named("request"));
        assert_eq!((hex(&attempt.trace_id), hex(&attempt.parent_span_id)), (TRACE.to_owned(), ENQUEUED_IN.to_owned()));
        assert_eq!(request.parent_span_id, attempt.span_id);
        let got = &sink.requests()[0].headers;
        assert_eq!(got["traceparent"], format!("00-{TRACE}-{}-01", hex(&request.span_id)));
        assert_eq!(got["tracestate"], "shop=1");
        let metrics = collector.requests().into_iter().find(|request| request.path == "/v1/metrics").unwrap();
        assert!(String::from_utf8_lossy(&metrics.body).contains("outbox_attempts_total"));
    }
}

fn spans(collector: &Sink) -> Vec<Span> {
    let traces = collector.requests().into_iter().filter(|request| request.path == "/v1/traces");
    let exports = traces.map(|request| ExportTraceServiceRequest::decode(request.body).unwrap());
    let scopes = exports.flat_map(|export| export.resource_spans).flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from_digit(digit.into(), 16).unwrap())
        .collect()
}
