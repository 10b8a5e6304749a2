//! What is known about a request without an answer, and the reading of answers within their deadline.

use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::Body;
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use tokio::time::{Instant, timeout_at};

use super::no_answer::NoAnswer;
use crate::adapter::{EXCERPT_BYTES, RESPONSE_BYTES};
use crate::transport::network::tls::is_refused_certificate;

/// What a server may do with a request whose body never arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadAlone {
    /// The server does nothing: the message is in the body.
    MeansNothing,
    /// The server may act on the URL and the headers.
    MayBeActedUpon,
}

/// Why a request that was given to a connection has no answer. Where `unsent`, its body was never begun. Its head may
/// have been: HTTP/2 sends that as soon as there is room for one more stream.
pub(crate) fn unanswered(error: &hyper::Error, to: &str, unsent: bool, head_alone: HeadAlone) -> NoAnswer {
    let chain = || std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| (**cause).source());
    let cause = chain().last().map_or_else(|| "unknown cause".to_owned(), ToString::to_string);
    let gone_away = chain().any(went_away);
    if chain().filter_map(|cause| cause.downcast_ref()).any(is_refused_certificate) {
        return NoAnswer::NotSent(format!("{to} ended the handshake: {cause}"));
    }
    let refused = chain().any(refused_unread)
        || match head_alone {
            HeadAlone::MeansNothing => unsent || gone_away,
            // Where the body was begun, its stream was one that the server had not taken (RFC 9113, 6.8). Otherwise that
            // is not known.
            HeadAlone::MayBeActedUpon => gone_away && !unsent,
        };
    if refused {
        NoAnswer::Refused(format!("{to} closed the connection before it took the request: {cause}"))
    } else {
        NoAnswer::InDoubt(format!("the connection to {to} was lost before the answer came: {cause}"))
    }
}

/// Why a connection of HTTP/2 took no request: its server ended it before it said that it takes any.
pub(crate) fn ungreeted(to: &str, error: Option<&std::io::Error>) -> NoAnswer {
    let cause = error.map_or_else(|| "unknown cause".to_owned(), ToString::to_string);
    match error {
        Some(error) if is_refused_certificate(error) => NoAnswer::NotSent(format!("{to} ended the handshake: {cause}")),
        Some(_) | None => NoAnswer::Refused(format!("{to} closed the connection before it took a request: {cause}")),
    }
}

/// Whether the request was provably not processed. Either hyper had not begun to write it, as the connection had closed
/// before. Or the server refused its HTTP/2 stream (RFC 9113, 8.7).
fn refused_unread(cause: &(dyn Error + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_canceled() || error.is_closed();
    }
    cause.downcast_ref::<h2::Error>().is_some_and(|error| {
        error.is_remote() && error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)
    })
}

/// Whether the server went away in good order, and said which streams it has taken.
fn went_away(cause: &(dyn Error + 'static)) -> bool {
    cause
        .downcast_ref::<h2::Error>()
        .is_some_and(|error| error.is_remote() && error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
}

/// An answer, read as far as needed.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body: at most [`RESPONSE_BYTES`], and only what arrived before the deadline.
    pub(crate) body: Vec<u8>,
}

/// Reads a body up to the cap and the deadline. True where that was the whole body.
pub(crate) async fn read(body: &mut (impl Body<Data = Bytes> + Unpin), deadline: Instant) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    loop {
        match next(body, deadline).await {
            Next::Part(part) => {
                let room = RESPONSE_BYTES - bytes.len();
                bytes.extend_from_slice(&part[..part.len().min(room)]);
                if part.len() > room {
                    return (bytes, false);
                }
            }
            Next::End => return (bytes, true),
            Next::Lost => return (bytes, false),
        }
    }
}

