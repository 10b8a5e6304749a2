//! The database of an outbox, and how its connections are made.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use outbox_schema::words::words;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor, MySqlConnection, MySqlPool, PgPool, Pool, SqlitePool};

use crate::durability::Durability;
use crate::lineage::{self, Lineages, Takes};
use crate::session::Session;
use crate::silence::{Silence, distrust};
use crate::tls;
use crate::unsupported::{ServerCheck, UnsupportedServer};
use crate::url_forms::with_host;

/// The longest time that a statement may take on the server.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(15);

/// The longest pause of a PostgreSQL session within a transaction. No transaction here waits for another program. So a
/// session that pauses longer is frozen or gone, and its locks must not keep the next poller from its term. The limits
/// of MariaDB and MySQL are in `mysql/poller/session`.
const PAUSE_LIMIT: &str = "2s";

/// The longest wait for a connection to a server. It also bounds how late the pool notices that a server is back, or that
/// another one has its address. The pool asks again after up to a fifth of this, and the marks that wait should not be
/// written too late.
pub(crate) const CONNECTION_LIMIT: Duration = Duration::from_secs(4);

/// The connections to the database that holds an outbox.
#[derive(Debug, Clone)]
pub enum Database {
    /// PostgreSQL 13 or later.
    Postgres(PgPool),
    /// MySQL 8.4 or 9, or MariaDB 10.6 or later.
    MySql(MySqlPool),
    /// The SQLite that is built into the program. An application may bring its own: 3.35 or later.
    Sqlite(SqlitePool),
}

/// The dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// What MySQL and MariaDB share.
    MySql,
    /// SQLite.
    Sqlite,
}

/// Where the outbox is, and how many connections to it may be used.
#[derive(Clone)]
pub struct ConnectOptions<'a> {
    /// The URL: `postgres://`, `mysql://`, `mariadb://` or `sqlite://`.
    pub url: &'a str,
    /// PostgreSQL: the schema that holds the tables, if it is not the one of the role's `search_path`.
    pub schema: Option<&'a str>,
    /// The most connections of the pool. On PostgreSQL the loop and the listener of a poller have one more each.
    pub connections: u32,
}

/// Leaves out the URL, which may hold a password.
impl fmt::Debug for ConnectOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectOptions")
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// The connections of a pool, counted. In all they are as many as the pool may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    /// Those at work, and those that are being made.
    pub in_use: u32,
    /// Those that are open and have no work.
    pub idle: u32,
    /// Those that the pool may still open.
    pub unopened: u32,
}

impl Connections {
    fn of<DB: sqlx::Database>(pool: &Pool<DB>) -> Self {
        let (most, open) = (pool.options().get_max_connections(), pool.size());
        let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX).min(open);
        Self { in_use: open - idle, idle, unopened: most.saturating_sub(open) }
    }
}

/// The database could not be reached, or its URL cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL has the scheme of none of the databases.
    #[error("database.url begins with `{scheme}`; it must be postgres://, mysql://, mariadb:// or sqlite://")]
    Scheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The server could not be verified, and the URL does not say that it need not be.
    #[error(
        "cannot connect to the outbox database: {}. A server beyond this machine is verified by TLS: add {verified} to \
         database.url to name the authority of its certificate, or {unverified} where nobody can come between",
        words(source)
    )]
    Unverified {
        /// What went wrong.
        source: sqlx::Error,
        /// The parameters that name an authority.
        verified: &'static str,
        /// The parameter by which nothing is verified.
        unverified: &'static str,
    },
    /// No outbox works in this database, or through what stands before it.
    #[error("cannot use the outbox database: {0}")]
    Unsupported(#[from] UnsupportedServer),
    /// None of the servers that answer is one that a poller can use.
    #[error("cannot connect to the outbox database: {why}")]
    NoWriter {
        /// Why the last one is not.
        why: String,
    },
    /// There is no file, and it is not to be made.
    #[error("there is no database file {}: `outbox migrate` and `outbox run` make it", file.display())]
    NoFile {
        /// The file of SQLite.
        file: std::path::PathBuf,
    },
    /// No file can be made where the file of the database is, or would be.
    #[error(
        "cannot open the database file {}: no file can be made in its folder, {} ({problem}), and SQLite makes files beside the \
         database while it is used. Make the folder, or let this user write to it, or name another file in database.url",
        file.display(),
        file.parent().unwrap_or(file).display()
    )]
    Folder {
        /// The file of SQLite.
        file: std::path::PathBuf,
        /// What the system says.
        problem: std::io::Error,
    },
    /// The URL cannot be read, or the database was not reached.
    #[error("cannot connect to the outbox database: {}", words(.0))]
    Connect(#[from] sqlx::Error),
}

