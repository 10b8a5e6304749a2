//! Asks a server for its lineage, and whether it takes writes.

use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::{Executor, MySqlConnection, PgConnection, Row};

use super::lineage::Lineage;

/// What a new connection learns of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Server {
    /// It takes writes. None where nobody need know its lineage, or it does not say: Aurora's servers share their storage.
    Writer(Option<Lineage>),
    /// It takes no writes, for this reason.
    Reader(String),
}

impl Server {
    /// The lineage of a server that takes writes.
    pub(crate) fn lineage(self) -> Option<Lineage> {
        match self {
            Self::Writer(lineage) => lineage,
            Self::Reader(_) => None,
        }
    }
}

/// What a server says that does not let a role ask, or is none of PostgreSQL's: SQLSTATE `insufficient_privilege`,
/// `undefined_function`, `feature_not_supported`, `syntax_error`.
const NOT_TO_BE_ASKED: [&str; 4] = ["42501", "42883", "0A000", "42601"];

/// From all that there is to know to the least. Each role may ask all, unless somebody took that right away.
const QUESTIONS: [&str; 3] = [
    query!("postgres/poller/lineage"),
    query!("postgres/poller/lineage_without_system"),
    query!("postgres/poller/lineage_none"),
];

/// Asks in one round trip: nothing is prepared for one question.
pub(crate) async fn read_postgres(connection: &mut PgConnection) -> sqlx::Result<Server> {
    for question in QUESTIONS {
        match connection.fetch_one(sqlx::raw_sql(question)).await {
            Ok(row) => return of_postgres(&row),
            Err(sqlx::Error::Database(error))
                if error.code().is_some_and(|code| NOT_TO_BE_ASKED.contains(&code.as_ref())) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Server::Writer(None))
}

const READ_ONLY: &str = "sessions begin with a read-only transaction, by a setting of server, database or role; some services \
                         set it where the disk is full";

fn of_postgres(row: &PgRow) -> sqlx::Result<Server> {
    if row.try_get("recovers")? {
        return Ok(Server::Reader("it is a standby, in recovery".to_owned()));
    }
    if row.try_get("reads_only")? {
        return Ok(Server::Reader(READ_ONLY.to_owned()));
    }
    let timeline: Option<String> = row.try_get("timeline")?;
    let timeline = timeline.and_then(|hex| u32::from_str_radix(&hex, 16).ok());
    let system: Option<&str> = row.try_get("system")?;
    Ok(Server::Writer(timeline.map(|timeline| Lineage::of_postgres(system, timeline))))
}

/// Asks in a transaction: a proxy that splits reads from writes sends a question by itself to a reader.
pub(crate) async fn ask_mysql(connection: &mut MySqlConnection) -> sqlx::Result<Server> {
    connection.execute(query!("mysql/poller/begin")).await?;
    let server = read_mysql(connection).await?;
    connection.execute(query!("mysql/poller/commit")).await?;
    Ok(server)
}

/// Begins a transaction that knows of all that any server of a cluster has committed: a node of Galera waits until it has applied that
/// (<https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables#wsrep_sync_wait>).
pub(crate) async fn begin_after_all(connection: &mut MySqlConnection) -> sqlx::Result<()> {
    let of_galera = connection.fetch_optional(query!("mysql/poller/certifies")).await?.is_some();
    if of_galera {
        connection.execute(query!("mysql/poller/after_all")).await?;
    }
    connection.execute(query!("mysql/poller/begin")).await?;
    if of_galera {
        connection.execute(query!("mysql/poller/after_all_no_more")).await?;
    }
    Ok(())
}

/// Waits until the server has all that any server of its cluster had committed, and asks it again.
pub(crate) async fn ask_mysql_after_all(connection: &mut MySqlConnection) -> sqlx::Result<Server> {
    begin_after_all(connection).await?;
    let server = read_mysql(connection).await?;
    connection.execute(query!("mysql/poller/commit")).await?;
    Ok(server)
}

/// Asks within a transaction.
pub(crate) async fn read_mysql(connection: &mut MySqlConnection) -> sqlx::Result<Server> {
    let rows = connection.fetch_all(sqlx::raw_sql(query!("mysql/poller/lineage"))).await?;
    let variables: Vec<(String, String)> = rows.iter().map(variable).collect::<sqlx::Result<_>>()?;
    Ok(of_mysql(&variables))
}

fn variable(row: &MySqlRow) -> sqlx::Result<(String, String)> {
    Ok((row.try_get::<String, _>(0)?.to_lowercase(), row.try_get(1)?))
}

/// The words for "no" among the values of `read_only`. MariaDB 12 has more than two.
const WRITABLE: [&str; 2] = ["OFF", "0"];

fn of_mysql(variables: &[(String, String)]) -> Server {
    let value = |wanted: &str| variables.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    for name in ["read_only", "super_read_only", "innodb_read_only"] {
        if let Some(value) = value(name)
            && !WRITABLE.contains(&value)
        {
            return Server::Reader(format!("{name} is {value}"));
        }
    }
    if value("aurora_version").is_some() {
        return Server::Writer(None);
    }
    if let Some(uuid) = value("server_uuid") {
        return Server::Writer(Some(Lineage::of_mysql(format!("server {uuid}"))));
    }
    let name = |name| value(name).unwrap_or_default();
    let mut server = format!("{}:{} (server_id {})", name("hostname"), name("port"), name("server_id"));
    if let Some(node) = value("wsrep_node_name").filter(|_| value("wsrep_on") == Some("ON")) {
        server = format!("node {node} at {server}");
    }
    Server::Writer(Some(Lineage::of_mysql(server)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(variables: &[(&str, &str)]) -> Server {
        of_mysql(&variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_of_mysql_is_known_by_its_uuid_and_one_of_mariadb_by_its_place() {
        let of = |server: &str| Server::Writer(Some(Lineage::of_mysql(server.to_owned())));
        let mysql = [("server_uuid", "3e11"), ("hostname", "db"), ("read_only", "OFF"), ("super_read_only", "OFF")];
        assert_eq!(server(&mysql), of("server 3e11"));
        let mariadb =
            [("hostname", "db"), ("port", "3306"), ("server_id", "7"), ("read_only", "OFF"), ("wsrep_on", "OFF")];
        assert_eq!(server(&mariadb), of("db:3306 (server_id 7)"));
        let galera = [mariadb[0], mariadb[1], mariadb[2], ("wsrep_on", "ON"), ("wsrep_node_name", "two")];
        assert_eq!(server(&galera), of("node two at db:3306 (server_id 7)"));
        assert_eq!(server(&[("aurora_version", "3.4"), ("server_uuid", "3e11")]), Server::Writer(None));
    }

    #[test]
    fn whichever_setting_makes_a_server_of_mysql_a_reader_is_named() {
        for (name, value) in
            [("read_only", "ON"), ("super_read_only", "1"), ("read_only", "NO_LOCK"), ("innodb_read_only", "ON")]
        {
            assert_eq!(server(&[("server_uuid", "3e11"), (name, value)]), Server::Reader(format!("{name} is {value}")));
        }
    }
}
