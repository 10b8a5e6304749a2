//! The place of a bench: its own schemas, databases or files on the server of the settings, which it removes
//! afterwards. A bench never touches the tables of the outbox that the settings name.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use outbox_store::{ConnectOptions, DEFAULT_ENVIRONMENT, Database, Dialect};
use parking_lot::Mutex;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;
use url::Url;
use uuid::Uuid;

use outbox_config::Config;

/// The beginning of every name that a bench makes.
const PREFIX: &str = "outbox_bench_";

/// How often the bench removes an outbox again after a deadlock with a statement of a replica that it has killed.
const AGAIN: usize = 5;

/// A server, and the names that the bench made on it.
#[derive(Debug)]
pub(super) struct Grounds {
    /// The settings of the operator who runs the bench.
    pub(super) config: Config,
    /// The directory for the settings and logs of the replicas.
    directory: TempDir,
    made: Mutex<Vec<String>>,
}

/// An outbox of the bench, empty at first. No `Debug`: a password must not get into a log.
pub(super) struct Site {
    /// The name of the schema, the database or the file.
    name: String,
    /// The URL of the database, with its password.
    pub(super) url: String,
    /// The schema, on PostgreSQL.
    pub(super) schema: Option<String>,
    /// The connections to the outbox.
    pub(super) database: Database,
    /// The UUID of the outbox.
    pub(super) outbox_id: String,
}