impl Database {
    /// Connects. A SQLite file that does not exist yet is created.
    pub async fn connect(options: &ConnectOptions<'_>) -> Result<Self, ConnectError> {
        connect(options, None).await
    }

    /// The same for a poller, whose process knows of failovers: no connection leads to a server that takes no writes, or that the
    /// database has left behind.
    pub async fn connect_to_poll(
        options: &ConnectOptions<'_>,
        lineages: &Arc<Lineages>,
        durability: Durability,
    ) -> Result<Self, ConnectError> {
        let told = durability.of_a_poller();
        let connected =
            connect(options, Some(Admission { lineages: lineages.clone(), takes: Takes::Writers, told })).await;
        match (connected, lineages.refusal()) {
            (Err(ConnectError::Connect(sqlx::Error::PoolTimedOut)), Some(why)) => Err(ConnectError::NoWriter { why }),
            (connected, _) => connected,
        }
    }

    /// The same for what people ask of that process: a server that takes no writes has answers too.
    pub async fn connect_to_ask(
        options: &ConnectOptions<'_>,
        lineages: &Arc<Lineages>,
        durability: Durability,
    ) -> Result<Self, ConnectError> {
        let told = durability.of_people();
        connect(options, Some(Admission { lineages: lineages.clone(), takes: Takes::Readers, told })).await
    }

    /// Connects to what is there: a SQLite file that does not exist is not created.
    pub async fn connect_to_existing(options: &ConnectOptions<'_>) -> Result<Self, ConnectError> {
        if options.url.starts_with("sqlite:") {
            let connect = SqliteConnectOptions::from_str(options.url)?;
            let file = connect.get_filename();
            if is_a_file(file) && !file.exists() {
                let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
                return Err(ConnectError::NoFile { file });
            }
        }
        Self::connect(options).await
    }

    /// The dialect of this database.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::MySql(_) => Dialect::MySql,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Why no connection can be made. None where one can. A pool says only that it waited in vain. This tries once,
    /// beside the pool, and gets the server's own words.
    pub async fn refusal(&self) -> Option<sqlx::Error> {
        match self {
            Self::Postgres(pool) => pool.connect_options().connect().await.err(),
            Self::MySql(pool) => pool.connect_options().connect().await.err(),
            Self::Sqlite(pool) => pool.connect_options().connect().await.err(),
        }
    }

