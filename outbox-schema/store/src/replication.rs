//! What a database server says of the other servers that have its commits.

use sqlx::mysql::MySqlRow;
use sqlx::{ConnectOptions as _, Connection as _, Executor, MySqlConnection, MySqlPool, PgPool, Row};

use crate::database::CONNECTION_LIMIT;
use crate::session::Session;
use crate::{Database, Durability};

/// What a database server says of the other servers that have its commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replication {
    /// What a commit can wait for, or why there is nothing.
    copies: Result<String, String>,
    /// Why commits do not wait, where that is not asked for. None where they do.
    not_by_itself: Option<String>,
    /// Why no outbox can be dispatched from here, whatever its durability.
    refused: Option<String>,
    /// Whether the server is a node of Galera.
    is_of_galera: bool,
}

impl Database {
    /// What the server says of its replication.
    pub async fn replication(&self) -> sqlx::Result<Replication> {
        match self {
            Self::Postgres(pool) => of_postgres(pool).await,
            Self::MySql(pool) => of_mysql(pool).await,
            Self::Sqlite(_) => Ok(Replication::nowhere("a file of SQLite has no standby")),
        }
    }
}

impl Replication {
    fn nowhere(why: &str) -> Self {
        Self { copies: Err(why.to_owned()), not_by_itself: None, refused: None, is_of_galera: false }
    }

    fn at(what: impl Into<String>) -> Self {
        Self { copies: Ok(what.into()), not_by_itself: None, refused: None, is_of_galera: false }
    }

    /// Why nothing is dispatched with these settings, and what to do.
    pub fn refusal(&self, durability: Durability) -> Option<String> {
        if self.refused.is_some() {
            return self.refused.clone();
        }
        let why = self.copies.as_ref().err().filter(|_| durability != Durability::Local)?;
        Some(format!(
            "database.durability is \"{}\", and there is no standby for commits to wait for: {why}. Mend \
             that; or set database.durability to \"local\", which is right where the storage itself is replicated (RDS Multi-AZ, Cloud \
             SQL, AlloyDB)",
            durability.as_str()
        ))
    }

    /// Whether each server that takes writes has locks of its own.
    pub fn has_locks_by_node(&self) -> bool {
        self.is_of_galera
    }

    /// Whether the last commits can be lost with the server: no other one has them.
    pub fn loses_commits(&self, durability: Durability) -> bool {
        self.copies.is_err() || durability == Durability::Local && self.not_by_itself.is_some()
    }

    /// What the server gives, in one sentence.
    pub fn in_words(&self, durability: Durability) -> String {
        match (&self.copies, durability, &self.not_by_itself) {
            (Err(why), _, _) | (Ok(_), Durability::Local, Some(why)) => {
                format!("no commit waits for another server: {why}")
            }
            (Ok(what), Durability::Replicated, _) => format!("terms and claims wait for another server: {what}"),
            (Ok(what), _, _) => format!("each commit waits for another server: {what}"),
        }
    }
}

async fn of_postgres(pool: &PgPool) -> sqlx::Result<Replication> {
    let row = pool.fetch_one(query!("postgres/checks/replication")).await?;
    let (standbys, commits): (String, String) = (row.try_get("standbys")?, row.try_get("commits")?);
    if row.try_get("shares_storage")? {
        return Ok(Replication::at("the storage of Aurora"));
    }
    if standbys.is_empty() {
        return Ok(Replication::nowhere("synchronous_standby_names is empty"));
    }
    let waits = !["off", "local"].contains(&commits.as_str());
    Ok(Replication {
        not_by_itself: (!waits).then(|| format!("synchronous_commit is {commits} for this role")),
        ..Replication::at(format!("synchronous_standby_names is {standbys:?}"))
    })
}

async fn of_mysql(pool: &MySqlPool) -> sqlx::Result<Replication> {
    let mut session = Session::begin(pool, query!("mysql/poller/begin")).await?;
    let replication = of_variables(&read_replication(&mut session).await?);
    session.commit().await?;
    if !replication.is_of_galera {
        return Ok(replication);
    }
    Ok(Replication { refused: several_writers(&nodes(pool).await?), ..replication })
}

