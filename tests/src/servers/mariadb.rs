//! MariaDB, or the MySQL that `OUTBOX_TEST_MYSQLD` names.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySqlConnection, mysql::MySqlConnectOptions};

use super::binaries::{Program, companion, quoted};
use super::server::{Commands, Kind, Server};
use super::{TestDatabase, fresh_name};
use crate::eventually::PATIENCE;

/// A MariaDB or MySQL server.
pub type MariaDb = Server<MariaDbKind>;

/// See [`MariaDb`].
#[derive(Debug)]
pub enum MariaDbKind {}

pub(super) const PROGRAM: Program =
    Program { names: &["mariadbd", "mysqld"], variable: "OUTBOX_TEST_MYSQLD", package: "mariadb-server" };

/// Run at each start: the accounts of a fresh server differ between releases and let nobody in over TCP.
/// One statement per line is what the server reads. Each server makes its own: none comes from or goes to another.
const ACCOUNT: &str = "SET SESSION sql_log_bin = 0;
CREATE USER IF NOT EXISTS 'outbox'@'%' IDENTIFIED BY '';
GRANT ALL ON *.* TO 'outbox'@'%' WITH GRANT OPTION;
";

impl Kind for MariaDbKind {
    const NAME: &'static str = "mariadb";
    const STOP: Signal = Signal::TERM;

    fn commands(directory: &Path, port: u16) -> Commands {
        let mysqld = PROGRAM.find(&[]);
        let server = quoted(&mysqld);
        let data = quoted(&directory.join("data"));
        let accounts = quoted(&directory.join("accounts.sql"));
        let temporary = quoted(&directory.join("temporary"));
        let (tables, own_options) = if is_mariadb(&mysqld) {
            let install = companion(&mysqld, &["mariadb-install-db", "mysql_install_db"]);
            (format!("{} --no-defaults --datadir={data} --skip-test-db", quoted(&install)), "")
        } else {
            let options = "--mysqlx=OFF --skip-log-bin --secure-file-priv=";
            (format!("{server} --no-defaults --initialize-insecure --datadir={data}"), options)
        };
        Commands {
            // A directory of its own for temporary tables: a server that starts, also to initialise, clears away what others
            // left in /tmp.
            initialise: format!(
                "printf %s \"{ACCOUNT}\" >accounts.sql && mkdir temporary && TMPDIR={temporary} {tables}"
            ),
            // A killed process loses nothing without fsync, only a killed machine does.
            server: format!(
                "{server} --no-defaults --datadir={data} --tmpdir={temporary} --socket={socket} --pid-file={pid} \
                 --init-file={accounts} \
                 --bind-address=127.0.0.1 --port={port} --skip-name-resolve --character-set-server=utf8mb4 \
                 --innodb-buffer-pool-size=256M --innodb-flush-method=nosync --max-connections=300 {own_options}",
                socket = quoted(&directory.join("socket")),
                pid = quoted(&directory.join("pid")),
            ),
            end_signal: "KILL",
        }
    }

    async fn ask(port: u16) -> anyhow::Result<()> {
        connect(port).await?.close().await?;
        Ok(())
    }
}

/// What is written down, replicas get, and what they get they write down.
const REPLICATES: &str = "--log-bin --binlog-format=ROW --log-slave-updates=ON";

impl MariaDb {
    /// A MariaDB that says that it is of another version, or another product. None where the server is MySQL, which cannot.
    pub async fn start_as_version(version: &'static str) -> Option<Self> {
        Self::start_with(format!("--version={version}")).await
    }

    /// A server that others can follow. None where the server is MySQL, which follows in other words.
    pub async fn primary() -> Option<Self> {
        Self::start_with(format!("{REPLICATES} --server-id=1")).await
    }

    /// A replica of the primary that is reached at this port of 127.0.0.1, from its first transaction on.
    pub async fn standby_of(port_of_primary: u16) -> Self {
        let replica = Self::start_with(format!("{REPLICATES} --server-id=2 --read-only=ON")).await;
        let replica = replica.expect("MariaDB follows MariaDB");
        replica
            .run(&format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port_of_primary}, MASTER_USER = 'outbox', \
                 MASTER_USE_GTID = slave_pos; START SLAVE"
            ))
            .await;
        replica
    }

    /// Writes something.
    ///
    /// # Errors
    /// Where it takes no writes now.
    pub async fn write(&self) -> sqlx::Result<()> {
        let mut connection = connect(self.port()).await?;
        sqlx::raw_sql("CREATE DATABASE IF NOT EXISTS written").execute(&mut connection).await?;
        connection.close().await
    }

    /// Waits until this replica has all that was committed until now on `primary`.
    pub async fn has_all_of(&self, primary: &Self) {
        let position = primary.answer("SELECT @@gtid_binlog_pos").await;
        let waited = format!("SELECT CAST(MASTER_GTID_WAIT('{position}', {}) AS CHAR)", PATIENCE.as_secs());
        assert_eq!(self.answer(&waited).await, "0", "the replica does not follow");
    }

    /// Makes a replica the primary.
    pub async fn promote(&self) {
        self.run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF").await;
    }

    pub(super) async fn run(&self, statements: &str) {
        let mut connection = connect(self.port()).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    pub(super) async fn answer(&self, question: &str) -> String {
        let mut connection = connect(self.port()).await.unwrap();
        let answer = sqlx::query_scalar(AssertSqlSafe(question.to_owned())).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        answer
    }

    pub(super) async fn start_with(options: String) -> Option<Self> {
        if is_mariadb(&PROGRAM.find(&[])) { Some(Self::start_also_with(options).await) } else { None }
    }

    /// The same of whatever server it is.
    pub(super) async fn start_also_with(options: String) -> Self {
        Self::start_as(move |directory, port| {
            let commands = MariaDbKind::commands(directory, port);
            Commands { server: format!("{} {options}", commands.server), ..commands }
        })
        .await
    }

    /// Makes a database of this name.
    pub async fn create(&self, name: &str) {
        self.run(&format!("CREATE DATABASE {name}")).await;
    }

    /// A new, empty database, in which the user `outbox` may do anything and needs no password.
    pub async fn database(&self) -> TestDatabase {
        let name = fresh_name();
        self.create(&name).await;
        TestDatabase { url: format!("mysql://outbox@127.0.0.1:{}/{name}", self.port()), name }
    }
}

fn is_mariadb(mysqld: &Path) -> bool {
    let version = Command::new(mysqld).arg("--version").output().unwrap();
    String::from_utf8_lossy(&version.stdout).contains("MariaDB")
}

async fn connect(port: u16) -> sqlx::Result<MySqlConnection> {
    MySqlConnectOptions::new().host("127.0.0.1").port(port).username("outbox").connect().await
}
