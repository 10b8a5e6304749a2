//! HTTP/2 over TLS: chosen by ALPN, and what its refusals prove.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use h2::Reason;
use h2::server::{Connection, SendResponse};
use hyper::body::Bytes;
use outbox_adapters::Adapter;
use outbox_adapters::http::{HttpChannel, Settings};
use outbox_store::Outcome;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;

use crate::fcm_connections::{first_request, next_request};
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

/// HTTP/2's way to say that a connection ends: GOAWAY names the last request that was taken (RFC 9113, 6.8).
#[tokio::test]
async fn what_a_server_that_goes_away_has_not_taken_goes_over_another_connection_even_at_most_once() {
    /// Empty SETTINGS; GOAWAY without an error, whose last stream is 1; and `:status: 200` for that stream, which ends it.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    const ACCEPTED: [u8; 10] = [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let others = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&others);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut leaving = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
        leaving.write_all(&SETTINGS).await.unwrap();
        first_request(&mut leaving).await;
        next_request(&mut leaving).await;
        next_request(&mut leaving).await;
        leaving.write_all(&[&GOAWAY[..], &ACCEPTED].concat()).await.unwrap();
        leaving.shutdown().await.unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
            let mut server: Server = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_request, mut respond))) = server.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                respond.send_response(hyper::Response::new(()), true).unwrap();
            }
        }
    });
    let adapter = channel(&trusting(), Duration::from_secs(20), true);
    for answer in futures_util::future::join_all((0..3).map(|_| adapter.deliver(delivery(&target)))).await {
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
    assert_eq!(others.load(Ordering::SeqCst), 2, "each was taken once");
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

/// A server that takes `most` requests at a time on each connection, and gives each its number before it answers after `delay`.
/// It takes no more than `connections` connections.
async fn taking(most: u32, connections: usize, delay: Duration) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        for _ in 0..connections {
            let (stream, _) = listener.accept().await.unwrap();
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
                let mut server: Server =
                    h2::server::Builder::new().max_concurrent_streams(most).handshake(stream).await.unwrap();
                while let Some(Ok((_request, mut respond))) = server.accept().await {
                    counted.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(async move {
                        tokio::time::sleep(delay).await;
                        let _ = respond.send_response(hyper::Response::new(()), true);
                    });
                }
            });
        }
        // It takes no more, and does not say so.
        std::future::pending::<()>().await;
    });
    (target, requests)
}

#[tokio::test]
async fn what_a_server_takes_at_a_time_on_a_connection_is_all_that_it_gets_and_the_rest_goes_beside_it() {
    let (target, requests) = taking(4, usize::MAX, Duration::from_secs(1)).await;
    // On one connection the last of them would be answered after 20 seconds.
    let adapter = channel(&trusting(), Duration::from_secs(8), true);
    for answer in futures_util::future::join_all((0..80).map(|_| adapter.deliver(delivery(&target)))).await {
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 80);
}

#[tokio::test]
async fn what_no_connection_has_room_for_was_not_sent_and_is_not_in_doubt() {
    let (target, requests) = taking(4, 1, Duration::from_secs(100)).await;
    let adapter = channel(&trusting(), Duration::from_secs(2), true);
    let answers = futures_util::future::join_all((0..20).map(|_| adapter.deliver(delivery(&target)))).await;
    let count = |outcome| answers.iter().filter(|answer| answer.outcome == outcome).count();
    assert_eq!((count(Outcome::InDoubt), count(Outcome::Retry { not_before: None })), (4, 16), "{answers:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_server_that_takes_no_request_over_http2_gets_none() {
    let (target, requests) = taking(0, 1, Duration::ZERO).await;
    let answer = channel(&trusting(), Duration::from_secs(1), true).deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{answer:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_connection_of_the_greatest_age_is_followed_by_a_new_one() {
    let connections = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
                let mut server: Server = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((_request, mut respond))) = server.accept().await {
                    respond.send_response(hyper::Response::new(()), true).unwrap();
                }
            });
        }
    });
    let settings = Settings { max_connection_age: Duration::from_secs(1), ..trusting() };
    let adapter = channel(&settings, Duration::from_secs(20), false);
    let began = Instant::now();
    while connections.load(Ordering::SeqCst) < 2 {
        let answer = adapter.deliver(delivery(&target)).await;
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
    assert!(began.elapsed() >= Duration::from_secs(1), "it is used until then");
}
