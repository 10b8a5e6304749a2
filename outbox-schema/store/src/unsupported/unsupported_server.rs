//! Which products and poolers are refused, how they are known, and what to do instead.
//!
//! What only descends from the original is none of these: Aurora and other services with PostgreSQL or MySQL in them, Percona's
//! server, MariaDB, a coordinator of Citus whose outbox is a local table, a pooler that keeps sessions and whose role has what was
//! asked for.

use std::fmt;

use outbox_schema::words::{SHARES_SESSIONS, words};

/// A product that speaks the protocol of PostgreSQL or MySQL, and lacks what an outbox is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// Its advisory locks do nothing (<https://github.com/cockroachdb/cockroach/issues/13546>). `version()` begins with its name
    /// (<https://www.cockroachlabs.com/docs/stable/functions-and-operators#system-info-functions>).
    CockroachDb,
    /// It has neither triggers nor functions in PL/pgSQL
    /// (<https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-postgresql-compatibility-unsupported-features.html>),
    /// nor locks (<https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-concurrency-control.html>). Its host says
    /// what it is, and so does the table `sys.iam_pg_role_mappings`.
    AuroraDsql,
    /// It has neither procedures nor triggers (<https://docs.pingcap.com/tidb/stable/mysql-compatibility>). `version()` has its name,
    /// unless somebody set another one; `version_comment` has it too (<https://docs.pingcap.com/tidb/stable/system-variables>).
    TiDb,
    /// It has neither procedures nor `JSON_TABLE` (<https://planetscale.com/docs/vitess/troubleshooting/mysql-compatibility>).
    /// `version()` ends in its name (`mysql_server_version`, <https://vitess.io/docs/reference/programs/vtgate/>).
    Vitess,
}

impl Product {
    fn name(self) -> &'static str {
        match self {
            Self::CockroachDb => "CockroachDB",
            Self::AuroraDsql => "Aurora DSQL",
            Self::TiDb => "TiDB",
            Self::Vitess => "Vitess (PlanetScale, for one)",
        }
    }

    fn lack(self) -> &'static str {
        match self {
            Self::CockroachDb => "its advisory locks say yes and lock nothing, so two replicas would poll at once",
            Self::AuroraDsql => "it has no locks, no triggers and no functions in PL/pgSQL",
            Self::TiDb => "it has no procedures and no triggers",
            Self::Vitess => "it has no procedures and no JSON_TABLE, and keeps rows on several servers",
        }
    }

    fn instead(self) -> &'static str {
        match self {
            Self::CockroachDb => "PostgreSQL 13 or later",
            Self::AuroraDsql => "PostgreSQL 13 or later, such as Aurora PostgreSQL",
            Self::TiDb | Self::Vitess => "MySQL 8.4 or 9, or MariaDB 10.6 or later",
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why no outbox works in the database behind an address, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedServer {
    /// The server is of another product.
    #[error(
        "it is {0}, which is refused: {lack}. Keep the outbox in {instead}",
        lack = .0.lack(),
        instead = .0.instead()
    )]
    Product(Product),
    /// `YugabyteDB`, whose transactions are of another isolation than they were asked to be.
    #[error(
        "it is YugabyteDB, where transactions that ask for read committed are {effective}, which is refused: who waited \
         for a row has to see what became of it. Start its tservers with yb_enable_read_committed_isolation=true, or keep the \
         outbox in PostgreSQL 13 or later"
    )]
    Isolation {
        /// The isolation in effect.
        effective: String,
    },
    /// Citus has tables of the outbox on other nodes, as `pg_dist_partition` shows
    /// (<https://docs.citusdata.com/en/stable/develop/api_metadata.html>). `SELECT … FOR UPDATE` works for a single shard only
    /// (<https://docs.citusdata.com/en/v11.3/develop/reference_workarounds.html>).
    #[error(
        "Citus distributes {}, which is refused: it locks the rows of one node only, and a claim takes from all. Make each a local table \
         of the coordinator: {}; where the schema is distributed, SELECT citus_schema_undistribute('its_name')",
        .tables.join(", "),
        undistribute(tables)
    )]
    Distributed {
        /// The tables.
        tables: Vec<String>,
    },
    /// A pooler dropped what a connection asked for as it began.
    #[error(
        "a pooler stands before the database, and drops what connections ask for as they begin ({}), as PgBouncer does with \
         ignore_startup_parameters. It is refused, since an outbox relies on them. Lead database.url to the server itself; or have the \
         pooler keep sessions (pool_mode = session), type {} in the database, and start the pooler anew",
        each(dropped, Dropped::in_words),
        each(dropped, Dropped::mended)
    )]
    PoolerDrops {
        /// The parameters that the pooler dropped.
        dropped: Vec<Dropped>,
    },
    /// A pooler refuses connections that ask for anything.
    #[error(
        "a pooler stands before the database, and refuses what connections ask for as they begin, such as statement_timeout: {words}. \
         Lead database.url to the server itself"
    )]
    PoolerRefuses {
        /// Its words.
        words: String,
    },
    /// A pooler lends a session to one connection after the other, as the last one left it.
    #[error(
        "a pooler stands before the database, and {}. It is refused, since an outbox keeps locks and settings in its sessions",
        SHARES_SESSIONS
    )]
    PoolerShares,
}

