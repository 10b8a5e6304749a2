//! What every lease provider keeps to: one suite, run on each.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::{Lease, RedisLease, TableLease};
use outbox_schema::{Holder, Shard};
use outbox_tests::{eventually, servers};
use sqlx::{MySqlPool, PgPool, SqlitePool};
use uuid::Uuid;

pub(crate) const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn redis_keeps_the_lease() {
    let (url, outbox) = (servers::redis().await.url(), Uuid::new_v4().to_string());
    lease_conformance(|| Arc::new(RedisLease::new(&url, &outbox).unwrap())).await;
}

#[tokio::test]
async fn a_postgres_table_keeps_the_lease() {
    let pool = PgPool::connect(&servers::postgres().await.database().await.url).await.unwrap();
    let table = "CREATE TABLE outbox_lease (shard smallint PRIMARY KEY, holder varchar(255) NOT NULL, \
                 expires_at timestamptz NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    lease_conformance(|| Arc::new(TableLease::Postgres(pool.clone()))).await;
}

#[tokio::test]
async fn a_mariadb_table_keeps_the_lease() {
    let pool = MySqlPool::connect(&servers::mariadb().await.database().await.url).await.unwrap();
    let table = "CREATE TABLE outbox_lease (shard smallint PRIMARY KEY, \
                 holder varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
                 expires_at datetime(6) NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    lease_conformance(|| Arc::new(TableLease::MySql(pool.clone()))).await;
}

#[tokio::test]
async fn a_sqlite_table_keeps_the_lease() {
    let pool = SqlitePool::connect(&servers::sqlite().url).await.unwrap();
    let table = "CREATE TABLE outbox_lease (shard INTEGER PRIMARY KEY, holder TEXT NOT NULL, \
                 expires_at INTEGER NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    lease_conformance(|| Arc::new(TableLease::Sqlite(pool.clone()))).await;
}

/// `replica` gives the lease as another replica of the same outbox sees it. Each part has a shard of its own.
async fn lease_conformance(replica: impl Fn() -> Arc<dyn Lease>) {
    one_of_many_candidates_wins(&replica, Shard(1)).await;
    an_expired_lease_is_anybodys(&replica, Shard(2)).await;
    only_the_holder_renews_and_releases(&replica, Shard(3)).await;
    the_holder_may_ask_again(&replica, Shard(4)).await;
    a_free_lease_cannot_be_renewed_or_released(&replica, Shard(5)).await;
    shards_are_led_apart(&replica, Shard(6), Shard(7)).await;
}

pub(crate) fn holder() -> Holder {
    Holder::new(&Uuid::new_v4().to_string(), "1")
}

async fn one_of_many_candidates_wins(replica: &impl Fn() -> Arc<dyn Lease>, shard: Shard) {
    for _ in 0..10 {
        let campaigns = (0..8).map(|_| {
            let (lease, holder) = (replica(), holder());
            tokio::spawn(async move { lease.acquire(shard, &holder, LONG).await.unwrap().then_some(holder) })
        });
        let mut winners = Vec::new();
        for campaign in campaigns.collect::<Vec<_>>() {
            winners.extend(campaign.await.unwrap());
        }
        assert_eq!(winners.len(), 1, "the lease was won by {winners:?}");
        let held = replica().current(shard).await.unwrap().unwrap();
        assert_eq!(held.holder, winners[0].as_str());
        assert!(held.remaining <= LONG && held.remaining > LONG / 2, "{held:?}");
        assert!(replica().release(shard, &winners[0]).await.unwrap());
    }
}

async fn an_expired_lease_is_anybodys(replica: &impl Fn() -> Arc<dyn Lease>, shard: Shard) {
    let (lease, first, second) = (replica(), holder(), holder());
    assert!(lease.acquire(shard, &first, Duration::from_secs(1)).await.unwrap());
    let candidate = replica();
    assert!(!candidate.acquire(shard, &second, LONG).await.unwrap());
    eventually("an expired lease is held by nobody", Duration::from_secs(5), async || {
        lease.current(shard).await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(!lease.renew(shard, &first, LONG).await.unwrap(), "an expired lease was regained");
    assert!(candidate.acquire(shard, &second, LONG).await.unwrap());
    assert!(!lease.renew(shard, &first, LONG).await.unwrap(), "somebody else's lease was renewed");
    assert_eq!(lease.current(shard).await.unwrap().unwrap().holder, second.as_str());
}

async fn only_the_holder_renews_and_releases(replica: &impl Fn() -> Arc<dyn Lease>, shard: Shard) {
    let (lease, candidate, first, second) = (replica(), replica(), holder(), holder());
    assert!(lease.acquire(shard, &first, LONG).await.unwrap());
    assert!(!candidate.renew(shard, &second, 3 * LONG).await.unwrap());
    assert!(!candidate.release(shard, &second).await.unwrap());
    assert!(lease.current(shard).await.unwrap().unwrap().remaining <= LONG, "a candidate prolonged the lease");

    assert!(lease.renew(shard, &first, 3 * LONG).await.unwrap());
    assert!(lease.current(shard).await.unwrap().unwrap().remaining > 2 * LONG, "the renewal prolonged nothing");
    assert!(!candidate.acquire(shard, &second, LONG).await.unwrap());

    assert!(lease.release(shard, &first).await.unwrap());
    assert_eq!(lease.current(shard).await.unwrap(), None);
    assert!(!lease.release(shard, &first).await.unwrap(), "a lease was released twice");
    assert!(candidate.acquire(shard, &second, LONG).await.unwrap());
    assert!(!lease.release(shard, &first).await.unwrap(), "somebody else's lease was released");
}

async fn the_holder_may_ask_again(replica: &impl Fn() -> Arc<dyn Lease>, shard: Shard) {
    let (lease, holder) = (replica(), holder());
    assert!(lease.acquire(shard, &holder, LONG).await.unwrap());
    assert!(lease.acquire(shard, &holder, 3 * LONG).await.unwrap());
    let remaining = lease.current(shard).await.unwrap().unwrap().remaining;
    assert!(remaining <= LONG, "asking again prolonged the lease to {remaining:?}");
}

async fn a_free_lease_cannot_be_renewed_or_released(replica: &impl Fn() -> Arc<dyn Lease>, shard: Shard) {
    let lease = replica();
    assert_eq!(lease.current(shard).await.unwrap(), None);
    assert!(!lease.renew(shard, &holder(), LONG).await.unwrap());
    assert!(!lease.release(shard, &holder()).await.unwrap());
    assert_eq!(lease.current(shard).await.unwrap(), None);
}

async fn shards_are_led_apart(replica: &impl Fn() -> Arc<dyn Lease>, one: Shard, other: Shard) {
    let lease = replica();
    assert!(lease.acquire(one, &holder(), LONG).await.unwrap());
    assert!(lease.acquire(other, &holder(), LONG).await.unwrap());
}
