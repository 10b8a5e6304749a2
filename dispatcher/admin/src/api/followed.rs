//! Changes of many messages that a client follows: an answer in lines of JSON, the first before anything is changed.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use outbox_desk::{Author, ByHand, Change, Ordered, Progress, UNWATCHED};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{ApiState, PREFIX, Problem};

/// The media type that a client accepts in order to follow a change. <https://github.com/ndjson/ndjson-spec>
pub const LINES: &str = "application/x-ndjson";

/// A line of such an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line<T> {
    /// The progress of the change.
    Progress(Progress),
    /// The result, which is the last line.
    Done(T),
    /// The change failed, and this is the last line. What was done before stays.
    Problem(Problem),
}

/// The turn of a request among those that change something at once. A change that is followed keeps it to its end, which is
/// after the head of its answer.
#[derive(Debug, Clone)]
pub(crate) struct Turn(#[expect(dead_code, reason = "it is held, not read")] pub(crate) Arc<OwnedSemaphorePermit>);

/// How a client wants to be answered about a change.
#[derive(Debug)]
pub(super) struct Wish {
    in_lines: bool,
    /// Whether the client waits for no end (`Prefer: respond-async`, RFC 7240).
    later: bool,
    turn: Option<Turn>,
}

impl<S: Send + Sync> FromRequestParts<S> for Wish {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let accepted = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let preferred = parts.headers.get_all("prefer").iter().filter_map(|preferred| preferred.to_str().ok());
        let later = preferred.flat_map(|preferred| preferred.split(',')).any(|one| one.trim() == "respond-async");
        Ok(Self { in_lines: accepted == Some(LINES), later, turn: parts.extensions.get::<Turn>().cloned() })
    }
}

/// Makes a change, and answers with what it did, or where the client accepts [`LINES`], with lines while it goes on. A client that
/// goes away ends the change after its present batch. A client that waits for no end is told where the operation is found.
pub(super) async fn answer(
    Wish { in_lines, later, turn }: Wish,
    api_state: ApiState,
    change: Change,
    author: Author,
) -> Result<Response, Problem> {
    if later {
        return match outbox_desk::begin(&api_state.database, &change, &author, Duration::ZERO).await? {
            Ordered::Over(done) => Ok(Json(done).into_response()),
            Ordered::Begun(id) => begun(&api_state, id).await,
        };
    }
    if !in_lines {
        return Ok(Json(api_state.database.apply(&change, &author, UNWATCHED).await?).into_response());
    }
    let (into, lines) = mpsc::unbounded_channel();
    let told = into.clone();
    let follower = move |progress| match told.send(line(&Line::<()>::Progress(progress))) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    tokio::spawn(async move {
        let last = match api_state.database.apply(&change, &author, &follower).await {
            Ok(done) => line(&Line::Done(done)),
            Err(error) => line(&Line::<()>::Problem(error.into())),
        };
        // A client that went away reads no last line.
        let _ = into.send(last);
        drop(turn);
    });
    let body = stream::unfold(lines, async |mut lines: mpsc::UnboundedReceiver<String>| {
        Some((Ok::<_, Infallible>(lines.recv().await?), lines))
    });
    Ok(([(header::CONTENT_TYPE, LINES)], Body::from_stream(body)).into_response())
}

/// Tells a client where the operation is found that it ordered.
async fn begun(api_state: &ApiState, id: i64) -> Result<Response, Problem> {
    let operation = outbox_desk::operation(&api_state.database, id).await?.ok_or_else(|| Problem::no_operation(id))?;
    let location = [(header::LOCATION, format!("{PREFIX}/operations/{id}"))];
    Ok((StatusCode::ACCEPTED, location, Json(operation)).into_response())
}

fn line<T: Serialize>(line: &Line<T>) -> String {
    serde_json::to_string(line).unwrap_or_default() + "\n"
}
