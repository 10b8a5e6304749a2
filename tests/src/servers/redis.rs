//! Redis, or the Valkey that `OUTBOX_TEST_REDIS` names: one server, in the clear or over TLS.

use std::path::Path;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::binaries::{Program, quoted};
use super::make_own_authority;
use super::server::{Commands, Kind, Server};

/// A Redis or Valkey server.
pub type Redis = Server<RedisKind>;

/// One that speaks TLS only.
pub type RedisTls = Server<RedisTlsKind>;

/// See [`Redis`].
#[derive(Debug)]
pub enum RedisKind {}

/// See [`RedisTls`].
#[derive(Debug)]
pub enum RedisTlsKind {}

const PROGRAM: Program =
    Program { names: &["redis-server", "valkey-server"], variable: "OUTBOX_TEST_REDIS", package: "redis-server" };

/// For `localhost` and 127.0.0.1, its own authority, valid for a hundred years.
const CERTIFICATE: &str = include_str!("../../../adapters/tests/it/tls_cert.pem");
const KEY: &str = include_str!("../../../adapters/tests/it/tls_key.pem");

/// What the servers of this file and the sentinels differ in.
pub trait Transport: Kind {
    /// `redis` or `rediss`.
    const SCHEME: &'static str;

    /// The options that have it listen on this port.
    fn listening(port: u16) -> String;

    /// A server with further options.
    fn serving(port: u16, options: &str) -> Commands {
        let (redis, listening) = (PROGRAM.find(&[]), Self::listening(port));
        let server = format!("{} --bind 127.0.0.1 {listening} --save '' --appendonly no {options}", quoted(&redis));
        Commands { initialise: Self::initialise(), server, end_signal: "KILL" }
    }

    /// A server with this configuration file, and further options.
    fn configured(port: u16, configuration: &str, options: &str) -> Commands {
        let (redis, listening) = (PROGRAM.find(&[]), Self::listening(port));
        let initialise = format!("{} && printf %s '{configuration}' >server.conf", Self::initialise());
        let server = format!("{} server.conf {options} --bind 127.0.0.1 {listening}", quoted(&redis));
        Commands { initialise, server, end_signal: "KILL" }
    }

    /// Makes the files that it needs.
    fn initialise() -> String {
        "true".to_owned()
    }
}

impl Transport for RedisKind {
    const SCHEME: &'static str = "redis";

    fn listening(port: u16) -> String {
        format!("--port {port}")
    }
}

impl Transport for RedisTlsKind {
    const SCHEME: &'static str = "rediss";

    fn listening(port: u16) -> String {
        format!(
            "--port 0 --tls-port {port} --tls-cert-file cert.pem --tls-key-file key.pem --tls-ca-cert-file cert.pem \
             --tls-auth-clients no --tls-replication yes"
        )
    }

    fn initialise() -> String {
        format!("printf %s '{CERTIFICATE}' >cert.pem && printf %s '{KEY}' >key.pem")
    }
}

impl Kind for RedisKind {
    const NAME: &'static str = "redis";
    const STOP: Signal = Signal::TERM;

    fn commands(_directory: &Path, port: u16) -> Commands {
        Self::serving(port, "")
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

impl Kind for RedisTlsKind {
    const NAME: &'static str = "redis-tls";
    const STOP: Signal = Signal::TERM;

    fn commands(_directory: &Path, port: u16) -> Commands {
        Self::serving(port, "")
    }

    /// It listens once it can answer.
    async fn ask(port: u16) -> anyhow::Result<()> {
        TcpStream::connect(("127.0.0.1", port)).await?;
        Ok(())
    }
}

impl Redis {
    /// A server with this configuration file.
    pub async fn start_with(configuration: &str) -> Self {
        let configuration = configuration.to_owned();
        Self::start_as(move |_, port| RedisKind::configured(port, &configuration, "--save ''")).await
    }

    /// Tests that share a server keep apart by the UUID of their outbox, which is in each key.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// Runs a command whose answer does not matter.
    pub async fn command(&self, words: &[&str]) {
        self.ask_for::<redis::Value>(words).await;
    }

    /// The text of a key.
    pub async fn get(&self, key: &str) -> String {
        self.ask_for(&["GET", key]).await
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

impl RedisTls {
    /// A server on which nobody may do anything but the user `lease` with the password `secret` and these rights.
    pub async fn start_for(rights: &'static str) -> Self {
        // Each in quotes: `&` and `|` mean something to the shell.
        let rights = rights.replace(' ', "' '");
        Self::start_as(move |_, port| {
            RedisTlsKind::serving(port, &format!("--user default off --user lease on '>secret' '{rights}'"))
        })
        .await
    }

    /// A server whose certificate is its own authority.
    pub async fn start_as_own_authority() -> Self {
        Self::start_as(|_, port| {
            let Commands { server, end_signal, .. } = RedisTlsKind::serving(port, "");
            Commands { initialise: make_own_authority("cert.pem", "key.pem"), server, end_signal }
        })
        .await
    }

    /// As that user.
    pub fn url(&self) -> String {
        format!("rediss://lease:secret@localhost:{}", self.port())
    }

    /// PEM file of the authority of its certificate.
    pub fn authority(&self) -> String {
        authority(self)
    }
}

/// PEM file of the authority of a server's certificate.
pub(super) fn authority<K: Kind>(server: &Server<K>) -> String {
    let path = server.directory().join("cert.pem");
    path.to_str().expect("a path of UTF-8").to_owned()
}
