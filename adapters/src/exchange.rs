//! One request and its answer, within one deadline; and what is known where no answer came.

use std::error::Error;
use std::time::Duration;

use outbox_schema::{DeadReason, Outcome};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use reqwest::{Client, Request, Response, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::destination::{Answer, EXCERPT_BYTES, RESPONSE_BYTES};
use crate::network::Forbidden;

/// Why there is no answer, in words, by what it proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Not sent, and never to be: the address is not for this channel, or the URL cannot be requested.
    Impossible(String),
    /// Provably not sent: the name does not resolve, nobody listens, or TLS failed.
    NotSent(String),
    /// Provably not processed, on a connection that had been made: another one may take it at once.
    Refused(String),
    /// It was, or may have been, written.
    InDoubt(String),
}

impl NoAnswer {
    /// The same, but without a doubt where the body is known as `unsent`: nothing can have been processed.
    pub(crate) fn unless_unsent(self, unsent: bool) -> Self {
        match self {
            Self::InDoubt(error) if unsent => Self::Refused(error),
            Self::Impossible(_) | Self::NotSent(_) | Self::Refused(_) | Self::InDoubt(_) => self,
        }
    }

    /// What becomes of the message, where a retry waits for `floor`.
    pub(crate) fn into_answer(self, floor: Option<Duration>) -> Answer {
        match self {
            Self::Impossible(error) => Answer::failed(Outcome::Dead { reason: DeadReason::Permanent }, error),
            Self::NotSent(error) | Self::Refused(error) => Answer::failed(Outcome::Retry { not_before: floor }, error),
            Self::InDoubt(error) => Answer::failed(Outcome::InDoubt, error),
        }
    }
}

/// Sends `request` to the origin `to` and waits for the status and the headers of its answer.
///
/// # Cancel safety
/// Dropping it leaves the request in doubt.
pub(crate) async fn send(client: &Client, request: Request, to: &str, deadline: Instant) -> Result<Response, NoAnswer> {
    let began = Instant::now();
    match timeout_at(deadline, client.execute(request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(no_answer(&error, to)),
        Err(_) => Err(timed_out(to, began)),
    }
}

/// What is known of a request that was sent at `began` and given up.
pub(crate) fn timed_out(to: &str, began: Instant) -> NoAnswer {
    let waited = began.elapsed().as_secs_f64();
    NoAnswer::InDoubt(format!("{to} did not answer within {waited:.1} s: it may have accepted the message"))
}

fn no_answer(error: &reqwest::Error, to: &str) -> NoAnswer {
    if let Some(forbidden) = causes(error).find_map(|cause| cause.downcast_ref::<Forbidden>()) {
        return NoAnswer::Impossible(forbidden.to_string());
    }
    // The innermost cause says it best, and holds no URL.
    let cause = causes(error).last().map_or_else(|| "unknown cause".to_owned(), ToString::to_string);
    if error.is_builder() {
        NoAnswer::Impossible(format!("the target at {to} cannot be requested: {cause}"))
    } else if error.is_dns() {
        NoAnswer::NotSent(format!("the name of {to} cannot be resolved: {cause}"))
    } else if error.is_connect() {
        NoAnswer::NotSent(format!("cannot connect to {to}: {cause}"))
    } else {
        unanswered(error.source(), to)
    }
}

/// Why a request has no answer that had been given to a connection.
pub(crate) fn unanswered(error: Option<&(dyn Error + 'static)>, to: &str) -> NoAnswer {
    let chain = || std::iter::successors(error, |cause| (**cause).source());
    let cause = chain().last().map_or_else(|| "unknown cause".to_owned(), ToString::to_string);
    if chain().any(refused_unread) {
        NoAnswer::Refused(format!("{to} closed the connection before it took the request: {cause}"))
    } else {
        NoAnswer::InDoubt(format!("the connection to {to} was lost before the answer came: {cause}"))
    }
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (**cause).source())
}

/// Proof that the request was not processed: hyper had not begun to write it, as the connection had closed before, or
/// the server refused its HTTP/2 stream (RFC 9113, 8.7) or went away before it (6.8).
fn refused_unread(cause: &(dyn Error + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_canceled() || error.is_closed();
    }
    cause.downcast_ref::<h2::Error>().is_some_and(|error| {
        let graceful = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
        let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (graceful || refused)
    })
}

/// An answer, read as far as it is wanted.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// At most [`RESPONSE_BYTES`], and only what came before the deadline.
    pub(crate) body: Vec<u8>,
}

/// Reads the body up to the cap and the deadline; a body that does not come whole is as much as did come.
/// One that is read to its end leaves its connection to the next request; else the connection is dropped.
pub(crate) async fn read(mut response: Response, deadline: Instant) -> Read {
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await {
        let room = RESPONSE_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            break;
        }
    }
    Read { status, headers, body }
}

/// Reads away the rest of an answer whose body nobody wants, so that its connection can be used again; gives up,
/// and the connection with it, where that takes too long or too much.
pub(crate) async fn drain(mut response: Response, deadline: Instant) {
    /// A new connection costs less than waiting longer.
    const PATIENCE: Duration = Duration::from_secs(1);
    if response.content_length().is_some_and(|length| length > RESPONSE_BYTES as u64) {
        return;
    }
    let deadline = deadline.min(Instant::now() + PATIENCE);
    let mut drained = 0;
    while let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await {
        drained += chunk.len();
        if drained > RESPONSE_BYTES {
            return;
        }
    }
}

impl Read {
    /// The beginning of the body for people: at most [`EXCERPT_BYTES`] of UTF-8 on one line, without control
    /// characters and without any of `secrets`, which some servers echo. None where there is nothing to read.
    pub(crate) fn excerpt(&self, secrets: &[&str]) -> Option<String> {
        let readable = self.headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
        if self.body.is_empty() || !readable {
            return None;
        }
        let mut text = String::from_utf8_lossy(&self.body).into_owned();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "***");
        }
        let mut text = text.replace(char::is_control, " ");
        text.truncate(text.floor_char_boundary(EXCERPT_BYTES));
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(body: &[u8], secrets: &[&str]) -> Option<String> {
        Read { status: StatusCode::OK, headers: HeaderMap::new(), body: body.to_vec() }.excerpt(secrets)
    }

    #[test]
    fn an_excerpt_is_short_valid_and_without_control_characters_or_secrets() {
        assert_eq!(excerpt(b"", &[]), None);
        assert_eq!(excerpt(b"a\0b\r\n\x1b[31mc", &[]).as_deref(), Some("a b   [31mc"));
        assert_eq!(excerpt(b"you sent Bearer s3cret", &["s3cret", ""]).as_deref(), Some("you sent Bearer ***"));
        assert_eq!(excerpt(b"\xff\xfe", &[]).as_deref(), Some("\u{fffd}\u{fffd}"));
        let long = excerpt("ä".repeat(EXCERPT_BYTES).as_bytes(), &[]);
        assert_eq!(long.map(|text| text.len()), Some(EXCERPT_BYTES));
        let odd = excerpt(format!("x{}", "ä".repeat(EXCERPT_BYTES)).as_bytes(), &[]);
        assert_eq!(odd.map(|text| text.len()), Some(EXCERPT_BYTES - 1));
    }
}
