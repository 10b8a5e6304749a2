//! The lease of one outbox, wherever it is kept.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::{Lease, REDIS_RIGHTS, RedisLease, SessionLease, TableLease};
use outbox_store::{ConnectOptions, Database};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::{SEAT, SOON};
use crate::eventually;
use crate::servers::{self, Cluster, ClusterTls, RedisTls, Sentinels, SentinelsTls, TestDatabase};

/// Where a lease is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// One server, in the clear; Valkey where `OUTBOX_TEST_REDIS` names it.
    Redis,
    /// One server, over TLS, as an ACL user with the documented rights and no others.
    RedisTls,
    /// Whichever server the sentinels call the primary.
    Sentinel,
    /// The same, all of it over TLS.
    SentinelTls,
    /// Whichever node of a cluster has the key.
    Cluster,
    /// The same, all of it over TLS.
    ClusterTls,
    /// A table.
    Postgres,
    /// A table.
    MariaDb,
    /// A table.
    Sqlite,
    /// A session.
    PostgresSession,
    /// A session.
    MariaDbSession,
}

/// One outbox's lease.
#[derive(Debug)]
pub struct Leases {
    provider: Provider,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Redis {
        url: String,
        authority: String,
        outbox: String,
    },
    Table {
        url: String,
        schema: Option<&'static str>,
    },
    /// In which database, and the outbox in it.
    Session {
        url: String,
        schema: Option<&'static str>,
        outbox: String,
    },
}

impl Leases {
    /// That of a new outbox, on servers that others share.
    pub async fn fresh(provider: Provider) -> Self {
        let place = match provider {
            Provider::Redis => Place::redis(servers::redis().await.url(), String::new()),
            Provider::RedisTls => {
                static SHARED: OnceCell<RedisTls> = OnceCell::const_new();
                let server = SHARED.get_or_init(|| RedisTls::start_for(REDIS_RIGHTS)).await;
                Place::redis(server.url(), server.authority())
            }
            Provider::Sentinel => {
                static SHARED: OnceCell<Sentinels> = OnceCell::const_new();
                let servers = SHARED.get_or_init(Sentinels::start).await;
                Place::redis(servers.url(), servers.authority())
            }
            Provider::SentinelTls => {
                static SHARED: OnceCell<SentinelsTls> = OnceCell::const_new();
                let servers = SHARED.get_or_init(SentinelsTls::start).await;
                Place::redis(servers.url(), servers.authority())
            }
            Provider::Cluster => {
                static SHARED: OnceCell<Cluster> = OnceCell::const_new();
                let servers = SHARED.get_or_init(Cluster::start).await;
                Place::redis(servers.url(), servers.authority())
            }
            Provider::ClusterTls => {
                static SHARED: OnceCell<ClusterTls> = OnceCell::const_new();
                let servers = SHARED.get_or_init(ClusterTls::start).await;
                Place::redis(servers.url(), servers.authority())
            }
            Provider::Postgres => Place::table(servers::postgres().await.database().await, None).await,
            Provider::MariaDb => Place::table(servers::mariadb().await.database().await, None).await,
            Provider::Sqlite => Place::table(servers::sqlite(), None).await,
            Provider::PostgresSession => Place::session(servers::postgres().await.database().await, None).await,
            Provider::MariaDbSession => Place::session(servers::mariadb().await.database().await, None).await,
        };
        Self { provider, place }
    }

    /// That of a new outbox in this Redis.
    pub fn in_redis(url: String) -> Self {
        Self { provider: Provider::Redis, place: Place::redis(url, String::new()) }
    }

    /// That of a new outbox in this empty database.
    pub async fn in_table(provider: Provider, database: TestDatabase) -> Self {
        Self { provider, place: Place::table(database, None).await }
    }

    /// The same, held by sessions.
    pub async fn in_session(provider: Provider, database: TestDatabase) -> Self {
        Self { provider, place: Place::session(database, None).await }
    }

    /// That of another outbox, as near to this one as two can be: in the same Redis, in another schema of the same
    /// PostgreSQL database, in another database of the same MariaDB server, in another file.
    pub async fn neighbour(&self) -> Self {
        let place = match &self.place {
            Place::Redis { url, authority, .. } => Place::redis(url.clone(), authority.clone()),
            Place::Table { url, .. } if self.provider == Provider::Postgres => {
                Place::table(TestDatabase { url: url.clone(), name: String::new() }, Some("another_outbox")).await
            }
            Place::Session { url, .. } if self.provider == Provider::PostgresSession => {
                Place::session(TestDatabase { url: url.clone(), name: String::new() }, Some("another_outbox")).await
            }
            Place::Table { .. } | Place::Session { .. } => return Box::pin(Self::fresh(self.provider)).await,
        };
        Self { provider: self.provider, place }
    }

    /// As a replica sees it, over connections of its own. They are made here: on a busy machine handshakes over TLS
    /// may take longer than a call is given.
    pub async fn replica(&self) -> Arc<dyn Lease> {
        match &self.place {
            Place::Redis { url, authority, outbox } => {
                let lease = RedisLease::new(url, authority, outbox, Duration::from_secs(10)).unwrap();
                eventually("a replica is connected", SOON, async || lease.current(&SEAT).await.ok()).await;
                Arc::new(lease)
            }
            Place::Table { url, schema } => Arc::new(match connect(url, *schema, 2).await {
                Database::Postgres(pool) => TableLease::Postgres(pool),
                Database::MySql(pool) => TableLease::MySql(pool),
                Database::Sqlite(pool) => TableLease::Sqlite(pool),
            }),
            Place::Session { url, schema, outbox } => {
                Arc::new(SessionLease::new(connect(url, *schema, 3).await, outbox).await.unwrap())
            }
        }
    }
}

impl Place {
    fn redis(url: String, authority: String) -> Self {
        Self::Redis { url, authority, outbox: Uuid::new_v4().to_string() }
    }

    async fn table(database: TestDatabase, schema: Option<&'static str>) -> Self {
        migrate(&database.url, schema).await;
        Self::Table { url: database.url, schema }
    }

    async fn session(database: TestDatabase, schema: Option<&'static str>) -> Self {
        let outbox = migrate(&database.url, schema).await;
        Self::Session { url: database.url, schema, outbox }
    }
}

/// Makes the tables. Gives the id of the outbox.
async fn migrate(url: &str, schema: Option<&str>) -> String {
    let connected = connect(url, schema, 1).await;
    let made = connected.migrate("default").await.unwrap();
    connected.close().await;
    made.meta.outbox_id.to_string()
}

/// As many connections as a replica has for its lease.
async fn connect(url: &str, schema: Option<&str>, connections: u32) -> Database {
    Database::connect(&ConnectOptions { url, schema, connections }).await.unwrap()
}
