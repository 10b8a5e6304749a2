//! What an attempt sends and is answered, for people who try a channel out.

use std::time::Duration;

use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};

/// Records the requests of an attempt as they are sent, and the heads of their answers.
pub trait Recorder: Send + Sync {
    /// A request is about to be written to its connection.
    fn sent(&self, request: SeenRequest);

    /// An answer has begun to arrive.
    fn answered(&self, answer: SeenAnswer);
}

/// A request as it is sent. Its secrets are hidden.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SeenRequest {
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The protocol of the connection: `HTTP/1.1` or `HTTP/2`.
    pub protocol: &'static str,
    /// The headers, in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// The head of an answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SeenAnswer {
    /// The status code.
    pub status: u16,
    /// The headers, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The time from the request to this head, in milliseconds.
    pub after_ms: u64,
}

/// The text in place of a secret.
pub const HIDDEN: &str = "***";

impl SeenAnswer {
    pub(crate) fn new(status: u16, headers: &HeaderMap, after: Duration) -> Self {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Self { status, headers: seen(headers).collect(), after_ms }
    }
}

/// The headers of a request with a body of so many bytes.
pub(crate) fn seen_headers(headers: &HeaderMap, body_bytes: usize) -> Vec<(String, String)> {
    // The HTTP library adds it while it writes.
    let length = Some((CONTENT_LENGTH.as_str().to_owned(), body_bytes.to_string()));
    seen(headers).chain(length.filter(|_| !headers.contains_key(CONTENT_LENGTH))).collect()
}

fn seen(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    let shown = |(name, value): (&HeaderName, &HeaderValue)| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let text = if value.is_sensitive() { HIDDEN.to_owned() } else { text.into_owned() };
        (name.as_str().to_owned(), text)
    };
    headers.iter().map(shown)
}
