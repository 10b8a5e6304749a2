//! How often the loop waits for a database that is far away.

use outbox_schema::{ConnectOptions, Database, Holder, Shard, TermId};
use outbox_tests::conformance::store::request;
use outbox_tests::proxy::Proxy;
use outbox_tests::servers;
use outbox_tests::tables::Tables;

#[tokio::test]
async fn a_claim_right_after_another_is_one_round_trip_to_postgresql() {
    let database = servers::postgres().await.database().await;
    drop(Tables::migrated(&database.url).await);
    let proxy = Proxy::to(url::Url::parse(&database.url).unwrap().port().unwrap());
    let url = proxy.before(&database.url);
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 1 }).await.unwrap();
    let store = database.store();
    let holder = Holder::new("a", "1");
    let opened = store.begin_term(Shard(0), &holder).await.unwrap();
    let term = TermId { shard: Shard(0), epoch: opened.epoch, holder };
    let mut round_trips = Vec::new();
    // The first prepares its statement, and one that comes late asks whether its connection still holds.
    for _ in 0..5 {
        let before = proxy.round_trips();
        store.claim(&term, &request(&[])).await.unwrap();
        round_trips.push(proxy.round_trips() - before);
    }
    assert_eq!(round_trips.iter().min(), Some(&1), "{round_trips:?}");
}
