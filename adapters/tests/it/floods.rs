//! Receivers that send for ever and never come to an answer, and what becomes of their connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use h2::server::{Connection, SendResponse};
use hyper::body::Bytes;
use outbox_adapters::adapter::Answer;
use outbox_adapters::http::HttpChannel;
use outbox_adapters::{Adapter, adapter};
use outbox_store::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::server::TlsStream;

use crate::fcm_connections::first_request;
use crate::http::{channel, delivery, loopback, trusting};
use crate::stand_in::{Reply, StandIn, reply, tls_acceptor};

type Stream = TlsStream<TcpStream>;

const LONG: Duration = Duration::from_secs(20);

fn assert_flooded(by: &str, answer: &Answer, began: Instant) {
    assert_eq!(answer.outcome, Outcome::InDoubt, "{by}: {answer:?}");
    let error = answer.error.as_deref().unwrap_or_default();
    assert!(
        error.ends_with("was lost before the answer came: more than 1 MiB came without an answer"),
        "{by}: {error}"
    );
    assert!(began.elapsed() < LONG / 2, "{by}: the slot is not held for the whole timeout");
}

#[tokio::test]
async fn interim_answers_without_end_are_read_no_further_than_a_mebibyte() {
    let interim = "HTTP/1.1 100 C\r\n\r\n";
    let server = StandIn::start(move |_| Reply::Whole(interim.repeat(100_000))).await;
    let began = Instant::now();
    let answer = channel(&loopback(), LONG, false).deliver(delivery(&server.url("/"))).await;
    assert_flooded("1xx", &answer, began);
}

#[tokio::test]
async fn an_answer_after_some_interim_answers_is_the_answer() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n".repeat(1_000);
    let answer = format!("{interim}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let server = StandIn::start(move |_| Reply::Whole(answer.clone())).await;
    let adapter = channel(&loopback(), LONG, false);
    // All of them together are more than may come without an answer.
    for _ in 0..40 {
        let answer = adapter.deliver(delivery(&server.url("/"))).await;
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_answer_whose_status_line_says_2xx_is_delivered_however_large_or_wrong_its_head_is() {
    let long = format!("X-Filler: {}\r\n", "a".repeat(1014));
    for (filler, kept) in [
        (long.repeat(31), true),
        (long.repeat(60), true),
        ("X-Short: a\r\n".repeat(101), true),
        (long.repeat(900), false),
        ("X-Short: a\r\n".repeat(3_000), false),
        ("no header at all\r\n".to_owned(), false),
    ] {
        let (head, length) = (filler[..10].to_owned(), filler.len());
        let server = StandIn::start(move |_| reply(200, &filler, "")).await;
        let adapter = channel(&loopback(), LONG, true);
        for _ in 0..2 {
            let answer = adapter.deliver(delivery(&server.url("/"))).await;
            assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{head:?} {length}: {answer:?}");
            assert_eq!(answer.status_code, Some(200));
        }
        assert_eq!(server.connections(), if kept { 1 } else { 2 }, "{head:?} {length}");
    }
}

#[tokio::test]
async fn an_answer_that_ends_after_its_status_line_is_delivered_by_2xx_alone() {
    for (beginning, delivered) in [
        ("HTTP/1.1 200 OK\r\nX-Fi", true),
        ("HTTP/1.1 102 On\r\n\r\nHTTP/1.1 204 Done\r\n", true),
        ("HTTP/1.1 102 On\r\n", false),
        ("HTTP/1.1 503 Busy\r\n", false),
        ("HTTP/1.1 2", false),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(beginning.as_bytes()).await.unwrap();
        });
        let answer = channel(&loopback(), LONG, true).deliver(delivery(&target)).await;
        assert_eq!(answer.outcome == Outcome::Delivered { receipt: None }, delivered, "{beginning:?}: {answer:?}");
        assert_eq!(answer.outcome == Outcome::InDoubt, !delivered, "{beginning:?}: {answer:?}");
    }
}

#[tokio::test]
async fn an_answer_of_http2_may_have_a_head_of_200_kib() {
    let (target, _) = served(|_, _, mut respond| {
        let headers = (0..200).map(|number| (format!("x-{number}"), "a".repeat(1000)));
        let head = headers.fold(hyper::Response::builder(), |head, (name, value)| head.header(name, value));
        respond.send_response(head.body(()).unwrap(), true).unwrap();
    })
    .await;
    let answer = channel(&trusting(), LONG, true).deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Listens with HTTP/2, and hands over each connection.
async fn listen() -> (String, mpsc::UnboundedReceiver<Stream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let (accepted, streams) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
            if accepted.send(stream).is_err() {
                return;
            }
        }
    });
    (target, streams)
}

#[tokio::test]
async fn frames_of_http2_without_end_are_read_no_further_than_a_mebibyte() {
    for (name, frame) in [
        ("PING", frame(6, 0, 0, b"12345678")),
        ("SETTINGS", frame(4, 0, 0, &[0, 3, 0, 0, 0, 100])),
        ("103", frame(1, 4, 1, b"\x08\x03103")),
        ("WINDOW_UPDATE", frame(8, 0, 0, &[0, 0, 0, 1])),
    ] {
        let (target, mut streams) = listen().await;
        tokio::spawn(async move {
            let mut stream = streams.recv().await.unwrap();
            stream.write_all(&[self::frame(4, 0, 0, b""), self::frame(4, 1, 0, b"")].concat()).await.unwrap();
            first_request(&mut stream).await;
            let (mut read, mut write) = tokio::io::split(stream);
            tokio::spawn(async move { while read.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {} });
            let mut flood = frame.repeat(1_000);
            while write.write_all(&flood).await.is_ok() {
                flood = frame.repeat(1_000);
            }
        });
        let began = Instant::now();
        let answer = channel(&trusting(), LONG, true).deliver(delivery(&target)).await;
        assert_flooded(name, &answer, began);
    }
}