/// A parameter that a connection asked for as it began, and did not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    parameter: &'static str,
    asked: String,
    found: String,
}

impl Dropped {
    fn in_words(&self) -> String {
        format!("{} is {}, and was to be {}", self.parameter, self.found, self.asked)
    }

    /// The statement that has each session of the role begin with it. A list of names does not stand in quotes.
    fn mended(&self) -> String {
        let Self { parameter, asked, .. } = self;
        let value = if *parameter == "search_path" { asked.clone() } else { format!("'{asked}'") };
        format!("ALTER ROLE its_role SET {parameter} = {value}")
    }
}

fn each(dropped: &[Dropped], said: impl Fn(&Dropped) -> String) -> String {
    dropped.iter().map(said).collect::<Vec<_>>().join("; ")
}

/// What a server of PostgreSQL's protocol says of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) version: String,
    /// Whether its session was another connection's before, and is as that one left it.
    pub(super) is_lent: bool,
    /// Whether it has a table that only Aurora DSQL has.
    pub(super) is_dsql: bool,
    /// Its settings, as far as they are known.
    pub(super) settings: Vec<(&'static str, String)>,
    /// `YugabyteDB` only, where it says so.
    pub(super) effective_isolation: Option<String>,
    /// The tables of the outbox that Citus distributes.
    pub(super) distributed: Vec<String>,
}

impl Answer {
    /// `version()` is `PostgreSQL 11.2-YB-…` (<https://docs.yugabyte.com/stable/releases/versioning/>).
    pub(super) fn is_yugabyte(&self) -> bool {
        self.version.contains("-YB-")
    }
}

/// The isolation that a poller asks for.
const READ_COMMITTED: &str = "read committed";