/// Reads in a transaction: a proxy that splits reads from writes sends a question by itself to a reader.
async fn read_replication(connection: &mut MySqlConnection) -> sqlx::Result<Vec<(String, String)>> {
    let variable = |row: MySqlRow| Ok((row.try_get::<String, _>(0)?.to_lowercase(), row.try_get(1)?));
    let mut rows = connection.fetch_all(query!("mysql/checks/replication")).await?;
    rows.extend(connection.fetch_all(query!("mysql/checks/replication_status")).await?);
    rows.into_iter().map(variable).collect()
}

/// So many connections are made to find out whether an address leads to several nodes. A balancer leads each one elsewhere.
const TRIES: usize = 6;

/// The names of the nodes of Galera to which an address leads, in the order in which they were met.
async fn nodes(pool: &MySqlPool) -> sqlx::Result<Vec<String>> {
    let options = pool.connect_options();
    let mut nodes = Vec::new();
    for _ in 0..TRIES {
        let connecting = tokio::time::timeout(CONNECTION_LIMIT, options.connect());
        let mut connection = connecting.await.map_err(|_| sqlx::Error::PoolTimedOut)??;
        connection.execute(query!("mysql/poller/begin")).await?;
        let (_, name): (String, String) =
            sqlx::query_as(query!("mysql/checks/node")).fetch_one(&mut connection).await?;
        nodes.push(name);
        connection.close().await?;
    }
    Ok(nodes)
}

/// Why an outbox cannot be dispatched from these nodes of Galera. An address that leads to another one for good, as after a switch,
/// does not come back to the first.
fn several_writers(met: &[String]) -> Option<String> {
    let mut nodes: Vec<&str> = met.iter().map(String::as_str).collect();
    nodes.dedup();
    let in_turn = nodes.len();
    nodes.sort_unstable();
    nodes.dedup();
    (nodes.len() < in_turn).then(|| {
        format!(
            "database.url leads to several nodes of Galera at once, {}, and the fence between two pollers does not hold there. Lead \
             it to one: HAProxy, `backup` on each server but the first; ProxySQL, max_writers = 1; MaxScale, router = readwritesplit",
            nodes.join(" and ")
        )
    })
}

/// How semi-synchronous replication is called: on MySQL, and on MariaDB and MySQL 8.0
/// (<https://dev.mysql.com/doc/refman/8.4/en/replication-semisync-interface.html>,
/// <https://mariadb.com/docs/server/ha-and-performance/standard-replication/semisynchronous-replication>).
const SEMI_SYNCHRONOUS: [&str; 2] = ["rpl_semi_sync_source", "rpl_semi_sync_master"];

fn of_variables(variables: &[(String, String)]) -> Replication {
    let value =
        |wanted: &str| variables.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value.as_str());
    if !value("aurora_version").is_empty() {
        return Replication::at("the storage of Aurora");
    }
    // Percona's cluster has it ON by itself; a server without a provider is in no cluster.
    if value("wsrep_on") == "ON" && value("wsrep_provider") != "none" {
        let replication = match value("wsrep_cluster_size") {
            "1" => Replication::nowhere("the node of Galera is alone in its cluster (wsrep_cluster_size is 1)"),
            _ => Replication::at("the other nodes of Galera certify it"),
        };
        return Replication { is_of_galera: true, ..replication };
    }
    if !value("group_replication_group_name").is_empty() {
        let refused =
            of_a_group(value("group_replication_single_primary_mode"), value("group_replication_consistency"));
        return Replication { refused, ..Replication::at("Group Replication") };
    }
    for name in SEMI_SYNCHRONOUS {
        let of = |setting: &str| value(&format!("{name}_{setting}"));
        match (of("enabled"), of("wait_point")) {
            ("ON", "AFTER_SYNC") if of("status") == "OFF" => {
                return Replication::nowhere(&format!("no replica answers ({name}_status is OFF)"));
            }
            ("ON", "AFTER_SYNC") => {
                let timeout = of("timeout");
                return Replication::at(format!(
                    "semi-synchronous replication; after {timeout} ms without a replica, {name}_timeout, the server goes on alone"
                ));
            }
            ("ON", point) => {
                return Replication::nowhere(&format!("{name}_wait_point is {point}: set it to AFTER_SYNC"));
            }
            (_, _) => {}
        }
    }
    Replication::nowhere("semi-synchronous replication is off, and the server is in no group")
}

