//! The receiver of webhooks. It reads only as much of HTTP/1.1 as it needs. It answers every request with 200, at once
//! or after a pause. It counts each request and notes its time.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::{Context, bail};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::book::{Arrivals, Book, begin, current, enter};
use super::kind::Kind;
use super::{Orders, Part, push, say};

/// A receiver, as the bench sees it.
#[derive(Debug)]
pub(crate) struct Receiver {
    part: Part,
    /// The URL for requests.
    pub(crate) url: String,
    /// The URL for tokens. Empty for webhooks.
    pub(crate) tokens: String,
}

impl Receiver {
    /// Starts a receiver on loopback.
    pub(crate) async fn start(kind: Kind) -> anyhow::Result<Self> {
        let mut part = Part::start(&Orders::Receive(kind)).await?;
        let (url, tokens) = part.answer().await?;
        Ok(Self { part, url, tokens })
    }

    /// Begins a new count at zero.
    pub(crate) async fn begin(&mut self) -> anyhow::Result<()> {
        self.part.ask("begin").await
    }

    /// The same, for bodies of which only some name the time of their commit.
    pub(crate) async fn begin_mixed(&mut self) -> anyhow::Result<()> {
        self.part.ask("begin mixed").await
    }

    /// The requests since the count began.
    pub(crate) async fn count(&mut self) -> anyhow::Result<u64> {
        self.part.ask("count").await
    }

    /// The requests since the count began, with their times.
    pub(crate) async fn arrivals(&mut self) -> anyhow::Result<Arrivals> {
        self.part.ask("report").await
    }
}

/// Receives until the bench closes the questions.
pub(super) async fn serve(kind: Kind, mut questions: mpsc::UnboundedReceiver<String>) -> anyhow::Result<()> {
    let book = Arc::new(Mutex::new(Arc::new(Book::new(false))));
    match kind {
        Kind::Webhooks { thinking, hosts } => say(&(listen(book.clone(), thinking, hosts).await?, ""))?,
        Kind::Fcm => say(&push::listen(book.clone()).await?)?,
    }
    while let Some(question) = questions.recv().await {
        match question.as_str() {
            "begin" | "begin mixed" => {
                begin(&book, question != "begin");
                say(&())?;
            }
            "count" => say(&current(&book).count.load(Relaxed))?,
            "report" => say(&current(&book).report())?,
            other => bail!("a receiver of a bench is asked `{other}`"),
        }
    }
    Ok(())
}

async fn listen(book: Arc<Mutex<Arc<Book>>>, thinking: Duration, hosts: bool) -> anyhow::Result<String> {
    // All of 127.0.0.0/8 is one interface: a socket listens at one of its addresses, or at every address of the machine.
    let address = if hosts { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
    let listener = TcpListener::bind((address, 0)).await.context("no port on loopback")?;
    let url = format!("http://{}:{}/hook", Ipv4Addr::LOCALHOST, listener.local_addr()?.port());
    tokio::spawn(async move {
        while let Ok((socket, from)) = listener.accept().await {
            if from.ip().is_loopback() {
                tokio::spawn(converse(socket, book.clone(), thinking));
            }
        }
    });
    Ok(url)
}

async fn converse(mut socket: TcpStream, book: Arc<Mutex<Arc<Book>>>, thinking: Duration) {
    let _ = socket.set_nodelay(true);
    let mut seen = Vec::with_capacity(4096);
    while let Ok(1..) = socket.read_buf(&mut seen).await {
        while let Some((head, whole)) = whole_request(&seen) {
            enter(&book, &seen[head..whole]);
            seen.drain(..whole);
            // Even a sleep of no length lasts until the next tick of the timer.
            if !thinking.is_zero() {
                tokio::time::sleep(thinking).await;
            }
            if socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
                return;
            }
        }
    }
}

/// The beginning and the end of the body of the first request. None until the whole request is there.
fn whole_request(seen: &[u8]) -> Option<(usize, usize)> {
    let head = seen.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&seen[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = head + length.unwrap_or(0);
    (seen.len() >= whole).then_some((head, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_with_its_body() {
        assert_eq!(whole_request(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}POST"), Some((38, 40)));
        assert_eq!(whole_request(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{"), None);
        assert_eq!(whole_request(b"POST / HTTP/1.1\r\nContent-"), None);
    }
}
