//! What stands before the routes: the bearer token, and the patience with an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a client must show; none: anybody may ask.
#[derive(Clone)]
pub(super) struct Token(Option<Arc<str>>);

impl Token {
    pub(super) fn new(token: Option<&str>) -> Self {
        Self(token.map(Arc::from))
    }

    /// Whether `request` shows the token. The time it takes tells at most the token's length.
    fn admits(&self, request: &Request) -> bool {
        let Some(token) = &self.0 else { return true };
        let shown = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        shown.and_then(credentials).is_some_and(|shown| shown.ct_eq(token.as_bytes()).into())
    }
}

/// What follows `Bearer`, a word in which case does not matter (RFC 7235, 2.1).
fn credentials(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, credentials) = authorization.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(credentials)
}

pub(super) async fn require_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    if token.admits(&request) {
        return next.run(request).await;
    }
    let words = "a token is needed: send admin.token as \"Authorization: Bearer …\"\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], words).into_response()
}

pub(super) async fn limit_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(PATIENCE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, "the answer took too long\n").into_response(),
    }
}
