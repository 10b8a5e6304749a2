//! A request to send.

use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use url::Url;

use crate::adapter::Permit;
use crate::recorder::Recorder;
use crate::setup::origin as origin_of;

/// A request to send.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) permit: Arc<dyn Permit>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
}

impl Request {
    /// The request as a command of `curl`. Where a secret belongs, it has `***`.
    pub(crate) fn as_curl(&self) -> String {
        let method = format!("curl -g -X {} {}", self.method, quoted(self.url.as_str()));
        let headers = self.headers.iter().map(|(name, value)| {
            let shown = if value.is_sensitive() { "***".into() } else { String::from_utf8_lossy(value.as_bytes()) };
            // An empty value would leave the header out.
            let header = if shown.is_empty() { format!("{name};") } else { format!("{name}: {shown}") };
            format!("-H {}", quoted(&header))
        });
        let body = format!("--data-raw {}", quoted(&String::from_utf8_lossy(&self.body)));
        iter::once(method).chain(headers).chain([body]).collect::<Vec<_>>().join(" \\\n  ")
    }
}

/// A text as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { method, url, .. } = self;
        f.debug_struct("Request").field("method", method).field("origin", &origin_of(url)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    #[test]
    fn a_request_is_a_command_without_its_secrets_and_runs_nothing_that_a_row_says() {
        let mut secret = HeaderValue::from_static("Bearer s3cret");
        secret.set_sensitive(true);
        let plain = HeaderValue::from_static("it's; $(id) `id`");
        let request = Request {
            method: Method::POST,
            url: Url::parse("https://shop.example/hooks?a='1'&b=[1-9]{c,d}").unwrap_or_else(|error| panic!("{error}")),
            headers: HeaderMap::from_iter([(AUTHORIZATION, secret), (hyper::header::USER_AGENT, plain)]),
            body: Bytes::from_static(b"{\"name\": \"O'Neill\"}"),
            permit: Arc::new(|| true),
            recorder: None,
        };
        let lines = [
            r"curl -g -X POST 'https://shop.example/hooks?a=%271%27&b=[1-9]{c,d}' \",
            r"  -H 'authorization: ***' \",
            r"  -H 'user-agent: it'\''s; $(id) `id`' \",
            r#"  --data-raw '{"name": "O'\''Neill"}'"#,
        ];
        assert_eq!(request.as_curl(), lines.join("\n"));
    }
}
