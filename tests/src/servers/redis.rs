//! Redis, or the Valkey that `OUTBOX_TEST_REDIS` names.

use std::path::Path;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::binaries::{Program, quoted};
use super::server::{Commands, Kind, Server};

/// A Redis or Valkey server.
pub type Redis = Server<RedisKind>;

/// See [`Redis`].
#[derive(Debug)]
pub enum RedisKind {}

const PROGRAM: Program =
    Program { names: &["redis-server", "valkey-server"], variable: "OUTBOX_TEST_REDIS", package: "redis-server" };

impl Kind for RedisKind {
    const NAME: &'static str = "redis";
    const STOP: Signal = Signal::TERM;

    fn commands(_directory: &Path, port: u16) -> Commands {
        let redis = PROGRAM.find(&[]);
        Commands {
            initialise: "true".to_owned(),
            server: format!("{} --bind 127.0.0.1 --port {port} --save '' --appendonly no", quoted(&redis)),
            end_signal: "KILL",
        }
    }

    async fn ask(port: u16) -> anyhow::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"PING\r\n").await?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).await?;
        anyhow::ensure!(&answer == b"+PONG\r\n", "PING was answered {:?}", String::from_utf8_lossy(&answer));
        Ok(())
    }
}

impl Redis {
    /// Tests that share a server keep apart by the UUID of their outbox, which is in each key.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// Runs a command whose answer does not matter.
    pub async fn command(&self, words: &[&str]) {
        self.ask_for::<redis::Value>(words).await;
    }

    /// The keys of a pattern.
    pub async fn keys(&self, pattern: &str) -> Vec<String> {
        self.ask_for(&["KEYS", pattern]).await
    }

    async fn ask_for<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }
}