/// Why an outbox cannot be dispatched from a server of MySQL's Group Replication
/// (<https://dev.mysql.com/doc/refman/8.4/en/group-replication-options.html>).
fn of_a_group(single_primary: &str, consistency: &str) -> Option<String> {
    if single_primary == "OFF" {
        return Some(
            "the server is in a group of several writers (group_replication_single_primary_mode is OFF), where the fence between two \
             pollers does not hold: SELECT group_replication_switch_to_single_primary_mode()"
                .to_owned(),
        );
    }
    (consistency == "EVENTUAL").then(|| {
        "group_replication_consistency is EVENTUAL: after a failover the new primary answers before it has all that the old one \
         committed. SET PERSIST group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER', on each server"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn server(variables: &[(&str, &str)]) -> Replication {
        of_variables(&variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_alone_is_refused_where_commits_are_to_wait() {
        let alone = server(&[("wsrep_on", "OFF"), ("rpl_semi_sync_master_enabled", "OFF")]);
        assert_eq!(alone.refusal(Durability::Local), None);
        for (durability, word) in [(Durability::Replicated, "\"replicated\""), (Durability::All, "\"all\"")] {
            let refusal = alone.refusal(durability).unwrap();
            assert!(refusal.contains(word) && refusal.contains("semi-synchronous replication is off"), "{refusal}");
        }
        assert!(alone.loses_commits(Durability::Local));
    }

    #[test]
    fn semi_synchronous_replication_counts_where_it_waits_before_the_commit_is_seen() {
        for name in SEMI_SYNCHRONOUS {
            let [enabled, point, timeout] =
                ["enabled", "wait_point", "timeout"].map(|setting| format!("{name}_{setting}"));
            let right = server(&[(&enabled, "ON"), (&point, "AFTER_SYNC"), (&timeout, "10000")]);
            assert_eq!(right.refusal(Durability::Replicated), None);
            assert!(right.in_words(Durability::Local).contains("after 10000 ms without a replica"));
            let status = format!("{name}_status");
            let gone = server(&[(&enabled, "ON"), (&point, "AFTER_SYNC"), (&status, "OFF")]);
            assert!(gone.refusal(Durability::All).unwrap().contains(&status), "{gone:?}");
            let late = server(&[(&enabled, "ON"), (&point, "AFTER_COMMIT")]);
            assert!(late.refusal(Durability::Replicated).unwrap().contains(&point), "{late:?}");
        }
    }

    #[test]
    fn clusters_that_certify_have_every_commit_elsewhere() {
        for variables in [("wsrep_on", "ON"), ("group_replication_group_name", "aaaa"), ("aurora_version", "3.4")] {
            let cluster = server(&[variables]);
            assert_eq!((cluster.refusal(Durability::All), cluster.loses_commits(Durability::Local)), (None, false));
        }
    }

    #[test]
    fn nodes_that_are_met_in_turn_are_several_writers_and_a_switch_to_another_is_none() {
        let met = |nodes: &[&str]| several_writers(&nodes.iter().map(|&node| node.to_owned()).collect::<Vec<_>>());
        assert_eq!((met(&["a", "a", "a"]), met(&["a", "a", "b"])), (None, None));
        assert!(met(&["a", "b", "b", "a"]).unwrap().contains("at once, a and b,"));
        let alone = server(&[("wsrep_on", "ON"), ("wsrep_cluster_size", "1")]);
        assert!(alone.refusal(Durability::Replicated).unwrap().contains("alone in its cluster"));
        assert!(!server(&[("wsrep_on", "ON"), ("wsrep_provider", "none")]).is_of_galera);
    }

    #[test]
    fn a_group_of_several_writers_or_of_eventual_reads_is_refused_whatever_the_durability() {
        let group = ("group_replication_group_name", "aaaa");
        for wrong in [("group_replication_single_primary_mode", "OFF"), ("group_replication_consistency", "EVENTUAL")] {
            let refusal = server(&[group, wrong]).refusal(Durability::Local).unwrap();
            assert!(refusal.contains(wrong.0) && refusal.contains(wrong.1), "{refusal}");
        }
        let right = [
            group,
            ("group_replication_single_primary_mode", "ON"),
            ("group_replication_consistency", "BEFORE_ON_PRIMARY_FAILOVER"),
        ];
        assert_eq!(server(&right).refusal(Durability::Local), None);
    }
}
