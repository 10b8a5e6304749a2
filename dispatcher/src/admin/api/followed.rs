//! Changes of many messages that a client follows: an answer in lines of JSON, the first before anything is changed.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use outbox_schema::desk::Progress;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::Problem;

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

/// Follows a change on behalf of a client.
pub(super) type Follower = Box<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

type Changing<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;

/// The turn of a request among those that change something at once. A change that is followed keeps it to its end, which is
/// after the head of its answer.
#[derive(Debug, Clone)]
pub(crate) struct Turn(#[expect(dead_code, reason = "it is held, not read")] pub(crate) Arc<OwnedSemaphorePermit>);

/// How a client wants to be answered about a change.
#[derive(Debug)]
pub(super) struct Wish {
    in_lines: bool,
    turn: Option<Turn>,
}

impl<S: Send + Sync> FromRequestParts<S> for Wish {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let accepted = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        Ok(Self { in_lines: accepted == Some(LINES), turn: parts.extensions.get::<Turn>().cloned() })
    }
}

/// Answers with the result of a change, or where the client accepts [`LINES`], with lines while it goes on. A client that goes
/// away ends the change after its present batch.
pub(super) async fn answer<T: Serialize + Send + 'static>(
    Wish { in_lines, turn }: Wish,
    change: impl FnOnce(Follower) -> Changing<T>,
) -> Result<Response, Problem> {
    if !in_lines {
        return Ok(Json(change(Box::new(|_| ControlFlow::Continue(()))).await?).into_response());
    }
    let (into, lines) = mpsc::unbounded_channel();
    let told = into.clone();
    let changing = change(Box::new(move |progress| match told.send(line(&Line::<T>::Progress(progress))) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }));
    tokio::spawn(async move {
        let last = match changing.await {
            Ok(done) => Line::Done(done),
            Err(problem) => Line::Problem(problem),
        };
        // A client that went away reads no last line.
        let _ = into.send(line(&last));
        drop(turn);
    });
    let body = stream::unfold(lines, async |mut lines: mpsc::UnboundedReceiver<String>| {
        Some((Ok::<_, Infallible>(lines.recv().await?), lines))
    });
    Ok(([(header::CONTENT_TYPE, LINES)], Body::from_stream(body)).into_response())
}

fn line<T: Serialize>(line: &Line<T>) -> String {
    serde_json::to_string(line).unwrap_or_default() + "\n"
}