impl Grounds {
    /// Makes the temporary directory. Nothing is made on the server yet.
    pub(super) fn open(config: Config) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("outbox-bench-").tempdir().context("no temporary directory")?;
        Ok(Self { config, directory, made: Mutex::default() })
    }

    /// The directory where replicas keep their settings and logs.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The kind of the database.
    pub(super) fn dialect(&self) -> Dialect {
        self.config.database.dialect
    }

    /// Makes an empty outbox.
    pub(super) async fn site(&self) -> anyhow::Result<Site> {
        let name = format!("{PREFIX}{}", &Uuid::new_v4().simple().to_string()[..12]);
        // The name is noted before anything is made. So an error in between leaves nothing behind.
        self.made.lock().push(name.clone());
        let own = self.config.database.url.expose();
        let (url, schema) = match self.dialect() {
            Dialect::Postgres => {
                self.create("SCHEMA", &name).await?;
                (own.to_owned(), Some(name.clone()))
            }
            Dialect::MySql => {
                self.create("DATABASE", &name).await?;
                let mut url = Url::parse(own).context("database.url")?;
                url.set_path(&name);
                (url.into(), None)
            }
            Dialect::Sqlite => (sqlite_url(&self.file(&name))?, None),
        };
        let options = ConnectOptions { url: &url, schema: schema.as_deref(), connections: 4 };
        let database = Database::connect(&options).await?;
        let outbox_id = database.migrate(DEFAULT_ENVIRONMENT).await?.meta.outbox_id.to_string();
        Ok(Site { name, url, schema, database, outbox_id })
    }

    /// Removes an outbox.
    pub(super) async fn remove(&self, site: Site) -> anyhow::Result<()> {
        site.database.close().await;
        self.remove_named(&site.name).await?;
        self.forget(&site.name);
        Ok(())
    }

    /// Makes a schema or a database. Where the server answers that it did not, nothing is there to be removed.
    async fn create(&self, what: &str, name: &str) -> anyhow::Result<()> {
        let ordered = self.order(&format!("CREATE {what} {name}")).await;
        if let Err(error) = &ordered
            && matches!(error.downcast_ref(), Some(sqlx::Error::Database(_)))
        {
            self.forget(name);
        }
        ordered
    }

    fn forget(&self, name: &str) {
        self.made.lock().retain(|made| made != name);
    }

    /// Removes every outbox that the bench made and has not removed yet.
    ///
    /// # Errors
    /// Names the outbox that is left, and the command that removes it.
    pub(super) async fn clear(&self) -> anyhow::Result<()> {
        let made = std::mem::take(&mut *self.made.lock());
        for name in made {
            self.remove_named(&name).await.with_context(|| format!("left behind; {}", self.how_to_remove(&name)))?;
        }
        Ok(())
    }

    /// For each outbox that another bench left behind or still uses, the command that removes it.
    pub(super) async fn leftovers(&self) -> anyhow::Result<Vec<String>> {
        const SCHEMAS: &str = "SELECT CAST(schema_name AS char(64)) FROM information_schema.schemata \
                               WHERE schema_name LIKE 'outbox\\_bench\\_%' ORDER BY 1";
        let names: Vec<String> = match self.connect().await? {
            Some(Database::Postgres(pool)) => sqlx::query_scalar(SCHEMAS).fetch_all(&pool).await?,
            Some(Database::MySql(pool)) => sqlx::query_scalar(SCHEMAS).fetch_all(&pool).await?,
            Some(Database::Sqlite(_)) | None => self.files()?,
        };
        Ok(names.iter().map(|name| self.how_to_remove(name.trim_end())).collect())
    }

    fn how_to_remove(&self, name: &str) -> String {
        match self.dialect() {
            Dialect::Postgres => format!("DROP SCHEMA {name} CASCADE"),
            Dialect::MySql => format!("DROP DATABASE {name}"),
            Dialect::Sqlite => format!("rm {}*", self.file(name).display()),
        }
    }

    async fn remove_named(&self, name: &str) -> anyhow::Result<()> {
        match self.dialect() {
            Dialect::Postgres => self.drop_named(&format!("DROP SCHEMA IF EXISTS {name} CASCADE")).await,
            Dialect::MySql => self.drop_named(&format!("DROP DATABASE IF EXISTS {name}")).await,
            Dialect::Sqlite => {
                let file = self.file(name);
                for tail in ["", "-wal", "-shm", "-journal"] {
                    let mut path = file.clone().into_os_string();
                    path.push(tail);
                    match std::fs::remove_file(&path) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                        Ok(()) | Err(_) => {}
                    }
                }
                Ok(())
            }
        }
    }

    async fn drop_named(&self, sql: &str) -> anyhow::Result<()> {
        for _ in 0..AGAIN {
            match self.order(sql).await {
                Err(error) if is_deadlock(&error) => {}
                ended => return ended,
            }
        }
        self.order(sql).await
    }

    /// Runs one statement on the server of the settings, however long it takes: removing tables of millions of rows
    /// takes long.
    async fn order(&self, sql: &str) -> anyhow::Result<()> {
        let statement = AssertSqlSafe(sql.to_owned());
        match self.connect().await? {
            Some(Database::Postgres(pool)) => {
                let mut connection = pool.acquire().await?;
                let patience = "SET statement_timeout = 0; SET lock_timeout = '60s'";
                sqlx::raw_sql(patience).execute(&mut *connection).await?;
                sqlx::raw_sql(statement).execute(&mut *connection).await.with_context(|| sql.to_owned())?;
            }
            Some(Database::MySql(pool)) => {
                let mut connection = pool.acquire().await?;
                let patience = "SET SESSION lock_wait_timeout = 60 /*M! , max_statement_time = 0 */";
                sqlx::raw_sql(patience).execute(&mut *connection).await?;
                sqlx::raw_sql(statement).execute(&mut *connection).await.with_context(|| sql.to_owned())?;
            }
            Some(Database::Sqlite(_)) | None => bail!("SQLite has files instead"),
        }
        Ok(())
    }

    /// A connection to the server of the settings. None for SQLite, where connecting would make the file.
    async fn connect(&self) -> anyhow::Result<Option<Database>> {
        let url = self.config.database.url.expose();
        match self.dialect() {
            Dialect::Postgres | Dialect::MySql => {
                Ok(Some(Database::connect(&ConnectOptions { url, schema: None, connections: 1 }).await?))
            }
            Dialect::Sqlite => Ok(None),
        }
    }

    /// The path of a file beside the SQLite file of the settings: the speed of that disk is measured too.
    fn file(&self, name: &str) -> PathBuf {
        // The settings were checked, so the URL is valid. A wrong URL is refused when the bench connects.
        let options = SqliteConnectOptions::from_str(self.config.database.url.expose()).unwrap_or_default();
        options.get_filename().with_file_name(format!("{name}.db"))
    }

    fn files(&self) -> anyhow::Result<Vec<String>> {
        let file = self.file("");
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let found = std::fs::read_dir(directory).with_context(|| directory.display().to_string())?;
        let names = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let ours = names.filter_map(|name| Some(name.strip_suffix(".db")?.to_owned()));
        Ok(ours.filter(|name| name.starts_with(PREFIX)).collect())
    }
}

/// Whether the server broke the statement off because it and another one waited for each other: PostgreSQL's SQLSTATE 40P01, and
/// 40001 with error 1213 on MySQL and MariaDB.
fn is_deadlock(error: &anyhow::Error) -> bool {
    let Some(sqlx::Error::Database(error)) = error.downcast_ref() else { return false };
    matches!(error.code().as_deref(), Some("40P01" | "40001"))
}

/// The URL of a SQLite file. SQLite URLs take options after a question mark, and percent signs before the code of a
/// character.
fn sqlite_url(path: &Path) -> anyhow::Result<String> {
    let path = path.to_str().context("the path in database.url is not UTF-8")?;
    Ok(format!("sqlite://{}", path.replace('%', "%25").replace('?', "%3F")))
}
