//! Which errors of a database may be over a moment later.

use sqlx::error::DatabaseError;

use crate::{ConnectError, SchemaError, tls};

/// PostgreSQL's SQLSTATE classes: connection, transaction state (read-only), transaction rollback, resources, object state (a
/// lock), operator intervention, system error.
const PASSING_ON_POSTGRES: [&str; 7] = ["08", "25", "40", "53", "55", "57", "58"];

/// MySQL and MariaDB: too many connections, out of memory, disk full, table full, lock wait, deadlock, too many connections of
/// this user (two numbers), read-only (by option, by transaction, by mode), statement time, connection killed.
const PASSING_ON_MYSQL: [u16; 16] =
    [1021, 1038, 1040, 1053, 1114, 1203, 1205, 1213, 1226, 1290, 1792, 1836, 1927, 1969, 3024, 4031];

/// Whether the same may succeed a moment later.
pub fn passes(error: &dyn DatabaseError) -> bool {
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return PASSING_ON_MYSQL.contains(&error.number());
    }
    let code = error.code().unwrap_or_default();
    if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return PASSING_ON_POSTGRES.iter().any(|class| code.starts_with(class));
    }
    // SQLite: busy, locked, read-only, input or output, full; the first byte of an extended code.
    matches!(code.parse::<u32>().map(|code| code & 0xff), Ok(5 | 6 | 8 | 10 | 13))
}

/// PostgreSQL: `read_only_sql_transaction`. MySQL and MariaDB: read-only by option, by mode.
const OF_A_READER: (&str, [u16; 2]) = ("25006", [1290, 1836]);

/// Whether the server refuses all writes.
pub(crate) fn is_of_a_reader(error: &dyn DatabaseError) -> bool {
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return OF_A_READER.1.contains(&error.number());
    }
    let of_postgres = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>();
    of_postgres.is_some_and(|error| error.code() == OF_A_READER.0)
}

/// Whether a server may be there a moment later: it cannot be reached, does not answer, starts, or has no connection to spare.
/// A wrong password, an unknown database and a server that cannot be verified stay so until somebody mends them.
fn of_a_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => passes(error.as_ref()),
        sqlx::Error::Io(_) => !tls::is_unverified(error),
        sqlx::Error::PoolTimedOut => true,
        // The connection ended before the server said whether it speaks TLS. The driver takes the end for a zero, which no server
        // sends.
        sqlx::Error::Protocol(words) => words.contains("SSLRequest: 0x00"),
        _ => false,
    }
}

impl ConnectError {
    /// Whether it may be worth to try again, with the settings as they are.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connect(source) => of_a_connection(source),
            Self::NoWriter { .. } => true,
            Self::Scheme { .. }
            | Self::Unsupported(_)
            | Self::Unverified { .. }
            | Self::NoFile { .. }
            | Self::Folder { .. } => false,
        }
    }
}

impl SchemaError {
    /// Whether it may be worth to ask again, with the tables as they are.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Database(source) => of_a_connection(source),
            Self::Absent { .. }
            | Self::Foreign { .. }
            | Self::Unreadable { .. }
            | Self::Encoding { .. }
            | Self::Unfinished
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::OlderFunctions { .. }
            | Self::Environment { .. }
            | Self::EnvironmentName { .. } => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{ConnectOptions, Database};

    #[tokio::test]
    async fn a_server_that_ends_the_connection_before_its_first_word_may_be_there_a_moment_later() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://nobody@127.0.0.1:{}/none", server.local_addr().unwrap().port());
        let ends = tokio::spawn(async move {
            loop {
                let (mut connection, _) = server.accept().await.unwrap();
                // The request for TLS is read, so that the end is no reset.
                let _ = tokio::io::AsyncReadExt::read(&mut connection, &mut [0; 8]).await;
            }
        });
        let options = ConnectOptions { url: &url, schema: None, connections: 1 };
        let error = Database::connect(&options).await.unwrap_err();
        ends.abort();
        assert!(error.may_pass(), "{error}");
    }
}
