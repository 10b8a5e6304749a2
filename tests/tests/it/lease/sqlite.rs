//! The lease in an SQLite file, whose lock somebody holds nearly always.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox_adapters::{Lease, TableLease};
use outbox_store::{ConnectOptions, Database};
use outbox_tests::conformance::lease::{LONG, SEAT, holder};
use tokio::sync::Notify;

/// How long a writer holds the lock, as on a slow disk, and until it takes it again.
const HELD: [u64; 3] = [50, 65, 80];
const FREE: u64 = 6;

const RENEWALS: u32 = 10;

async fn connect(url: &str) -> sqlx::SqlitePool {
    let connected = Database::connect(&ConnectOptions { url, schema: None, connections: 2 }).await.unwrap();
    let Database::Sqlite(pool) = connected else { panic!("{url}") };
    pool
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_comes_through_between_two_writes_of_others() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", home.path().join("outbox.db").display());
    let (pool, others) = (connect(&url).await, connect(&url).await);
    Database::Sqlite(pool.clone()).migrate("default").await.unwrap();
    let (lease, holder) = (TableLease::Sqlite(pool), holder());
    assert!(lease.acquire(&SEAT, &holder, LONG).await.unwrap());

    let (locked, writes) = (Notify::new(), AtomicU32::new(0));
    let writing = async {
        for held in HELD.into_iter().cycle() {
            let transaction = others.begin_with("BEGIN IMMEDIATE").await.unwrap();
            locked.notify_waiters();
            tokio::time::sleep(Duration::from_millis(held)).await;
            transaction.commit().await.unwrap();
            writes.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(FREE)).await;
        }
    };
    let renewing = async {
        let mut waited_for = 0;
        for _ in 0..RENEWALS {
            locked.notified().await;
            let before = writes.load(Ordering::Relaxed);
            assert!(lease.renew(&SEAT, &holder, LONG).await.unwrap());
            waited_for += writes.load(Ordering::Relaxed) - before;
        }
        waited_for
    };
    let waited_for = tokio::select! {
        () = writing => unreachable!("it writes for ever"),
        waited_for = renewing => waited_for,
    };
    // By SQLite's own wait it is some six writes each.
    assert!(waited_for <= 3 * RENEWALS, "{RENEWALS} renewals waited for {waited_for} writes of others");
}
