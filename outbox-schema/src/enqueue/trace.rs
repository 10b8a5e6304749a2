//! The W3C trace context of the request that enqueues a message. The row keeps it, so that the attempts, which other
//! processes make later, belong to the same trace.

/// The longest `tracestate` that is kept, in bytes: what <https://www.w3.org/TR/trace-context/#tracestate-limits> asks
/// programs to propagate at least. A longer one is left out, and `traceparent` is kept.
pub const TRACESTATE_BYTES: usize = 512;

/// A W3C trace context as text: the columns of the row, and the headers of an HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// `00-<trace id>-<span id>-<flags>`.
    pub traceparent: String,
    /// The vendor part of the trace context.
    pub tracestate: Option<String>,
}

/// The trace context of the current `tracing` span, or else of the current OpenTelemetry context. None outside of any
/// trace, and always none without the feature `opentelemetry`.
///
/// The application must use the same releases of `opentelemetry` (0.33) and `tracing-opentelemetry` (0.34) as this
/// crate. With other releases its span is not found; then set the message's trace context by hand.
pub fn current() -> Option<TraceContext> {
    current_context()
}

#[cfg(not(feature = "opentelemetry"))]
fn current_context() -> Option<TraceContext> {
    None
}

#[cfg(feature = "opentelemetry")]
fn current_context() -> Option<TraceContext> {
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    TraceContext::of(&tracing::Span::current().context())
        .or_else(|| TraceContext::of(&opentelemetry::Context::current()))
}

#[cfg(feature = "opentelemetry")]
impl TraceContext {
    /// The text form of the span in `context`, if there is a valid one.
    pub fn of(context: &opentelemetry::Context) -> Option<Self> {
        use opentelemetry::trace::{TraceContextExt, TraceFlags};

        let span = context.span();
        let span = span.span_context();
        if !span.is_valid() {
            return None;
        }
        let flags = span.trace_flags() & TraceFlags::SAMPLED;
        let tracestate = span.trace_state().header();
        Some(Self {
            traceparent: format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()),
            tracestate: (!tracestate.is_empty() && tracestate.len() <= TRACESTATE_BYTES).then_some(tracestate),
        })
    }
}

#[cfg(all(test, feature = "opentelemetry"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider as _,
    };
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    fn remote(tracestate: &str) -> opentelemetry::Context {
        opentelemetry::Context::new().with_remote_span_context(SpanContext::new(
            TraceId::from(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128),
            SpanId::from(0x00f0_67aa_0ba9_02b7_u64),
            TraceFlags::SAMPLED,
            true,
            tracestate.parse::<TraceState>().unwrap(),
        ))
    }

    #[test]
    fn a_context_is_written_as_the_w3c_says() {
        let context = TraceContext::of(&remote("vendor=1"));
        let expected = TraceContext {
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01".to_owned(),
            tracestate: Some("vendor=1".to_owned()),
        };
        assert_eq!(context, Some(expected));
    }

    #[test]
    fn a_tracestate_that_is_too_long_is_left_out_and_the_parent_is_kept() {
        let long = format!("a={},b={}", "x".repeat(256), "y".repeat(256));
        let context = TraceContext::of(&remote(&long));
        assert!(context.is_some_and(|context| context.tracestate.is_none()));
    }

    #[test]
    fn outside_of_any_trace_there_is_no_context() {
        assert_eq!(current(), None);
    }

    #[test]
    fn the_current_tracing_span_is_found() {
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("a request of the application");
            let _entered = span.enter();
            let found = current();
            assert!(found.is_some_and(|context| context.traceparent.ends_with("-01")));
        });
    }

    #[test]
    fn without_a_tracing_span_the_current_opentelemetry_context_counts() {
        let _attached = remote("").attach();
        let found = current();
        assert!(found.is_some_and(|context| context.traceparent.contains("0af7651916cd43dd8448eb211c80319c")));
    }
}
