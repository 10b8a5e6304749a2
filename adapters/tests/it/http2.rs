//! HTTP/2 over TLS: chosen by ALPN, and what its refusals prove.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use h2::Reason;
use h2::server::{Connection, SendResponse};
use hyper::body::Bytes;
use outbox_adapters::Adapter;
use outbox_adapters::http::HttpChannel;
use outbox_schema::Outcome;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;

use crate::http::{channel, delivery, trusting};
use crate::stand_in::tls_acceptor;

type Server = Connection<TlsStream<TcpStream>, Bytes>;

/// Serves one connection after the other; `answer` decides about each request.
async fn served(answer: impl Fn(SendResponse<Bytes>, &mut Server) + Send + Sync + 'static) -> (HttpChannel, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
            let mut server = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_request, respond))) = server.accept().await {
                answer(respond, &mut server);
            }
        }
    });
    (channel(&trusting(), Duration::from_secs(20), true), format!("https://localhost:{port}/"))
}

/// Refuses the request, and goes away in good order.
fn refuse(mut respond: SendResponse<Bytes>, server: &mut Server) {
    respond.send_reset(Reason::REFUSED_STREAM);
    server.graceful_shutdown();
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_offered() {
    let (adapter, target) = served(|mut respond, _| {
        respond.send_response(hyper::Response::new(()), true).unwrap();
    })
    .await;
    for _ in 0..2 {
        let answer = adapter.deliver(delivery(&target)).await;
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
}

#[tokio::test]
async fn many_requests_at_once_share_one_http2_connection() {
    // The server takes no second connection beside the first: a request that asked for one would wait for it in vain.
    let (adapter, target) = served(|mut respond, _| {
        respond.send_response(hyper::Response::new(()), true).unwrap();
    })
    .await;
    let first = adapter.deliver(delivery(&target)).await;
    assert_eq!(first.outcome, Outcome::Delivered { receipt: None }, "{first:?}");
    let others = (0..50).map(|_| adapter.deliver(delivery(&target)));
    for answer in futures_util::future::join_all(others).await {
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
}

#[tokio::test]
async fn a_refused_stream_was_not_processed_and_is_retried_even_at_most_once() {
    let (adapter, target) = served(refuse).await;
    let answer = adapter.deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{answer:?}");
}

#[tokio::test]
async fn what_one_connection_refused_unread_goes_over_another_within_the_attempt() {
    let refused = AtomicBool::new(false);
    let (adapter, target) = served(move |mut respond, server| {
        if refused.swap(true, Ordering::SeqCst) {
            respond.send_response(hyper::Response::new(()), true).unwrap();
        } else {
            refuse(respond, server);
        }
    })
    .await;
    let answer = adapter.deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
}

#[tokio::test]
async fn any_other_reset_is_in_doubt() {
    let (adapter, target) = served(|mut respond, _| respond.send_reset(Reason::INTERNAL_ERROR)).await;
    let answer = adapter.deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::InDoubt, "{answer:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_under_a_request_is_in_doubt() {
    let (adapter, target) = served(|_respond, server| server.abrupt_shutdown(Reason::INTERNAL_ERROR)).await;
    let answer = adapter.deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::InDoubt, "{answer:?}");
}

#[tokio::test]
async fn a_request_that_waited_for_its_turn_is_in_doubt_because_its_head_may_still_come() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let heads = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
        let mut builder = h2::server::Builder::new();
        let mut server: Server = builder.max_concurrent_streams(1).handshake(stream).await.unwrap();
        // Neither is answered: the first makes room by being given up.
        let mut unanswered = Vec::new();
        while unanswered.len() < 2 {
            unanswered.push(server.accept().await.unwrap().unwrap());
        }
    });
    let adapter = channel(&trusting(), Duration::from_secs(1), true);
    let later = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        adapter.deliver(delivery(&target)).await
    };
    let (one, other) = tokio::join!(adapter.deliver(delivery(&target)), later);
    assert_eq!((one.outcome, other.outcome), (Outcome::InDoubt, Outcome::InDoubt));
    heads.await.unwrap();
}
