//! How often the loop waits for a database that is far away.

use outbox_store::{ConnectOptions, Database};
use outbox_tests::proxy::Proxy;
use outbox_tests::servers;
use outbox_tests::tables::Tables;

use crate::poller::Poller;

#[tokio::test]
async fn a_look_that_claims_right_after_another_is_one_round_trip_to_postgresql() {
    let database = servers::postgres().await.database().await;
    drop(Tables::migrated(&database.url).await);
    let proxy = Proxy::to(url::Url::parse(&database.url).unwrap().port().unwrap());
    let url = proxy.before(&database.url);
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 1 }).await.unwrap();
    let poller = Poller::begin(&database, "one").await;
    let mut round_trips = Vec::new();
    // The first prepares its statement, and one that comes late asks whether its connection still holds.
    for _ in 0..5 {
        let before = proxy.round_trips();
        poller.look_and_claim().await;
        round_trips.push(proxy.round_trips() - before);
    }
    assert_eq!(round_trips.iter().min(), Some(&1), "{round_trips:?}");
}

#[tokio::test]
async fn a_pool_asks_which_product_its_server_is_on_its_first_connection_alone() {
    for database in [servers::postgres().await.database().await, servers::mariadb().await.database().await] {
        let mut more = Vec::new();
        // One that comes late asks whether its connection still holds.
        for _ in 0..5 {
            // A farewell of the pool before, which may come late too, passes another one.
            let proxy = Proxy::to(url::Url::parse(&database.url).unwrap().port().unwrap());
            let options = ConnectOptions { url: &proxy.before(&database.url), schema: None, connections: 2 };
            let database = Database::connect(&options).await.unwrap();
            let first = proxy.round_trips();
            match &database {
                Database::Postgres(pool) => drop((pool.acquire().await.unwrap(), pool.acquire().await.unwrap())),
                Database::MySql(pool) => drop((pool.acquire().await.unwrap(), pool.acquire().await.unwrap())),
                Database::Sqlite(_) => panic!("SQLite has no server"),
            }
            let second = proxy.round_trips() - first;
            more.push(first.checked_signed_diff(second).unwrap());
            database.close().await;
        }
        // In its session PostgreSQL keeps that it was asked, for the next if a pooler lends it on.
        let most = if database.url.starts_with("postgres") { 2 } else { 1 };
        assert_eq!(more.iter().max(), Some(&most), "{}: {more:?}", database.url);
    }
}
