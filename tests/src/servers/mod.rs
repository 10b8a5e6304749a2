//! Servers for tests. `postgres()`, `mariadb()` and `redis()` are shared by the tests of a process, which must
//! neither stop nor freeze them; `Postgres::start()`, `MariaDb::start()` and `Redis::start()` give a test its own.

mod binaries;
mod cluster;
mod database;
mod galera;
mod group;
mod mariadb;
mod patroni;
mod pgbouncer;
mod postgres;
mod redis;
mod sentinel;
mod server;
mod servers;
mod supervisor;

pub use cluster::{Cluster, ClusterTls, NODE_TIMEOUT, Nodes};
pub use database::TestDatabase;
use database::{fresh_name, make_own_authority};
pub use galera::Galera;
pub use group::Group;
pub use mariadb::{MariaDb, MariaDbKind};
pub use patroni::{Member, Patroni};
pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, PostgresKind};
pub use redis::{Redis, RedisKind, RedisTls, RedisTlsKind, Transport};
pub use sentinel::{Sentinels, SentinelsTls, Watched};
pub(crate) use server::process_state;
pub use server::{Commands, Kind, Server};
pub use servers::{mariadb, postgres, redis, sqlite};
