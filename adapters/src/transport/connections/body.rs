//! A body that can be taken back until it is sent. FCM can do nothing with a request whose body it never got. So such a
//! request is not in doubt, whatever became of its connection. Of other servers it is only known that they got no more
//! than the head.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};

/// The bytes of one request. The first caller gets them: the connection that sends them, or the sender that takes them
/// back.
#[derive(Clone)]
pub(super) struct Offer(Arc<Mutex<Option<Bytes>>>);

/// The body that the connection sends.
pub(super) struct Body {
    offer: Offer,
    /// Bytes that are not sent yet.
    left: usize,
}

/// The sender took the bytes back.
#[derive(Debug, thiserror::Error)]
#[error("the request was given up before it was sent")]
pub(super) struct TakenBack;

impl Offer {
    pub(super) fn new(bytes: Bytes) -> Self {
        // A connection never asks for an empty body, so nothing would be known about it.
        Self(Arc::new(Mutex::new(Some(bytes).filter(|bytes| !bytes.is_empty()))))
    }

    pub(super) fn body(&self) -> Body {
        Body { offer: self.clone(), left: self.bytes().as_ref().map_or(0, Bytes::len) }
    }

    /// Takes the bytes back. True where the connection has not asked for them, and will not get them any more.
    pub(super) fn take_back(&self) -> bool {
        self.bytes().take().is_some()
    }

    fn bytes(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.0.lock()
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = TakenBack;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, TakenBack>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left = 0;
        let bytes = self.offer.bytes().take();
        Poll::Ready(Some(bytes.map(Frame::data).ok_or(TakenBack)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::pin::pin;

    use hyper::body::Body as _;

    use super::*;

    const BYTES: Bytes = Bytes::from_static(b"{}");

    fn poll(body: Pin<&mut Body>) -> Poll<Option<Result<Frame<Bytes>, TakenBack>>> {
        body.poll_frame(&mut Context::from_waker(std::task::Waker::noop()))
    }

    #[test]
    fn a_body_is_sent_or_taken_back_and_never_both() {
        let sent = Offer::new(BYTES);
        let mut body = pin!(sent.body());
        assert_eq!((body.is_end_stream(), body.size_hint().exact()), (false, Some(2)));
        let Poll::Ready(Some(Ok(frame))) = poll(body.as_mut()) else { panic!("no bytes") };
        assert_eq!(frame.into_data().unwrap(), BYTES);
        assert!(body.is_end_stream());
        assert!(matches!(poll(body), Poll::Ready(None)));
        assert!(!sent.take_back());

        let taken_back = Offer::new(BYTES);
        let body = pin!(taken_back.body());
        assert!(taken_back.take_back());
        assert!(matches!(poll(body), Poll::Ready(Some(Err(TakenBack)))));
        assert!(!taken_back.take_back());
    }

    #[test]
    fn a_body_without_bytes_is_never_known_to_be_unsent() {
        let empty = Offer::new(Bytes::new());
        assert!(empty.body().is_end_stream());
        assert!(!empty.take_back());
    }
}
