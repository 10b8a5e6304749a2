//! Patroni: two members of PostgreSQL, one of which follows the other, and the etcd that knows which
//! (<https://patroni.readthedocs.io/en/latest/rest_api.html>).

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::binaries::{Program, companion, quoted};
use super::postgres::{self, Postgres};
use super::server::{Commands, Kind, Server, free_port};
use crate::eventually::{PATIENCE, eventually};

const PATRONI: Program = Program { names: &["patroni"], variable: "OUTBOX_TEST_PATRONI", package: "patroni" };

const ETCD: Program = Program { names: &["etcd"], variable: "OUTBOX_TEST_ETCD", package: "etcd-server" };

/// See [`Patroni`].
#[derive(Debug)]
enum Etcd {}

impl Kind for Etcd {
    const NAME: &'static str = "etcd";
    const STOP: Signal = Signal::TERM;

    fn commands(directory: &Path, port: u16) -> Commands {
        let [clients, peers] = [port, free_port()].map(|port| format!("http://127.0.0.1:{port}"));
        Commands {
            initialise: String::new(),
            server: format!(
                "{} --data-dir {} --listen-client-urls {clients} --advertise-client-urls {clients} \
                 --listen-peer-urls {peers} --initial-advertise-peer-urls {peers} --initial-cluster default={peers}",
                quoted(&ETCD.find(&[])),
                quoted(&directory.join("data"))
            ),
            end_signal: "KILL",
        }
    }

    async fn ask(port: u16) -> anyhow::Result<()> {
        client().get(format!("http://127.0.0.1:{port}/health")).send().await?.error_for_status()?;
        Ok(())
    }
}

/// Two members of one cluster, whose commits wait for the one that follows.
#[derive(Debug)]
pub struct Patroni {
    members: [Member; 2],
    _etcd: Server<Etcd>,
}

/// A member of [`Patroni`].
#[derive(Debug)]
pub struct Member {
    name: &'static str,
    /// Where its Patroni answers.
    answers_at: u16,
    /// Its server.
    pub postgres: Postgres,
}

impl Patroni {
    /// The Debian packages that are missing here.
    pub fn missing() -> Vec<&'static str> {
        [&PATRONI, &ETCD].into_iter().filter(|program| !program.is_there()).map(|program| program.package).collect()
    }

    /// Starts them.
    pub async fn start() -> Self {
        let etcd = Server::<Etcd>::start().await;
        // The first that comes is the leader.
        let members = [Member::start("one", etcd.port()).await, Member::start("two", etcd.port()).await];
        Self { members, _etcd: etcd }
    }

    /// The leader and the member that follows it, once its commits wait for that.
    pub async fn in_step(&self) -> [&Member; 2] {
        let [one, two] = &self.members;
        let in_step = async || {
            for [leader, follows] in [[one, two], [two, one]] {
                if leader.is("primary").await && follows.is("synchronous").await {
                    return Some([leader, follows]);
                }
            }
            None
        };
        eventually("a member follows the leader", PATIENCE, in_step).await
    }
}

impl Member {
    async fn start(name: &'static str, etcd: u16) -> Self {
        let answers_at = free_port();
        let postgres = Postgres::start_as(move |directory, port| Commands {
            initialise: format!("printf %s {} >patroni.json", settings(name, directory, [port, answers_at, etcd])),
            server: format!("{} patroni.json", quoted(&PATRONI.find(&[]))),
            // It stops its server first.
            end_signal: "TERM",
        });
        Self { name, answers_at, postgres: postgres.await }
    }

    /// Whether its Patroni says that it is this: `primary`, `synchronous`.
    pub async fn is(&self, what: &str) -> bool {
        client().get(self.address(what)).send().await.is_ok_and(|answer| answer.status().is_success())
    }

    /// Has another member take its place, as `patronictl switchover` does; says what Patroni answers once that leads.
    pub async fn switch_over_to(&self, next: &Self) -> String {
        let order = json!({ "leader": self.name, "candidate": next.name }).to_string();
        let asked = client().post(self.address("switchover")).body(order).timeout(SWITCH_LIMIT);
        asked.send().await.unwrap().text().await.unwrap()
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.answers_at)
    }
}

fn client() -> reqwest::Client {
    outbox_adapters::ensure_crypto_provider();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Patroni gives up before.
const SWITCH_LIMIT: Duration = Duration::from_mins(2);

/// The settings of a member, in JSON, as a word of the shell: all that is not said is as Patroni has it.
fn settings(name: &str, directory: &Path, [port, answers_at, etcd]: [u16; 3]) -> String {
    let [listen, answers_at, etcd] = [port, answers_at, etcd].map(|port| format!("127.0.0.1:{port}"));
    let of = |name: &str| directory.join(name);
    let bin: PathBuf = companion(&postgres::program(), &["pg_ctl"]).parent().expect("a folder").to_owned();
    let settings = json!({
        "scope": "outbox", "name": name,
        "restapi": { "listen": answers_at, "connect_address": answers_at },
        "etcd3": { "host": etcd },
        "bootstrap": {
            "dcs": { "synchronous_mode": true },
            "initdb": [{ "encoding": "UTF8" }, "no-locale", "no-sync"],
            "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
        },
        "postgresql": {
            "listen": listen, "connect_address": listen, "data_dir": of("data"), "bin_dir": bin, "pgpass": of("pgpass"),
            "authentication": { "superuser": { "username": "postgres" }, "replication": { "username": "postgres" } },
            "parameters": { "unix_socket_directories": directory, "fsync": "off", "max_connections": 200 },
        },
    });
    quoted(Path::new(&settings.to_string()))
}
