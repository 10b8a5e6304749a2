//! The connections of an FCM channel: how many there are, and what their end proves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use hyper::body::Bytes;
use hyper::{Request, Response};
use outbox_adapters::fcm::{FcmChannel, Settings};
use outbox_adapters::{Adapter, Answer};
use outbox_store::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use crate::fcm::{Fcm, delivery};
use crate::stand_in::{StandIn, reply, tls_acceptor};

const LONG: Duration = Duration::from_secs(20);

/// Requests at a time on a connection: more than the channel sends.
const MANY: u32 = 1000;

type Server = Connection<TlsStream<TcpStream>, Bytes>;

/// What a request is met with; the number is that of its connection, from 1.
type Manner = dyn Fn(usize, SendResponse<Bytes>, &mut Server) + Send + Sync;

#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Most requests of one connection.
    most_on_one: AtomicUsize,
}

/// An FCM channel, and what it speaks HTTP/2 over TLS with.
struct Http2 {
    channel: Arc<FcmChannel>,
    counts: Arc<Counts>,
    _fcm: Fcm,
}

impl Http2 {
    async fn start(manner: impl Fn(usize, SendResponse<Bytes>, &mut Server) + Send + Sync + 'static) -> Self {
        Self::taking(MANY, LONG, manner).await
    }

    /// One that takes so many requests at a time on a connection.
    async fn taking(
        streams: u32,
        timeout: Duration,
        manner: impl Fn(usize, SendResponse<Bytes>, &mut Server) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Counts::default());
        tokio::spawn(listen(listener, streams, Arc::new(manner), Arc::clone(&counts)));
        let fcm = Fcm::start(3600, |_| reply(500, "", "")).await;
        let channel = channel(&fcm, port, timeout);
        Self { channel, counts, _fcm: fcm }
    }

    async fn deliver(&self) -> Answer {
        self.channel.deliver(delivery("abc")).await
    }

    fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }

    fn requests(&self) -> usize {
        self.counts.requests.load(Ordering::SeqCst)
    }
}

fn channel(fcm: &Fcm, port: u16, timeout: Duration) -> Arc<FcmChannel> {
    let tls_ca = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls_cert.pem").to_owned();
    let settings = Settings { base_url: format!("https://localhost:{port}"), tls_ca, ..fcm.settings() };
    Arc::new(FcmChannel::new("push", &settings, timeout, false).unwrap())
}

async fn listen(listener: TcpListener, streams: u32, manner: Arc<Manner>, counts: Arc<Counts>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let number = counts.connections.fetch_add(1, Ordering::SeqCst) + 1;
        let (manner, counts) = (Arc::clone(&manner), Arc::clone(&counts));
        tokio::spawn(async move {
            let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
            let mut server: Server =
                h2::server::Builder::new().max_concurrent_streams(streams).handshake(stream).await.unwrap();
            let mut taken = 0;
            while let Some(Ok((request, respond))) = server.accept().await {
                read_away(request);
                counts.requests.fetch_add(1, Ordering::SeqCst);
                taken += 1;
                counts.most_on_one.fetch_max(taken, Ordering::SeqCst);
                manner(number, respond, &mut server);
            }
        });
    }
}

fn read_away(request: Request<RecvStream>) {
    tokio::spawn(async move {
        let mut body = request.into_body();
        while let Some(Ok(part)) = body.data().await {
            body.flow_control().release_capacity(part.len()).unwrap();
        }
    });
}