#[tokio::test]
async fn a_connection_of_http2_that_answered_nothing_in_time_ends_at_once_though_its_peer_reads_nothing() {
    let (target, mut streams) = listen().await;
    let (ended, mut ends) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(mut stream) = streams.recv().await {
            let ended = ended.clone();
            tokio::spawn(async move {
                stream.write_all(&frame(4, 0, 0, b"")).await.unwrap();
                first_request(&mut stream).await;
                // The answers to these fill the connection.
                let mut flood = frame(6, 0, 0, b"12345678").repeat(1_000);
                while stream.write_all(&flood).await.is_ok() {
                    flood = frame(6, 0, 0, b"12345678").repeat(1_000);
                }
                let _ = ended.send(());
            });
        }
    });
    let adapter = channel(&trusting(), Duration::from_secs(1), true);
    for _ in 0..2 {
        assert_eq!(adapter.deliver(delivery(&target)).await.outcome, Outcome::InDoubt);
        tokio::time::timeout(Duration::from_secs(5), ends.recv()).await.unwrap().unwrap();
    }
}

type Server = Connection<Stream, Bytes>;

/// Serves HTTP/2, and counts connections. `answer` gets the number of the connection and that of the request on it.
async fn served(
    answer: impl Fn(usize, usize, SendResponse<Bytes>) + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let (target, mut streams) = listen().await;
    let (connections, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Some(stream) = streams.recv().await {
            let (connection, answer) = (counted.fetch_add(1, Ordering::SeqCst), Arc::clone(&answer));
            tokio::spawn(async move {
                let mut server: Server = h2::server::handshake(stream).await.unwrap();
                let mut requests = 0;
                while let Some(Ok((_, respond))) = server.accept().await {
                    answer(connection, requests, respond);
                    requests += 1;
                }
            });
        }
    });
    (target, connections)
}

fn answer_after(delay: Duration, mut respond: SendResponse<Bytes>) {
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        let _ = respond.send_response(hyper::Response::new(()), true);
    });
}

async fn deliver_after(delay: Duration, adapter: &HttpChannel, target: &str) -> Outcome {
    tokio::time::sleep(delay).await;
    adapter.deliver(delivery(target)).await.outcome
}

#[tokio::test]
async fn what_is_on_its_way_beside_a_request_that_ran_out_of_time_is_answered_and_later_messages_go_elsewhere() {
    let second = Duration::from_secs(1);
    let (target, connections) = served(move |connection, request, respond| match (connection, request) {
        (0, 0) => answer_after(100 * second, respond),
        (0, _) => answer_after(2 * second, respond),
        _ => answer_after(Duration::ZERO, respond),
    })
    .await;
    let adapter = channel(&trusting(), 3 * second, true);
    let (late, beside, after) = tokio::join!(
        deliver_after(Duration::ZERO, &adapter, &target),
        deliver_after(2 * second, &adapter, &target),
        deliver_after(second * 7 / 2, &adapter, &target),
    );
    let delivered = Outcome::Delivered { receipt: None };
    assert_eq!((late, beside, after), (Outcome::InDoubt, delivered.clone(), delivered));
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_connection_that_answers_others_is_kept_though_one_request_ran_out_of_time() {
    let (target, connections) = served(|_, request, respond| {
        answer_after(Duration::from_secs(if request == 0 { 100 } else { 0 }), respond);
    })
    .await;
    let adapter = channel(&trusting(), Duration::from_secs(2), true);
    let second = Duration::from_secs(1);
    let (late, beside, after) = tokio::join!(
        deliver_after(Duration::ZERO, &adapter, &target),
        deliver_after(second, &adapter, &target),
        deliver_after(3 * second, &adapter, &target),
    );
    let delivered = Outcome::Delivered { receipt: None };
    assert_eq!((late, beside, after), (Outcome::InDoubt, delivered.clone(), delivered));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn fifty_answers_with_long_bodies_come_over_one_connection_of_http2() {
    const ANSWERS: usize = 50;
    let (target, connections) = served(|_, _, mut respond| {
        tokio::spawn(async move {
            let head = hyper::Response::builder().status(500).body(()).unwrap();
            let mut body = respond.send_response(head, false).unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            // Of each as much as is read of an answer.
            body.send_data(Bytes::from(vec![b'x'; adapter::RESPONSE_BYTES]), true).unwrap();
        });
    })
    .await;
    let adapter = channel(&trusting(), LONG, true);
    adapter.deliver(delivery(&target)).await;
    for answer in join_all((0..ANSWERS).map(|_| adapter.deliver(delivery(&target)))).await {
        assert_eq!(answer.status_code, Some(500), "{answer:?}");
        assert_eq!(answer.excerpt.map(|excerpt| excerpt.len()), Some(adapter::EXCERPT_BYTES));
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
