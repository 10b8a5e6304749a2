//! Rows that become due behind what the poller has claimed already.

use std::fmt::Write;
use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, PATIENCE, Settings};
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::stage::Stage;

/// More than the receiver takes in the time that this test lasts.
const BACKLOG: usize = 20_000;

#[tokio::test]
async fn a_late_commit_with_an_old_available_at_overtakes_a_backlog_on_postgres() {
    a_late_commit_overtakes_a_backlog(servers::postgres().await.database().await, "'2001-01-01'").await;
}

#[tokio::test]
async fn a_late_commit_with_an_old_available_at_overtakes_a_backlog_on_mariadb() {
    a_late_commit_overtakes_a_backlog(servers::mariadb().await.database().await, "'2001-01-01'").await;
}

#[tokio::test]
async fn a_late_commit_with_an_old_available_at_overtakes_a_backlog_on_sqlite() {
    a_late_commit_overtakes_a_backlog(servers::sqlite(), "978307200000").await;
}

async fn a_late_commit_overtakes_a_backlog(database: TestDatabase, long_ago: &str) {
    let stage = Stage::set(database, Duration::from_millis(100)).await;
    stage.tables.execute(&backlog(long_ago)).await;
    // One term: a new one would look from the beginning anyway.
    let fleet = Fleet::start(&Settings { term: Duration::from_mins(10), ..stage.settings(None) }, 1);
    let well_into_it = async || (stage.receiver.count() > 200).then_some(());
    eventually("the backlog is being sent", PATIENCE, well_into_it).await;

    let earlier = long_ago.replace("2001", "2000").replace("978", "946");
    let row = format!("('late', 'http', '/hook', '{{}}', {earlier})");
    stage
        .tables
        .execute(&format!("INSERT INTO outbox (idempotency_key, channel, target, payload, available_at) VALUES {row}"))
        .await;
    eventually("it is sent", PATIENCE, async || (stage.receiver.count_of("late") == 1).then_some(())).await;
    assert!(stage.receiver.count() < BACKLOG, "it waited for the whole backlog");
    drop(fleet);
}

fn backlog(available_at: &str) -> String {
    let mut sql = String::from("INSERT INTO outbox (idempotency_key, channel, target, payload, available_at) VALUES ");
    for row in 0..BACKLOG {
        let comma = if row == 0 { "" } else { ", " };
        write!(sql, "{comma}('{row}', 'http', '/hook', '{{}}', {available_at})").unwrap();
    }
    sql
}