fn accept(mut respond: SendResponse<Bytes>) {
    let mut body = respond.send_response(Response::new(()), false).unwrap();
    body.send_data(Bytes::from_static(br#"{"name": "projects/demo/messages/1"}"#), true).unwrap();
}

fn is_delivered(answer: &Answer) -> bool {
    matches!(answer.outcome, Outcome::Delivered { receipt: Some(_) })
}

async fn until(reached: impl Fn() -> bool) {
    tokio::time::timeout(LONG, async {
        while !reached() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn as_many_connections_are_opened_as_the_requests_at_a_time_need_at_a_hundred_each() {
    let (release, released) = watch::channel(false);
    let http2 = Http2::start(move |_, respond, _| {
        let mut released = released.clone();
        tokio::spawn(async move {
            released.wait_for(|released| *released).await.unwrap();
            accept(respond);
        });
    })
    .await;
    let deliveries = futures_util::future::join_all((0..250).map(|_| http2.deliver()));
    let all_come = async {
        until(|| http2.requests() == 250).await;
        release.send_replace(true);
    };
    let (answers, ()) = tokio::join!(deliveries, all_come);
    assert!(answers.iter().all(is_delivered), "{answers:?}");
    assert_eq!(http2.connections(), 3);
    assert_eq!(http2.counts.most_on_one.load(Ordering::SeqCst), 100);
    assert!(is_delivered(&http2.deliver().await));
    assert_eq!(http2.connections(), 3, "they are kept");
}

#[tokio::test]
async fn a_refused_stream_goes_over_another_connection_within_the_attempt() {
    let http2 = Http2::start(|connection, mut respond, _| match connection {
        1 => respond.send_reset(Reason::REFUSED_STREAM),
        _ => accept(respond),
    })
    .await;
    let answer = http2.deliver().await;
    assert!(is_delivered(&answer), "{answer:?}");
    assert_eq!((http2.connections(), http2.requests()), (2, 2));
}

#[tokio::test]
async fn a_server_that_refuses_everything_is_asked_a_few_times_and_then_later() {
    let http2 = Http2::start(|_, mut respond, _| respond.send_reset(Reason::REFUSED_STREAM)).await;
    let answer = http2.deliver().await;
    assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{answer:?}");
    assert_eq!((http2.connections(), http2.requests()), (6, 6));
}

#[tokio::test]
async fn a_server_that_takes_one_request_at_a_time_gets_one_at_a_time_on_each_connection() {
    let http2 = Http2::taking(1, LONG, |_, respond, _| accept(respond)).await;
    let answers = futures_util::future::join_all((0..20).map(|_| http2.deliver())).await;
    assert!(answers.iter().all(is_delivered), "{answers:?}");
    assert_eq!(http2.requests(), 20);
    assert!(http2.connections() > 1, "none waits for the answer of another");
}

#[tokio::test]
async fn what_a_server_took_before_it_went_away_is_in_doubt_and_not_sent_again() {
    let http2 = Http2::start(|_, _respond, server| server.abrupt_shutdown(Reason::NO_ERROR)).await;
    let answer = http2.deliver().await;
    assert_eq!(answer.outcome, Outcome::InDoubt, "{answer:?}");
    assert_eq!(http2.requests(), 1);
}

#[tokio::test]
async fn what_is_on_its_way_when_a_server_goes_away_in_good_order_is_answered_and_later_messages_go_elsewhere() {
    let http2 = Http2::start(|connection, respond, server| {
        if connection == 1 {
            server.graceful_shutdown();
        }
        accept(respond);
    })
    .await;
    for _ in 0..20 {
        let answer = http2.deliver().await;
        assert!(is_delivered(&answer), "{answer:?}");
    }
    assert_eq!((http2.connections(), http2.requests()), (2, 20));
}

/// Reads what a client of HTTP/2 begins with, up to its first request.
pub(crate) async fn first_request(stream: &mut TlsStream<TcpStream>) {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    next_request(stream).await;
}

/// Reads frames until one of them is a request's (RFC 9113, 4.1 and 6.2).
pub(crate) async fn next_request(stream: &mut TlsStream<TcpStream>) {
    const HEADERS: u8 = 1;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await.unwrap();
        if head[3] == HEADERS {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_that_a_server_did_not_take_before_it_went_away_goes_over_another_connection() {
    /// Empty SETTINGS, and GOAWAY without an error whose last stream is 0: nothing was processed (RFC 9113, 6.5 and 6.8).
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let fcm = Fcm::start(3600, |_| reply(500, "", "")).await;
    let channel = channel(&fcm, listener.local_addr().unwrap().port(), LONG);
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut leaving = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
        leaving.write_all(&SETTINGS).await.unwrap();
        first_request(&mut leaving).await;
        leaving.write_all(&GOAWAY).await.unwrap();
        leaving.shutdown().await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let stream = tls_acceptor(&[b"h2"]).accept(stream).await.unwrap();
        let mut server: Server = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((_, respond))) = server.accept().await {
            accept(respond);
        }
    };
    tokio::select! {
        () = serve => panic!("it asks no more"),
        answer = channel.deliver(delivery("abc")) => assert!(is_delivered(&answer), "{answer:?}"),
    }
}

#[tokio::test]
async fn over_tls_a_server_without_http2_is_spoken_to_in_http1() {
    let server = StandIn::start_tls(|_| reply(200, "", r#"{"name": "projects/demo/messages/1"}"#)).await;
    let fcm = Fcm::start(3600, |_| reply(500, "", "")).await;
    let channel = channel(&fcm, server.port, LONG);
    let answers = futures_util::future::join_all((0..20).map(|_| channel.deliver(delivery("abc")))).await;
    assert!(answers.iter().all(is_delivered), "{answers:?}");
    assert_eq!(server.seen().len(), 20);
    assert!(server.connections() > 1, "none waits for the answer of another");
    assert_eq!(server.seen()[0].header("host"), Some(format!("localhost:{}", server.port).as_str()));
}

#[tokio::test]
async fn all_who_wait_for_a_connection_learn_at_once_that_there_is_none() {
    // It takes connections and never says a word of TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let fcm = Fcm::start(3600, |_| reply(500, "", "")).await;
    let tls_ca = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls_cert.pem").to_owned();
    let base_url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let settings = Settings { base_url, tls_ca, ..fcm.settings() };
    let channel = FcmChannel::new("push", &settings, Duration::from_secs(3), true).unwrap();
    let began = Instant::now();
    for answer in futures_util::future::join_all((0..50).map(|_| channel.deliver(delivery("abc")))).await {
        assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{answer:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "none of them waited for a connection of its own");
}
