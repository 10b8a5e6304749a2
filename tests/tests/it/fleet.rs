//! A fleet at work: hand-overs under load, a rolling restart, and what an idle fleet asks of its servers.

use std::time::Duration;

use outbox_tests::fleet::Fleet;
use outbox_tests::invariants::{hand_overs_under_load, pollers};
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::stage::Stage;
use outbox_tests::tables::TermRow;

const LATENCY: Duration = Duration::from_millis(20);

/// Three replicas that elect a poller every two seconds deliver 20,000 messages.
async fn hand_over_under_load(database: TestDatabase, redis: Option<String>) {
    let mut stage = Stage::set(database, LATENCY).await;
    stage.application.insert(20_000, "/hook").await;
    let mut fleet = Fleet::start(&stage.settings(redis), 3);
    // The load goes on until there were enough changes of poller, however fast the machine and lucky one replica.
    while !is_enough(&stage.tables.terms().await) {
        if stage.receiver.count() + 2_000 > stage.application.committed.len() {
            stage.application.insert(1_000, "/hook").await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stage.settled().await;
    fleet.stop_all().await;

    let report = stage.check().await;
    report.assert_all_delivered(stage.application.committed.len());
    assert!(report.is_without_duplicates(), "{:?}", report.twice);
    assert!(report.in_doubt.is_empty(), "{:?}", report.in_doubt);
    assert!(is_enough(&report.terms), "{:?}", report.terms);
}

fn is_enough(terms: &[TermRow]) -> bool {
    hand_overs_under_load(terms) >= 5 && pollers(terms) >= 2
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_postgres_and_redis() {
    let database = servers::postgres().await.database().await;
    hand_over_under_load(database, Some(servers::redis().await.url())).await;
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_mariadb_and_redis() {
    let database = servers::mariadb().await.database().await;
    hand_over_under_load(database, Some(servers::redis().await.url())).await;
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_sqlite_and_the_table_lease() {
    hand_over_under_load(servers::sqlite(), None).await;
}