impl UnsupportedServer {
    /// By the name of the host, which the connection need not reach: `CLUSTER.dsql.REGION.on.aws`
    /// (<https://docs.aws.amazon.com/aurora-dsql/latest/userguide/accessing.html>).
    pub(crate) fn of_host(host: &str) -> Option<Self> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        (host.contains(".dsql") && host.ends_with(".on.aws")).then_some(Self::Product(Product::AuroraDsql))
    }

    /// By the words with which it refuses a connection.
    ///
    /// `PgBouncer` names the parameter (<https://www.pgbouncer.org/config.html#ignore_startup_parameters>); the proxy of RDS has words of
    /// its own (<https://github.com/psycopg/psycopg2/issues/1577>). Vitess refuses a mode that the driver sets
    /// (<https://github.com/transact-rs/sqlx/issues/2034>).
    pub(crate) fn of_refusal(error: &sqlx::Error) -> Option<Self> {
        let sqlx::Error::Database(refusal) = error else { return None };
        Self::of_words(refusal.message(), || words(error))
    }

    fn of_words(message: &str, words: impl FnOnce() -> String) -> Option<Self> {
        let says = |part| message.contains(part);
        if says("unsupported startup parameter") || says("support command-line options") {
            return Some(Self::PoolerRefuses { words: words() });
        }
        (says("PIPES_AS_CONCAT sql_mode") || says("VT12001")).then_some(Self::Product(Product::Vitess))
    }

    /// By what a server of PostgreSQL's protocol says of itself, where connections asked for these parameters.
    pub(super) fn of_postgres(answer: &Answer, asked: &[(&'static str, String)]) -> Option<Self> {
        if answer.version.starts_with("CockroachDB") {
            return Some(Self::Product(Product::CockroachDb));
        }
        if answer.is_dsql {
            return Some(Self::Product(Product::AuroraDsql));
        }
        // The function is the documented one: <https://docs.yugabyte.com/stable/architecture/transactions/isolation-levels/>.
        if answer.is_yugabyte() && answer.effective_isolation.as_deref() != Some(READ_COMMITTED) {
            let effective = answer.effective_isolation.clone().unwrap_or_else(|| "of an unknown isolation".to_owned());
            return Some(Self::Isolation { effective });
        }
        if !answer.distributed.is_empty() {
            return Some(Self::Distributed { tables: answer.distributed.clone() });
        }
        if answer.is_lent {
            return Some(Self::PoolerShares);
        }
        let dropped = asked.iter().filter_map(|(parameter, asked)| {
            let (_, found) = answer.settings.iter().find(|(name, _)| name == parameter)?;
            let dropped = Dropped { parameter, asked: asked.clone(), found: found.clone() };
            (!is_as_asked(asked, found)).then_some(dropped)
        });
        let dropped: Vec<_> = dropped.collect();
        (!dropped.is_empty()).then_some(Self::PoolerDrops { dropped })
    }

    /// By what a server of MySQL's protocol says of itself: `version()` and `version_comment`.
    pub(super) fn of_mysql(said: &str) -> Option<Self> {
        let said = said.to_ascii_lowercase();
        let products =
            [("tidb", Product::TiDb), ("vitess", Product::Vitess), ("planetscale", Product::Vitess)].into_iter();
        products.filter(|(name, _)| said.contains(name)).map(|(_, product)| Self::Product(product)).next()
    }
}

/// Of a search path only the first schema counts, which may be in quotes.
fn is_as_asked(asked: &str, found: &str) -> bool {
    let first = |list: &str| list.split(',').next().unwrap_or_default().trim().replace('"', "");
    first(asked) == first(found)
}

fn undistribute(tables: &[String]) -> String {
    tables.iter().map(|table| format!("SELECT undistribute_table('{table}')")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const POSTGRES: &str =
        "PostgreSQL 15.8 (Debian 15.8-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14), 64-bit";
    const COCKROACH: &str =
        "CockroachDB CCL v24.1.2 (x86_64-pc-linux-gnu, built 2024/06/24 14:32:26, go1.22.3 X:nocoverageredesign)";
    const YUGABYTE: &str =
        "PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6, 64-bit";

    fn answer(version: &str) -> Answer {
        Answer { version: version.to_owned(), ..Answer::default() }
    }

    fn of_version(version: &str) -> Option<UnsupportedServer> {
        UnsupportedServer::of_postgres(&answer(version), &[])
    }

    #[test]
    fn what_speaks_the_protocol_of_postgresql_is_refused_by_its_name_with_a_way_out() {
        let said = of_version(COCKROACH).unwrap().to_string();
        assert!(said.contains("it is CockroachDB") && said.contains("lock nothing") && said.contains("PostgreSQL 13"));
        let dsql = Answer { is_dsql: true, ..answer("PostgreSQL 16") };
        let refused = UnsupportedServer::of_postgres(&dsql, &[]);
        assert_eq!(refused, Some(UnsupportedServer::Product(Product::AuroraDsql)));
        let host = UnsupportedServer::of_host("foo0bar1baz2quux3quuux4.dsql.us-east-1.on.aws");
        assert_eq!(host, refused);
        for host in
            ["db.cluster-c7tj4example.us-east-1.rds.amazonaws.com", "dsql.example", "localhost", "/run/postgresql"]
        {
            assert_eq!(UnsupportedServer::of_host(host), None, "{host}");
        }
    }

    #[test]
    fn what_is_postgresql_within_is_none_of_these() {
        for version in [
            POSTGRES,
            "PostgreSQL 16.1 on x86_64-pc-linux-gnu, compiled by x86_64-pc-linux-gnu-gcc (GCC) 9.5.0, 64-bit",
            "PostgreSQL 17.5 (6bc9ef8) on aarch64-unknown-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit",
        ] {
            assert_eq!(of_version(version), None, "{version}");
        }
    }

    #[test]
    fn yugabytedb_is_refused_unless_its_effective_isolation_is_read_committed() {
        let of = |effective: Option<&str>| {
            let effective_isolation = effective.map(str::to_owned);
            UnsupportedServer::of_postgres(&Answer { effective_isolation, ..answer(YUGABYTE) }, &[])
        };
        assert_eq!(of(Some("read committed")), None);
        let refused = of(Some("repeatable read")).unwrap().to_string();
        assert!(refused.contains("are repeatable read") && refused.contains("yb_enable_read_committed_isolation=true"));
        assert!(of(None).is_some());
    }

    #[test]
    fn a_table_that_citus_distributes_is_refused_with_the_statement_that_makes_it_local() {
        let distributed = vec!["outbox".to_owned(), "outbox_term".to_owned()];
        let refused = UnsupportedServer::of_postgres(&Answer { distributed, ..answer(POSTGRES) }, &[]).unwrap();
        let statements = "SELECT undistribute_table('outbox'); SELECT undistribute_table('outbox_term');";
        assert!(refused.to_string().contains(statements), "{refused}");
    }

    #[test]
    fn a_parameter_that_is_not_as_it_was_asked_for_is_the_work_of_a_pooler() {
        let asked = [("statement_timeout", "15s".to_owned()), ("search_path", "\"outbox\"".to_owned())];
        let of = |timeout: &str, path: &str| {
            let settings = vec![("statement_timeout", timeout.to_owned()), ("search_path", path.to_owned())];
            UnsupportedServer::of_postgres(&Answer { settings, ..answer(POSTGRES) }, &asked)
        };
        for path in ["\"outbox\"", "outbox", "outbox, public"] {
            assert_eq!(of("15s", path), None, "{path}");
        }
        let refused = of("0", "outbox").unwrap().to_string();
        assert!(refused.contains("statement_timeout is 0, and was to be 15s"), "{refused}");
        assert!(refused.contains("ALTER ROLE its_role SET statement_timeout = '15s'"), "{refused}");
        let refused = of("15s", "\"$user\", public").unwrap().to_string();
        assert!(refused.contains("ALTER ROLE its_role SET search_path = \"outbox\""), "{refused}");
        assert_eq!(UnsupportedServer::of_postgres(&answer(POSTGRES), &asked), None, "nothing is known of its settings");
    }

    #[test]
    fn what_speaks_the_protocol_of_mysql_is_refused_by_its_name_with_a_way_out() {
        for (said, product) in [
            (
                "8.0.11-TiDB-v7.5.0 TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible",
                Product::TiDb,
            ),
            ("8.0.36 TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible", Product::TiDb),
            ("8.0.40-Vitess Version: 21.0.0 (Git revision 9a6f5262f7 branch 'HEAD') built on", Product::Vitess),
            ("8.0.34-PlanetScale PlanetScale", Product::Vitess),
        ] {
            let refused = UnsupportedServer::of_mysql(said);
            assert_eq!(refused, Some(UnsupportedServer::Product(product)), "{said}");
            assert!(refused.unwrap().to_string().contains("MySQL 8.4 or 9, or MariaDB 10.6"), "{said}");
        }
        for said in [
            "10.11.6-MariaDB-0+deb12u1 Debian 12",
            "8.4.3 MySQL Community Server - GPL",
            "8.0.39 Source distribution",
            "8.4.2-2 Percona Server (GPL), Release 2, Revision c9bd2a35",
        ] {
            assert_eq!(UnsupportedServer::of_mysql(said), None, "{said}");
        }
    }

    #[test]
    fn who_refuses_what_a_connection_asks_for_is_known_by_its_words() {
        let of = |message: &str| UnsupportedServer::of_words(message, || message.to_owned());
        for message in [
            "unsupported startup parameter: options",
            "unsupported startup parameter in options: statement_timeout",
            "Feature not supported: RDS Proxy currently doesn\u{2019}t support command-line options.",
        ] {
            let refused = of(message).unwrap().to_string();
            assert!(refused.contains(message) && refused.contains("the server itself"), "{refused}");
        }
        for message in [
            "setting the PIPES_AS_CONCAT sql_mode is unsupported",
            "VT12001: unsupported: setting the PIPES_AS_CONCAT sql_mode",
        ] {
            assert_eq!(of(message), Some(UnsupportedServer::Product(Product::Vitess)));
        }
        assert_eq!(of("password authentication failed for user \"outbox\""), None);
        assert_eq!(of("unrecognized configuration parameter \"tcp_user_timeout\""), None);
    }
}