    /// Asks the server again whether a poller can use it, on a connection that [`Self::connect_to_poll`] made. Where commits are
    /// to wait for a standby, also whether they wait in vain.
    ///
    /// # Errors
    /// Why it cannot: the server turned into a standby, or is away. That connection is closed.
    pub async fn ask_again(&self, lineages: &Arc<Lineages>, durability: Durability) -> sqlx::Result<()> {
        let admission = Admission { lineages: lineages.clone(), takes: Takes::Writers, told: None };
        match self {
            Self::Postgres(pool) => {
                let mut session = Session::open(pool).await?;
                admission.of(lineage::read_postgres(&mut session).await)?;
                if durability != Durability::Local {
                    let waiting = sqlx::query_scalar(query!("postgres/poller/waiting_for_standby"));
                    match waiting.fetch_one(&mut *session).await {
                        Ok(waiting) => lineages.wait_for_standby(waiting),
                        // It need not know.
                        Err(sqlx::Error::Database(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                session.finish();
            }
            Self::MySql(pool) => {
                let mut session = Session::open(pool).await?;
                admission.of(lineage::ask_mysql(&mut session).await)?;
                session.finish();
            }
            Self::Sqlite(_) => {}
        }
        Ok(())
    }

    /// The connections of the pool now.
    pub fn connections(&self) -> Connections {
        match self {
            Self::Postgres(pool) => Connections::of(pool),
            Self::MySql(pool) => Connections::of(pool),
            Self::Sqlite(pool) => Connections::of(pool),
        }
    }

    /// Closes the idle connections, since one of their age got no answer. A connection to a server that is gone without a
    /// word does not know it, and whoever used it next would wait in vain.
    pub fn distrust(&self) {
        match self {
            Self::Postgres(pool) => distrust(pool),
            Self::MySql(pool) => distrust(pool),
            Self::Sqlite(_) => {}
        }
    }

    /// Closes every connection, after the statements that are under way.
    pub async fn close(&self) {
        match self {
            Self::Postgres(pool) => pool.close().await,
            Self::MySql(pool) => pool.close().await,
            Self::Sqlite(pool) => pool.close().await,
        }
    }
}

async fn connect(options: &ConnectOptions<'_>, admission: Option<Admission>) -> Result<Database, ConnectError> {
    match options.url.split_once(':').map_or(options.url, |(scheme, _)| scheme) {
        "postgres" | "postgresql" => postgres(options, admission).await.map(Database::Postgres),
        "mysql" | "mariadb" => mysql(options, admission).await.map(Database::MySql),
        "sqlite" => Ok(Database::Sqlite(sqlite(options).await?)),
        scheme => Err(ConnectError::Scheme { scheme: scheme.to_owned() }),
    }
}

async fn postgres(options: &ConnectOptions<'_>, admission: Option<Admission>) -> Result<PgPool, ConnectError> {
    // As the server shows it.
    let limit = format!("{}s", STATEMENT_LIMIT.as_secs());
    let url = with_host(options.url);
    let (connect, verified) = tls::of_postgres(&url, PgConnectOptions::from_str(&url)?);
    if let Some(unsupported) = UnsupportedServer::of_host(connect.get_host()) {
        return Err(unsupported.into());
    }
    let mut asked = vec![
        ("default_transaction_isolation", "read committed".to_owned()),
        ("statement_timeout", limit.clone()),
        ("lock_timeout", "5s".to_owned()),
        ("idle_in_transaction_session_timeout", PAUSE_LIMIT.to_owned()),
    ];
    if let Some(schema) = options.schema {
        asked.push(("search_path", format!("\"{}\"", schema.replace('"', "\"\""))));
    }
    let connect = connect.application_name("outbox").options(asked.clone()).options([
        // How the server finds out that a replica's host is gone: it must not wait for long to be rid of an answer, nor keep
        // the session for ever.
        ("tcp_user_timeout", limit.as_str()),
        ("tcp_keepalives_idle", "15"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
        // With a million due rows the server would expect a claim to be costly, and compile it each time. That takes
        // 100 ms for a claim of 2 ms.
        ("jit", "off"),
    ]);
    let check = ServerCheck::new(asked);
    let checked = check.clone();
    let pool = asked_after_a_while(PgPoolOptions::new(), admission.clone())
        .max_connections(options.connections)
        .acquire_timeout(CONNECTION_LIMIT)
        .after_connect(move |connection, _| {
            let (admission, check) = (admission.clone(), check.clone());
            Box::pin(async move {
                if !check.of_postgres(connection).await? {
                    return Ok(());
                }
                let Some(admission) = admission else { return Ok(()) };
                if let Some(told) = admission.told {
                    connection.execute(told).await?;
                }
                admission.of_new_postgres(lineage::read_postgres(connection).await).await
            })
        })
        .connect_with(connect.clone());
    let pool = or_cause(pool.await, &connect).await.map_err(|source| {
        if let Some(unsupported) = UnsupportedServer::of_refusal(&source) {
            return unsupported.into();
        }
        if verified && tls::is_unverified(&source) {
            let (verified, unverified) = ("?sslmode=verify-full&sslrootcert=FILE", "?sslmode=prefer");
            return ConnectError::Unverified { source, verified, unverified };
        }
        source.into()
    })?;
    supported(pool, &checked).await
}

/// Has a connection of [`Database::MySql`] check what is inserted, as an application's does. The dispatcher's do without on
/// MariaDB (`mysql/poller/session`).
///
/// # Errors
///
/// The error of the database, where it refuses the setting or is away.
pub async fn check_inserts(connection: &mut MySqlConnection) -> sqlx::Result<()> {
    connection.execute(query!("mysql/poller/checked")).await.map(drop)
}

/// A pool that asks whether a connection still works only after the connection was idle for a while. One that leads to a database of
/// before a failover is closed.
fn asked_after_a_while<DB: sqlx::Database>(options: PoolOptions<DB>, admission: Option<Admission>) -> PoolOptions<DB> {
    let silence = Arc::new(Silence::default());
    options.test_before_acquire(false).before_acquire(move |connection, meta| {
        let (silence, admission) = (silence.clone(), admission.clone());
        Box::pin(async move {
            let of_before = admission.is_some_and(|admission| !admission.lineages.holds(meta.age));
            Ok(!of_before && silence.holds(connection, meta.idle_for).await?)
        })
    })
}

/// Which connections a pool keeps. It closes one that is not admitted, and makes another one while its caller waits.
#[derive(Debug, Clone)]
struct Admission {
    lineages: Arc<Lineages>,
    takes: Takes,
    /// What each connection to PostgreSQL is told of its commits.
    told: Option<&'static str>,
}

impl Admission {
    /// The same for a new connection to PostgreSQL.
    async fn of_new_postgres(&self, server: sqlx::Result<lineage::Server>) -> sqlx::Result<()> {
        self.of(server)?;
        self.until_mended().await;
        Ok(())
    }

    /// The same on MySQL and MariaDB. A node of Galera may lack what this process knows to be committed, as its claims: it is known
    /// once it has that: marks would be refused else, and what was sent would be sent again.
    async fn of_new_mysql(&self, connection: &mut MySqlConnection) -> sqlx::Result<()> {
        let is_new = |server: &lineage::Server| self.lineages.is_new(server);
        let server = lineage::ask_mysql(connection).await;
        if server.as_ref().is_ok_and(is_new) {
            // The others need not keep the server waiting too.
            let _one_at_a_time = self.lineages.meeting().await;
            if server.as_ref().is_ok_and(is_new) {
                self.of(lineage::ask_mysql_after_all(connection).await)?;
            }
        } else {
            self.of(server)?;
        }
        self.until_mended().await;
        Ok(())
    }

    /// A poller's first connections after a failover wait until what it lost is written again.
    async fn until_mended(&self) {
        if self.takes == Takes::Writers {
            self.lineages.until_mended().await;
        }
    }

    fn of(&self, server: sqlx::Result<lineage::Server>) -> sqlx::Result<()> {
        match server {
            Ok(server) => self.lineages.admit(server, self.takes).map_err(|why| sqlx::Error::Configuration(why.into())),
            // The server may be going just now: nothing is known of it.
            Err(error) => {
                tracing::warn!(error = words(&error), "database.not_to_poll");
                Err(error)
            }
        }
    }
}

/// The pool, or the reason why there is none. The pool by itself says only that it waited in vain; one single
/// connection has the server's words.
async fn or_cause<P, C>(pool: sqlx::Result<P>, connect: &C) -> sqlx::Result<P>
where
    C: sqlx::ConnectOptions<Connection: Sized>,
{
    match pool {
        Err(sqlx::Error::PoolTimedOut) => match tokio::time::timeout(CONNECTION_LIMIT, connect.connect()).await {
            Ok(Err(cause)) => Err(cause),
            Ok(Ok(_)) | Err(_) => Err(sqlx::Error::PoolTimedOut),
        },
        made => made,
    }
}

/// The pool, where an outbox works in the database behind it.
async fn supported<DB: sqlx::Database>(pool: Pool<DB>, check: &ServerCheck) -> Result<Pool<DB>, ConnectError> {
    let Some(unsupported) = check.unsupported() else { return Ok(pool) };
    pool.close().await;
    Err(unsupported.into())
}

/// More statements than a connection to MySQL or MariaDB is ever asked. It lets go of none: sqlx 0.9.0 says so to the server in a
/// packet of its own, and the next packet then waits 40 ms for an acknowledgement (Nagle's algorithm, which that release leaves
/// on: <https://github.com/transact-rs/sqlx/issues/4335>).
const KEPT_STATEMENTS: usize = 512;

async fn mysql(options: &ConnectOptions<'_>, admission: Option<Admission>) -> Result<MySqlPool, ConnectError> {
    // The scheme of MariaDB means the same protocol.
    let url = with_host(options.url).replacen("mariadb:", "mysql:", 1);
    let (connect, verified) = tls::of_mysql(&url, MySqlConnectOptions::from_str(&url)?);
    let mut connect = connect.timezone("+00:00".to_owned()).charset("utf8mb4");
    if !url.contains("statement-cache-capacity") {
        connect = connect.statement_cache_capacity(KEPT_STATEMENTS);
    }
    let check = ServerCheck::new(Vec::new());
    let checked = check.clone();
    let pool = asked_after_a_while(MySqlPoolOptions::new(), admission.clone())
        .max_connections(options.connections)
        .acquire_timeout(CONNECTION_LIMIT)
        .after_connect(move |connection, _| {
            let (admission, check) = (admission.clone(), check.clone());
            Box::pin(async move {
                if !check.of_mysql(connection).await? {
                    return Ok(());
                }
                connection.execute(query!("mysql/poller/session")).await?;
                let Some(admission) = admission else { return Ok(()) };
                admission.of_new_mysql(connection).await
            })
        })
        .connect_with(connect.clone());
    let pool = or_cause(pool.await, &connect).await.map_err(|source| {
        if let Some(unsupported) = UnsupportedServer::of_refusal(&source) {
            return unsupported.into();
        }
        if verified && tls::is_unverified(&source) {
            let (verified, unverified) = ("?ssl-mode=VERIFY_IDENTITY&ssl-ca=FILE", "?ssl-mode=PREFERRED");
            return ConnectError::Unverified { source, verified, unverified };
        }
        source.into()
    })?;
    supported(pool, &checked).await
}

async fn sqlite(options: &ConnectOptions<'_>) -> Result<SqlitePool, ConnectError> {
    let connect = SqliteConnectOptions::from_str(options.url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // In KiB. Each connection has a cache of its own, of 2 MB by default. The cache of the system is behind it.
        .pragma("cache_size", "-1024")
        .busy_timeout(STATEMENT_LIMIT);
    let file = connect.get_filename().to_owned();
    for_its_owner(&file);
    let pool = SqlitePoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(STATEMENT_LIMIT)
        .connect_with(connect)
        .await;
    pool.map_err(|source| fault_of_the_folder(&file).unwrap_or_else(|| source.into()))
}

/// Why no file can be made beside the file of a database. SQLite says only that it could not open the file.
fn fault_of_the_folder(file: &std::path::Path) -> Option<ConnectError> {
    if !is_a_file(file) {
        return None;
    }
    let file = std::path::absolute(file).ok()?;
    let beside = file.with_file_name(format!(".outbox-{}", uuid::Uuid::new_v4()));
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside);
    if made.is_ok() {
        let _ = std::fs::remove_file(&beside);
    }
    made.err().map(|problem| ConnectError::Folder { file, problem })
}

/// Makes a database file that is not there yet, so that only its owner may read it: it holds the bodies of messages. SQLite gives
/// the files beside it the same rights. Where this fails, SQLite says why.
fn for_its_owner(file: &std::path::Path) {
    use std::os::unix::fs::OpenOptionsExt;

    if is_a_file(file) {
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    }
}

/// Whether a name in a URL of SQLite is that of a file, and no URI of SQLite's own.
fn is_a_file(name: &std::path::Path) -> bool {
    name.file_name().is_some_and(|name| name != ":memory:") && !name.to_string_lossy().starts_with("file:")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn only_its_owner_reads_a_new_database_file_of_sqlite() {
        use std::os::unix::fs::PermissionsExt;

        let folder = std::env::temp_dir().join(format!("outbox-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("outbox.db");
        let url = format!("sqlite://{}", file.display());
        let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 1 }).await.unwrap();
        database.migrate("default").await.unwrap();
        for name in ["outbox.db", "outbox.db-wal"] {
            let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_password_of_a_database_is_in_no_debug_output() {
        let options = ConnectOptions { url: "postgres://app:s3cret@db/shop", schema: Some("outbox"), connections: 4 };
        let shown = format!("{options:?}");
        assert!(shown.contains("schema: Some(\"outbox\")") && !shown.contains("s3cret"), "{shown}");
    }
}
