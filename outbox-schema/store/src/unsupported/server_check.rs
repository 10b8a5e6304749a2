//! Asks the server of a new pool which product it is, and whether it took what was asked of it.

use std::sync::{Arc, OnceLock};

use sqlx::postgres::PgRow;
use sqlx::{Executor, MySqlConnection, PgConnection, Row};

use super::unsupported_server::{Answer, UnsupportedServer};
use crate::passing::passes;

/// The parameters that the connections of a pool ask for as they begin, each as the server shows it.
pub(crate) type Parameters = Vec<(&'static str, String)>;

/// What a pool asks its server, once: on its first connection, in one round trip.
#[derive(Debug, Clone)]
pub(crate) struct ServerCheck {
    asked: Arc<Parameters>,
    found: Arc<OnceLock<Option<UnsupportedServer>>>,
}

/// From all that there is to know to the least. A server that lets nobody ask is taken for what it looks like.
const QUESTIONS: [&str; 2] = [query!("postgres/checks/server"), query!("postgres/checks/server_version")];

impl ServerCheck {
    /// The check of a pool whose connections ask for these parameters.
    pub(crate) fn new(asked: Parameters) -> Self {
        Self { asked: Arc::new(asked), found: Arc::default() }
    }

    /// Whether an outbox works there. Where it does not, [`Self::unsupported`] says why.
    pub(crate) async fn of_postgres(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        if self.found.get().is_none() {
            let answer = ask_postgres(connection).await?;
            self.found.get_or_init(|| answer.and_then(|answer| UnsupportedServer::of_postgres(&answer, &self.asked)));
        }
        Ok(self.unsupported().is_none())
    }

    /// The same on MySQL and MariaDB.
    pub(crate) async fn of_mysql(&self, connection: &mut MySqlConnection) -> sqlx::Result<bool> {
        if self.found.get().is_none() {
            let said = ask_mysql(connection).await?;
            self.found.get_or_init(|| said.and_then(|said| UnsupportedServer::of_mysql(&said)));
        }
        Ok(self.unsupported().is_none())
    }

    /// Why no outbox works there. None where one does, or before a connection was made.
    pub(crate) fn unsupported(&self) -> Option<UnsupportedServer> {
        self.found.get().cloned().flatten()
    }
}

async fn ask_postgres(connection: &mut PgConnection) -> sqlx::Result<Option<Answer>> {
    for question in QUESTIONS {
        let Some(row) = answered(connection.fetch_one(sqlx::raw_sql(question)).await)? else { continue };
        let mut answer = read(&row)?;
        answered(connection.execute(sqlx::raw_sql(query!("postgres/checks/server_asked"))).await)?;
        if answer.is_yugabyte() {
            let question = sqlx::raw_sql(query!("postgres/checks/server_yugabyte"));
            let row = answered(connection.fetch_one(question).await)?;
            answer.effective_isolation = row.map(|row| row.try_get(0)).transpose()?;
        }
        if row.try_get("citus")? {
            let rows = answered(connection.fetch_all(sqlx::raw_sql(query!("postgres/checks/server_citus"))).await)?;
            answer.distributed =
                rows.unwrap_or_default().iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?;
        }
        return Ok(Some(answer));
    }
    Ok(None)
}

fn read(row: &PgRow) -> sqlx::Result<Answer> {
    let names = [
        "default_transaction_isolation",
        "search_path",
        "statement_timeout",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
    ];
    let setting = |name| Ok((name, row.try_get::<Option<String>, _>(name)?));
    let settings: Vec<_> = names.into_iter().map(setting).collect::<sqlx::Result<_>>()?;
    Ok(Answer {
        version: row.try_get("version")?,
        is_lent: row.try_get::<Option<bool>, _>("lent")?.unwrap_or_default(),
        is_dsql: row.try_get("dsql")?,
        settings: settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        effective_isolation: None,
        distributed: Vec::new(),
    })
}

async fn ask_mysql(connection: &mut MySqlConnection) -> sqlx::Result<Option<String>> {
    let row = answered(connection.fetch_one(sqlx::raw_sql(query!("mysql/checks/server"))).await)?;
    row.map(|row| row.try_get(0)).transpose()
}

/// None where the server refuses the question. A server that is away, or has too much to do, may answer later.
fn answered<T>(answer: sqlx::Result<T>) -> sqlx::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(sqlx::Error::Database(error)) if !passes(error.as_ref()) => Ok(None),
        Err(error) => Err(error),
    }
}