/// Reads a body and throws it away. True where it came to its end; false where that takes too long or the body is too
/// large.
pub(crate) async fn drain(body: &mut (impl Body<Data = Bytes> + Unpin), deadline: Instant) -> bool {
    /// How long that may take. A new connection costs less than a longer wait.
    const PATIENCE: Duration = Duration::from_secs(1);
    if body.size_hint().lower() > RESPONSE_BYTES as u64 {
        return false;
    }
    let deadline = deadline.min(Instant::now() + PATIENCE);
    let mut drained = 0;
    loop {
        match next(body, deadline).await {
            Next::Part(part) => drained += part.len(),
            Next::End => return true,
            Next::Lost => return false,
        }
        if drained > RESPONSE_BYTES {
            return false;
        }
    }
}

/// The next part of a body.
enum Next {
    Part(Bytes),
    End,
    /// The end of the body did not arrive, and will not before the deadline.
    Lost,
}

async fn next(body: &mut (impl Body<Data = Bytes> + Unpin), deadline: Instant) -> Next {
    if body.is_end_stream() {
        return Next::End;
    }
    let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
    match timeout_at(deadline, frame).await {
        // Trailers have no meaning here.
        Ok(Some(Ok(frame))) => Next::Part(frame.into_data().unwrap_or_default()),
        Ok(None) => Next::End,
        Ok(Some(Err(_))) | Err(_) => Next::Lost,
    }
}

impl Read {
    /// The beginning of the body for people: at most [`EXCERPT_BYTES`] of UTF-8 on one line, without control characters
    /// and without any of `secrets`, which some servers echo. None where there is nothing to show.
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
    #![allow(clippy::unwrap_used)]
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Reads an answer with these headers and this body, which comes in small chunks. Says whether that was all of it.
    async fn read_of(headers: &str, body: &[u8]) -> (Read, bool) {
        let mut answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{headers}\r\n").into_bytes();
        for chunk in body.chunks(100) {
            answer.extend([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
        }
        answer.extend(b"0\r\n\r\n");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            assert!(server.read(&mut [0; 1024]).await.unwrap() > 0);
            // A reader that has enough hangs up.
            let _ = server.write_all(&answer).await;
        });
        let (mut sender, connection) = http1::handshake(TokioIo::new(wire)).await.unwrap();
        tokio::spawn(connection);
        let response = sender.send_request(hyper::Request::new(String::new())).await.unwrap();
        let (head, mut body) = response.into_parts();
        let (bytes, whole) = read(&mut body, Instant::now() + Duration::from_secs(20)).await;
        (Read { status: head.status, headers: head.headers, body: bytes }, whole)
    }

    #[tokio::test]
    async fn of_a_body_as_much_is_read_as_the_cap_allows_not_counting_how_it_is_framed() {
        assert_eq!(RESPONSE_BYTES, 65_536);
        for (length, kept) in [
            (RESPONSE_BYTES - 1, RESPONSE_BYTES - 1),
            (RESPONSE_BYTES, RESPONSE_BYTES),
            (RESPONSE_BYTES + 1, RESPONSE_BYTES),
            (3 * RESPONSE_BYTES, RESPONSE_BYTES),
        ] {
            let body: Vec<u8> = (0..251).cycle().take(length).collect();
            let (read, whole) = read_of("", &body).await;
            assert!(read.body == body[..kept], "{} bytes of {length}", read.body.len());
            assert_eq!(whole, length == kept, "{length}");
        }
    }

    /// No request asks for compression, and some servers compress all the same.
    #[tokio::test]
    async fn a_compressed_body_is_not_unpacked_and_makes_no_excerpt() {
        // `printf 'as it is' | gzip -n`
        let packed = b"\x1f\x8b\x08\0\0\0\0\0\x02\xffK,V\xc8,Q\xc8,\x06\0\xb3$N\x96\x08\0\0\0";
        let (read, whole) = read_of("content-encoding: gzip\r\n", packed).await;
        assert!(whole && read.body == packed && read.excerpt(&[]).is_none(), "{read:?}");
        let (read, _) = read_of("content-encoding: identity\r\n", b"as it is").await;
        assert_eq!(read.excerpt(&[]).as_deref(), Some("as it is"));
    }

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
