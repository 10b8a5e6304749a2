//! Guards before the routes: the bearer tokens, and the time limit of an answer.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use outbox_adapters::http::CLIENT_HEADER;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::ListenError;
use crate::admin::api::{Kind, Problem, Turn};
use crate::config::is_on_loopback;
use crate::in_force::InForce;

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Read the metrics.
    Metrics,
    /// Ask questions.
    Read,
    /// Ask questions and make changes.
    Operate,
}

/// The tokens that give a role. Without any token, every client that reaches the listener may do everything.
#[derive(Clone, Default)]
pub struct Tokens {
    /// `admin.token`: may ask and change.
    pub operate: Option<Arc<str>>,
    /// `admin.read_token`: may ask.
    pub read: Option<Arc<str>>,
    /// `admin.metrics_token`: may read the metrics.
    pub metrics: Option<Arc<str>>,
}

impl Tokens {
    /// Checks that the tokens are enough for a listener at this address.
    ///
    /// # Errors
    /// A token is empty, or there is none and other machines reach the listener.
    pub fn guard(&self, listen: SocketAddr) -> Result<(), ListenError> {
        if self.all().into_iter().flatten().any(|token| token.is_empty()) {
            return Err(ListenError::EmptyToken);
        }
        if !self.needed() && !is_on_loopback(listen) {
            return Err(ListenError::Exposed { listen });
        }
        Ok(())
    }

    /// Whether clients need a token.
    pub fn needed(&self) -> bool {
        self.all().into_iter().any(Option::is_some)
    }

    fn all(&self) -> [&Option<Arc<str>>; 3] {
        [&self.operate, &self.read, &self.metrics]
    }

    /// The role of the client that sends these headers.
    fn role(&self, headers: &HeaderMap) -> Option<Role> {
        if !self.needed() {
            return Some(Role::Operate);
        }
        self.role_of(headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).and_then(credentials)?)
    }

    /// The role that a text gives, where it is a token. The time that the comparison takes tells at most the length of a token.
    pub(crate) fn role_of(&self, shown: &[u8]) -> Option<Role> {
        let is = |token: &Option<Arc<str>>| token.as_ref().is_some_and(|token| shown.ct_eq(token.as_bytes()).into());
        // All are compared, whatever the first comparison says.
        match self.all().map(is) {
            [true, ..] => Some(Role::Operate),
            [_, true, _] => Some(Role::Read),
            [.., true] => Some(Role::Metrics),
            [false, false, false] => None,
        }
    }
}

/// Says which tokens are set. Their text stays out of logs.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("operate", &self.operate.is_some())
            .field("read", &self.read.is_some())
            .field("metrics", &self.metrics.is_some())
            .finish()
    }
}

/// What follows `Bearer`, a word in which case does not matter (RFC 7235, 2.1).
fn credentials(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, credentials) = authorization.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(credentials)
}

pub(super) async fn require_metrics(State(tokens): State<InForce<Tokens>>, request: Request, next: Next) -> Response {
    require(&tokens.current(), Role::Metrics, request, next).await
}

pub(super) async fn require_read(State(tokens): State<InForce<Tokens>>, request: Request, next: Next) -> Response {
    require(&tokens.current(), Role::Read, request, next).await
}

pub(super) async fn require_operate(State(tokens): State<InForce<Tokens>>, request: Request, next: Next) -> Response {
    require(&tokens.current(), Role::Operate, request, next).await
}

/// Refuses a change that could be a message of a channel, or of a page on the web: neither can send this header.
pub(super) async fn require_client(request: Request, next: Next) -> Response {
    if request.headers().contains_key(CLIENT_HEADER) {
        return next.run(request).await;
    }
    let advice =
        "changes need the header X-Outbox-Client, with any value: it tells a client from a message that was sent here";
    Problem::new(Kind::NotAllowed, advice).into_response()
}

