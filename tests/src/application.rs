//! An application in any language: it inserts with the database's own command-line program, under a role that has
//! the rights of `outbox-schema/grants` and no other.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Stdio;

use outbox_store::{Database, Dialect};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use url::Url;

use crate::servers::TestDatabase;

/// The rights of this tree.
const GRANTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../outbox-schema/grants");

/// Messages per transaction.
const TRANSACTION: usize = 250;

/// Messages of the transaction that is rolled back after each that is committed.
const ROLLED_BACK: usize = 25;

/// One message in so many has an ordering key, one of so many.
const ORDERED: usize = 8;

/// Runs SQL in a session of the application's own: those of the dispatcher do without the checks of a table on MariaDB. On MySQL it
/// takes dates that are no moment, as an application may.
///
/// # Errors
///
/// The error of the database, where it refuses a statement.
pub async fn execute(database: &Database, sql: &str) -> sqlx::Result<()> {
    let script = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    match database {
        Database::Postgres(pool) => script.execute(pool).await.map(drop),
        Database::MySql(pool) => {
            let mut session = pool.connect_options().connect().await?;
            session.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES,PIPES_AS_CONCAT'").await?;
            script.execute(&mut session).await.map(drop)
        }
        Database::Sqlite(pool) => script.execute(pool).await.map(drop),
    }
}

/// One application, and what it committed and what it rolled back.
#[derive(Debug)]
pub struct Application {
    dialect: Dialect,
    database: String,
    port: String,
    role: String,
    /// The keys of the messages that it committed.
    pub committed: HashSet<String>,
    /// The keys of those that it rolled back.
    pub rolled_back: HashSet<String>,
}

impl Application {
    /// Makes the role of an application in a migrated outbox. SQLite has no roles: there it is whoever may write the
    /// file.
    pub async fn of(database: &TestDatabase) -> Self {
        Self::with_rights(database, Path::new(GRANTS)).await
    }

    /// The same in an outbox of another release, with the rights that it came with: its folder of grants.
    pub async fn with_rights(database: &TestDatabase, grants: &Path) -> Self {
        let url = Url::parse(&database.url).unwrap();
        let (dialect, owner, role_with) = match url.scheme() {
            "postgres" => (Dialect::Postgres, "postgres", postgres_role as fn(&str, &Path) -> String),
            "mysql" => (Dialect::MySql, "outbox", mysql_role as fn(&str, &Path) -> String),
            _ => (Dialect::Sqlite, "", no_role as fn(&str, &Path) -> String),
        };
        let role = format!("shop_{}", &database.name[database.name.len().saturating_sub(12)..]);
        let mut application = Self {
            dialect,
            database: database.name.clone(),
            port: url.port().unwrap_or_default().to_string(),
            role: owner.to_owned(),
            committed: HashSet::new(),
            rolled_back: HashSet::new(),
        };
        application.run(&role_with(&role, grants)).await;
        application.role = role;
        application
    }

    /// Commits `messages` for the channel `http`, some of them with an ordering key, in some transactions; rolls some
    /// others back.
    pub async fn insert(&mut self, messages: usize, target: &str) {
        let mut script = String::new();
        let mut left = messages;
        while left > 0 {
            let some = left.min(TRANSACTION);
            let (kept, undone) = (self.committed.len(), self.rolled_back.len());
            self.committed.extend(keys("kept", kept, some));
            self.rolled_back.extend(keys("undone", undone, ROLLED_BACK));
            transaction(&mut script, keys("kept", kept, some), target, "COMMIT");
            transaction(&mut script, keys("undone", undone, ROLLED_BACK), target, "ROLLBACK");
            left -= some;
        }
        self.run(&script).await;
    }

    /// Commits `messages` for the channel `fcm`, to one device.
    pub async fn push(&mut self, messages: usize) {
        let mut script = String::new();
        for key in keys("pushed", self.committed.len(), messages) {
            let data = format!("{{\"data\": {{\"idempotency_key\": \"{key}\"}}}}");
            writeln!(
                script,
                "INSERT INTO outbox (idempotency_key, channel, target, payload) \
                 VALUES ('{key}', 'fcm', 'token:device', '{data}');"
            )
            .unwrap();
            self.committed.insert(key);
        }
        self.run(&script).await;
    }

    /// Feeds a script to the database's program.
    pub async fn run(&self, script: &str) {
        let mut client = match self.dialect {
            Dialect::Postgres => {
                let mut psql = Command::new("psql");
                psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h127.0.0.1", "-U", &self.role, "-p", &self.port]);
                psql.arg(&self.database);
                psql
            }
            Dialect::MySql => {
                // MariaDB's program, or MySQL's where there is only that.
                let mut mysql = Command::new("sh");
                mysql.args(["-c", "exec $(command -v mariadb || echo mysql) \"$@\"", "sh"]);
                mysql.args(["--no-defaults", "-h127.0.0.1", "-u", &self.role, "-P", &self.port, &self.database]);
                mysql
            }
            Dialect::Sqlite => {
                let mut sqlite = Command::new("sqlite3");
                sqlite.args(["-bail", "-cmd", ".timeout 60000", &self.database]);
                sqlite
            }
        };
        let mut client = client.stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        client.stdin.take().unwrap().write_all(script.as_bytes()).await.unwrap();
        assert!(client.wait().await.unwrap().success(), "the client of {:?} failed: see above", self.dialect);
    }
}

fn keys(word: &'static str, from: usize, count: usize) -> impl Iterator<Item = String> {
    (from..from + count).map(move |number| format!("{word}-{number}"))
}

fn transaction(script: &mut String, keys: impl Iterator<Item = String>, target: &str, end: &str) {
    script.push_str("BEGIN;\nINSERT INTO outbox (idempotency_key, channel, target, payload, ordering_key) VALUES");
    for (place, key) in keys.enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let ordering_key = match place % ORDERED {
            0 => format!("'shop-{}'", place / ORDERED % ORDERED),
            _ => "NULL".to_owned(),
        };
        write!(script, "{comma}\n('{key}', 'http', '{target}', '{{\"order\": \"{key}\"}}', {ordering_key})").unwrap();
    }
    writeln!(script, ";\n{end};").unwrap();
}

fn postgres_role(role: &str, grants: &Path) -> String {
    // The grants speak of the dispatcher's role too.
    format!(
        "CREATE ROLE {role} LOGIN; CREATE ROLE {role}_outbox;\n\
         \\set schema public\n\\set application {role}\n\\set dispatcher {role}_outbox\n{}",
        std::fs::read_to_string(grants.join("postgres.sql")).unwrap()
    )
}

fn mysql_role(role: &str, grants: &Path) -> String {
    let (application, dispatcher) = (format!("'{role}'@'%'"), format!("'{role}_outbox'@'%'"));
    let grants = std::fs::read_to_string(grants.join("mysql.sql")).unwrap();
    let grants = grants.replace("APPLICATION", &application).replace("DISPATCHER", &dispatcher);
    format!("CREATE USER {application}; CREATE USER {dispatcher};\n{grants}")
}

fn no_role(_: &str, _: &Path) -> String {
    String::new()
}
