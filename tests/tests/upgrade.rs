//! A rolling upgrade: a fleet of the newest release, under load, to this tree. `tests/run --upgrade` builds that release.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use outbox_tests::application::Application;
use outbox_tests::faults::{Dice, Figures, LATENCY, REPLICAS, Run, repeat};
use outbox_tests::fleet::{Fleet, Settings};
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::stage::Stage;
use outbox_tests::tables::Tables;
use outbox_tests::{eventually, outbox_binary};

/// Messages in flight, so many that each change of poller finds some.
const IN_FLIGHT: u32 = 16;

/// The program of the newest release.
fn released() -> PathBuf {
    let path = std::env::var_os("OUTBOX_TEST_RELEASED").expect("`tests/run --upgrade` builds the release and names it");
    assert!(Path::new(&path).is_file(), "OUTBOX_TEST_RELEASED names {}, which is no file", Path::new(&path).display());
    path.into()
}

fn migrate(program: &Path, database: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["migrate", "--database", database]).current_dir(home.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Migrates under load, then replaces one replica after the other: a poller by `kill -9` or by SIGTERM, the others by SIGTERM.
async fn roll(dice: &mut Dice, figures: &mut Figures, database: TestDatabase, redis: String) {
    let released = released();
    migrate(&released, &database.url);
    let tables = Tables::connected(&database.url).await;
    let application = Application::with_rights(&database, &released.with_file_name("outbox-schema/grants")).await;
    let stage = Stage::around(database, tables, application, LATENCY).await;
    let settings = Settings {
        max_in_flight: IN_FLIGHT,
        term: Duration::from_secs(3),
        timeout: Duration::from_secs(2),
        ..stage.settings(Some(redis))
    };
    let fleet = Fleet::of(&released, &settings, REPLICAS);
    let mut run = Run::of(stage, fleet);

    run.poller_at_work().await;
    let said = migrate(outbox_binary(), &settings.database);
    assert!(said.starts_with("Brought the outbox tables from version"), "{said}");
    // The old replicas go on, on the new tables, over a change of poller.
    let poller = run.poller_at_work().await;
    run.term_ended(&poller).await;
    run.poller_at_work().await;

    run.fleet.upgrade(outbox_binary());
    for _ in 0..REPLICAS {
        let poller = run.poller_at_work().await;
        let old = run.fleet.running().into_iter().filter(|place| *place < REPLICAS).collect::<Vec<_>>();
        let place = if old.contains(&poller.place) { poller.place } else { old[0] };
        if place == poller.place && dice.one_of(&[true, false]) {
            run.strikes(&poller);
            run.fleet.kill(place).await;
        } else {
            let status = run.fleet.stop(place).await;
            assert!(status.success(), "replica {place} ended with {status}");
        }
        run.fleet.add(&[]);
    }
    // All are new: once more a crash, and each has its row.
    let poller = run.poller_at_work().await;
    run.strikes(&poller);
    run.fleet.kill(poller.place).await;
    run.fleet.add(&[]);
    run.enough_hand_overs().await;
    let rows =
        async || (outbox_desk::replicas(run.stage.tables.database()).await.unwrap().len() >= REPLICAS).then_some(());
    eventually("each replica has a row", outbox_tests::fleet::PATIENCE, rows).await;
    let messages = run.stage.application.committed.len();
    run.end(figures).await.assert_all_delivered(messages);
}

#[tokio::test]
async fn a_fleet_is_rolled_from_the_newest_release_to_this_tree_on_postgresql() {
    repeat("rolling upgrade, PostgreSQL and Redis", async |dice, figures| {
        let (database, redis) = (servers::postgres().await.database().await, servers::redis().await.url());
        roll(dice, figures, database, redis).await;
    })
    .await;
}

#[tokio::test]
async fn a_fleet_is_rolled_from_the_newest_release_to_this_tree_on_mariadb() {
    repeat("rolling upgrade, MariaDB and Redis", async |dice, figures| {
        let (database, redis) = (servers::mariadb().await.database().await, servers::redis().await.url());
        roll(dice, figures, database, redis).await;
    })
    .await;
}