/// Refuses a change with parameters in its address, where nobody reads them: it may be meant for a dry run.
pub(super) async fn refuse_parameters(request: Request, next: Next) -> Response {
    match request.uri().query() {
        None | Some("") => next.run(request).await,
        Some(_) => {
            let advice = "a change takes no parameters in its address: what it is to do stands in its body, and the address ending \
                          in /count says what it would do";
            Problem::new(Kind::BadRequest, advice).into_response()
        }
    }
}

/// What a client hears that may only read.
pub(crate) const ONLY_READS: &str = "admin.read_token only reads: changes need admin.token";

/// What a client without a token hears that asks by a name of the DNS.
pub(crate) const ANOTHER_NAME: &str =
    "without a token, ask by an IP address or as localhost: another name may be that of a page on the web";

/// What a client hears whose token is missing or wrong.
fn needs(headers: &HeaderMap) -> String {
    let found = if headers.contains_key(header::AUTHORIZATION) { "this one is none of this outbox; " } else { "" };
    format!(
        "{found}send admin.token or admin.read_token as \"Authorization: Bearer …\", which outbox --url takes from the settings \
         or from OUTBOX_ADMIN__TOKEN"
    )
}

async fn require(tokens: &Tokens, needed: Role, mut request: Request, next: Next) -> Response {
    let refused = match tokens.role(request.headers()) {
        None => Problem::new(Kind::NoToken, needs(request.headers())),
        Some(Role::Metrics) if needed > Role::Metrics => {
            Problem::new(Kind::NotAllowed, "admin.metrics_token is for /metrics alone: all else needs another token")
        }
        Some(role) if role < needed => Problem::new(Kind::NotAllowed, ONLY_READS),
        Some(_) if !tokens.needed() && !names_this_machine(request.headers()) => {
            Problem::new(Kind::NotAllowed, ANOTHER_NAME)
        }
        Some(role) => {
            request.extensions_mut().insert(role);
            return next.run(request).await;
        }
    };
    refused.into_response()
}

/// Whether a probe may be told more than its status code: what the database says, for example. A page on the web that
/// makes its own name resolve to this address may not.
pub(super) fn may_be_told(tokens: &Tokens, headers: &HeaderMap) -> bool {
    names_this_machine(headers) || tokens.needed() && tokens.role(headers) >= Some(Role::Read)
}

/// Whether a request without a token was meant for this address. A web page can make its own name resolve to loopback.
/// Only this header then tells its requests from those of a person.
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// How long an answer may take, and how many requests are worked on at once.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    limit: Duration,
    at_once: Arc<Semaphore>,
}

impl Patience {
    pub(super) fn new(limit: Duration, at_once: u32) -> Self {
        Self { limit, at_once: Arc::new(Semaphore::new(at_once as usize)) }
    }
}

pub(super) async fn be_patient(State(patience): State<Patience>, mut request: Request, next: Next) -> Response {
    let Patience { limit, at_once } = patience;
    let changes = request.method() != Method::GET;
    let answer = async move {
        // The semaphore is never closed.
        let turn = at_once.acquire_owned().await.ok().map(|turn| Turn(Arc::new(turn)));
        if let Some(turn) = &turn {
            request.extensions_mut().insert(turn.clone());
        }
        next.run(request).await
    };
    if changes {
        return tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
            let left =
                format!("not done within {limit:?}. What was committed stays so: look, and ask again for the rest");
            Problem::new(Kind::Busy, left).into_response()
        });
    }
    // In a task, so that what is only read keeps its turn until the database has answered, also when nobody waits for it any
    // more: a server goes on with a statement whose client has gone, and impatient clients must not give it more than
    // `at_once` to do.
    match tokio::time::timeout(limit, tokio::spawn(answer)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Problem::new(Kind::Busy, "this replica stops".to_owned()).into_response(),
        },
        Err(_) => Problem::new(Kind::Busy, format!("no answer within {limit:?}")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_in_no_debug_output() {
        let tokens = Tokens { operate: Some("s3cret".into()), read: Some("s3cret too".into()), metrics: None };
        let shown = format!("{tokens:?}");
        assert!(shown.contains("operate: true") && !shown.contains("s3cret"), "{shown}");
    }
}
