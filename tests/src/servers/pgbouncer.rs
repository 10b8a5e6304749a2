//! `PgBouncer`, a pooler before PostgreSQL (<https://www.pgbouncer.org/config.html>).

use std::path::Path;

use rustix::process::Signal;
use tokio::net::TcpStream;
use url::Url;

use super::binaries::{Program, quoted};
use super::server::{Commands, Kind, Server};

const PROGRAM: Program = Program { names: &["pgbouncer"], variable: "OUTBOX_TEST_PGBOUNCER", package: "pgbouncer" };

/// A pooler.
#[derive(Debug)]
pub struct PgBouncer {
    server: Server<PgBouncerKind>,
    /// The URL of the database, through the pooler.
    pub url: String,
}

/// See [`PgBouncer`].
#[derive(Debug)]
enum PgBouncerKind {}

impl Kind for PgBouncerKind {
    const NAME: &'static str = "pgbouncer";
    const STOP: Signal = Signal::INT;

    fn commands(_: &Path, _: u16) -> Commands {
        unreachable!("a pooler is started before a server")
    }

    async fn ask(port: u16) -> anyhow::Result<()> {
        TcpStream::connect(("127.0.0.1", port)).await?;
        Ok(())
    }
}

impl PgBouncer {
    /// A pooler before the server of this URL, for the user in it. It keeps sessions, or lends them for a `transaction`.
    /// What a connection asks for as it begins is refused, but for what is ignored.
    pub async fn before(url: &str, mode: &'static str, ignored: &'static str) -> Self {
        let mut url = Url::parse(url).unwrap();
        let (server, user) = (url.port().unwrap(), url.username().to_owned());
        let commands = move |directory: &Path, port: u16| Commands {
            initialise: format!(
                "printf '\"{user}\" \"\"\\n' >users && printf %s {} >pgbouncer.ini",
                quoted(Path::new(&settings(directory, port, server, mode, ignored)))
            ),
            server: format!("{} -q pgbouncer.ini", quoted(&PROGRAM.find(&[]))),
            end_signal: "KILL",
        };
        let server = Server::start_as(commands).await;
        url.set_port(Some(server.port())).unwrap();
        url.set_query(Some("sslmode=disable"));
        Self { server, url: url.into() }
    }

    /// Forgets its sessions.
    pub async fn restart(&self) {
        self.server.restart().await;
    }
}

fn settings(directory: &Path, port: u16, server: u16, mode: &str, ignored: &str) -> String {
    let users = directory.join("users");
    format!(
        "[databases]\n* = host=127.0.0.1 port={server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = {mode}\ndefault_pool_size = 50\n\
         ignore_startup_parameters = {ignored}\n",
        users.display()
    )
}
