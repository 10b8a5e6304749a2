//! Guards before the routes: the bearer tokens, and the time limit of an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use outbox_adapters::http::CLIENT_HEADER;
use tokio::sync::Semaphore;

use crate::access::{ANOTHER_NAME, Role, Tokens, names_this_machine};
use crate::api::{Kind, Problem, Turn};
use outbox_dispatcher::reloadable::Reloadable;

pub(super) async fn require_metrics(
    State(tokens): State<Reloadable<Tokens>>,
    request: Request,
    next: Next,
) -> Response {
    require(&tokens.current(), Role::Metrics, request, next).await
}

pub(super) async fn require_read(State(tokens): State<Reloadable<Tokens>>, request: Request, next: Next) -> Response {
    require(&tokens.current(), Role::Read, request, next).await
}

pub(super) async fn require_retry(State(tokens): State<Reloadable<Tokens>>, request: Request, next: Next) -> Response {
    require(&tokens.current(), Role::Retry, request, next).await
}

pub(super) async fn require_operate(
    State(tokens): State<Reloadable<Tokens>>,
    request: Request,
    next: Next,
) -> Response {
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

/// What a client hears whose token is missing or wrong.
fn needs(headers: &HeaderMap) -> String {
    let found = if headers.contains_key(header::AUTHORIZATION) { "this one is none of this outbox; " } else { "" };
    format!(
        "{found}send admin.token, admin.retry_token or admin.read_token as \"Authorization: Bearer …\", which outbox --url takes \
         from the settings or from OUTBOX_ADMIN__TOKEN"
    )
}

async fn require(tokens: &Tokens, needed: Role, mut request: Request, next: Next) -> Response {
    let refused = match tokens.role(request.headers()) {
        None => Problem::new(Kind::NoToken, needs(request.headers())),
        Some(role) if role < needed => Problem::new(Kind::NotAllowed, role.refused()),
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
