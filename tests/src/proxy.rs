//! A TCP proxy that stands between a replica and a server, and delays, drops or swallows what passes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Bytes of an answer that trickles.
const PIECE: usize = 16;

/// What happens to what passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// All passes.
    Open,
    /// Answers come so much later.
    Late(Duration),
    /// Answers come a few bytes a millisecond.
    Trickle,
    /// What is asked arrives; the answers do not. Connections stay.
    Swallow,
    /// Nothing arrives, in either direction. Connections stay, and new ones are made.
    Hole,
    /// New connections are closed at once.
    Refuse,
}

/// A proxy on a port of its own; it ends when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

#[derive(Debug)]
struct Shared {
    upstream: AtomicU16,
    passage: watch::Sender<Passage>,
    /// How often the other side has vanished, and whether it is gone now.
    gone: watch::Sender<(u64, bool)>,
    /// Raised to close every connection there is.
    cuts: watch::Sender<u64>,
    accepted: AtomicUsize,
    /// At which connection the other side vanishes.
    vanishes_at: AtomicUsize,
    /// Whether the last that passed was a question.
    asked: AtomicBool,
    round_trips: AtomicUsize,
    /// What stands in place of which words, of the same length, in what is asked.
    other_words: OnceLock<[&'static str; 2]>,
}

impl Shared {
    fn vanish(&self) {
        self.gone.send_modify(|(times, gone)| (*times, *gone) = (*times + 1, true));
    }
}

impl Proxy {
    /// Leads to a port of 127.0.0.1.
    pub fn to(upstream: u16) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            upstream: AtomicU16::new(upstream),
            passage: watch::Sender::new(Passage::Open),
            gone: watch::Sender::new((0, false)),
            cuts: watch::Sender::new(0),
            accepted: AtomicUsize::new(0),
            vanishes_at: AtomicUsize::new(usize::MAX),
            asked: AtomicBool::new(false),
            round_trips: AtomicUsize::new(0),
            other_words: OnceLock::new(),
        });
        runtime.spawn(listen(listener, shared.clone()));
        Self { port, shared, runtime: Some(runtime) }
    }

    /// On 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL with this proxy in the place of its server.
    pub fn before(&self, url: &str) -> String {
        let mut url = url::Url::parse(url).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.port)).unwrap();
        url.into()
    }

    /// From now on.
    pub fn set(&self, passage: Passage) {
        self.shared.passage.send_replace(passage);
    }

    /// Closes every connection. New ones are made as the passage says.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// The other side is gone without a word, as a host that lost its power. Nothing passes on the connections there are, in
    /// either direction, and neither side hears that the other closes one. New connections are made and get no answer.
    pub fn vanish(&self) {
        self.shared.vanish();
    }

    /// The same, when the `nth` connection is made, which is already one to nobody.
    pub fn vanish_at(&self, nth: usize) {
        self.shared.vanishes_at.store(nth, Ordering::SeqCst);
    }

    /// Somebody answers again at this address. Connections from before stay as dead as they are.
    pub fn come_back(&self) {
        self.shared.gone.send_modify(|(_, gone)| *gone = false);
    }

    /// New connections lead to another port.
    pub fn lead_to(&self, upstream: u16) {
        self.shared.upstream.store(upstream, Ordering::SeqCst);
    }

    /// Whoever asks in these words asks in others from now on, which are as long: for what no setting turns off.
    pub fn replace(&self, words: &'static str, others: &'static str) {
        assert_eq!(words.len(), others.len());
        self.shared.other_words.set([words, others]).expect("one replacement");
    }

    /// Connections made so far.
    pub fn connections(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How often a question has followed an answer so far: round trips, where there is one connection.
    pub fn round_trips(&self) -> usize {
        self.shared.round_trips.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn listen(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if shared.accepted.load(Ordering::SeqCst) + 1 == shared.vanishes_at.load(Ordering::SeqCst) {
            shared.vanish();
        }
        let born = *shared.gone.borrow();
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        if *shared.passage.borrow() != Passage::Refuse {
            tokio::spawn(pass(client, born, shared.clone()));
        }
    }
}

/// Until either side closes, or somebody cuts it. A connection that is dead stays until somebody cuts it, and so does one that
/// was made while the other side was gone.
async fn pass(client: TcpStream, (born, gone): (u64, bool), shared: Arc<Shared>) {
    let mut cuts = shared.cuts.subscribe();
    if gone {
        let _ = cuts.changed().await;
        return;
    }
    let mut gone = shared.gone.subscribe();
    let buried = async { drop(gone.wait_for(|(times, _)| *times > born).await) };
    let upstream = SocketAddr::from((Ipv4Addr::LOCALHOST, shared.upstream.load(Ordering::SeqCst)));
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    tokio::select! {
        () = pump(&mut from_client, &mut to_server, &shared, false) => {}
        () = pump(&mut from_server, &mut to_client, &shared, true) => {}
        _ = cuts.changed() => {}
        () = buried => {
            let _ = cuts.changed().await;
        }
    }
}

async fn pump(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, shared: &Shared, answers: bool) {
    let mut some = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut some).await {
        if !shared.asked.swap(!answers, Ordering::SeqCst) && !answers {
            shared.round_trips.fetch_add(1, Ordering::SeqCst);
        }
        if let Some([words, others]) = shared.other_words.get().filter(|_| !answers) {
            for at in 0..read.saturating_sub(words.len() - 1) {
                if some[at..].starts_with(words.as_bytes()) {
                    some[at..][..words.len()].copy_from_slice(others.as_bytes());
                }
            }
        }
        let passage = *shared.passage.borrow();
        match passage {
            Passage::Hole => continue,
            Passage::Swallow if answers => continue,
            Passage::Late(delay) if answers => tokio::time::sleep(delay).await,
            Passage::Trickle if answers => {
                if trickle(&some[..read], to, shared).await.is_err() {
                    return;
                }
                continue;
            }
            Passage::Late(_) | Passage::Trickle | Passage::Swallow | Passage::Open | Passage::Refuse => {}
        }
        if to.write_all(&some[..read]).await.is_err() {
            return;
        }
    }
}

/// Passes an answer on piece by piece, and the rest at once where all may pass meanwhile.
async fn trickle(answer: &[u8], to: &mut OwnedWriteHalf, shared: &Shared) -> std::io::Result<()> {
    for piece in answer.chunks(PIECE) {
        if *shared.passage.borrow() == Passage::Trickle {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        to.write_all(piece).await?;
    }
    Ok(())
}
