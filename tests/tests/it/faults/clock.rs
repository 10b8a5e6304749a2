//! The wall clock of a replica jumps by an hour.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Run, repeat};
use outbox_tests::fleet::{Led, PATIENCE, Place, Settings};
use outbox_tests::invariants::{self, Accounts};

use super::postgres_and_redis;

/// Gives a process another wall clock; its other clocks stay.
pub(crate) fn libfaketime() -> PathBuf {
    let directories = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/lib64"];
    let found = directories.iter().map(|directory| PathBuf::from(directory).join("faketime/libfaketimeMT.so.1"));
    found.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("no libfaketimeMT.so.1 found. Install the Debian package `libfaketime`, or run `tests/run`, which does")
    })
}

/// How far the clock that a replica logs by is ahead of this process', in seconds.
fn ahead(terms: &[Led], place: Place, since: usize) -> Option<i64> {
    let newest = terms.iter().filter(|term| term.place == place).nth(since)?;
    let (now, began) = (SystemTime::now(), newest.began);
    Some(match began.duration_since(now) {
        Ok(ahead) => i64::try_from(ahead.as_secs()).unwrap(),
        Err(behind) => -i64::try_from(behind.duration().as_secs()).unwrap(),
    })
}

#[tokio::test]
async fn a_wall_clock_that_jumps_by_an_hour_changes_nothing() {
    repeat("wall clocks stepped by an hour, PostgreSQL and Redis", async |dice, figures| {
        let clocks = tempfile::tempdir().unwrap();
        let mut run = Run::begin(postgres_and_redis(16).await, |settings| Settings {
            term: Duration::from_secs(2),
            timeout: Duration::from_secs(15),
            ..settings
        })
        .await;
        // Three replicas whose wall clocks can be set, in the place of those that have the machine's.
        for place in run.fleet.running() {
            let clock = clocks.path().join(place.to_string());
            std::fs::write(&clock, "+0s").unwrap();
            run.fleet.add(&[
                ("LD_PRELOAD", libfaketime().to_str().unwrap()),
                ("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap()),
                ("FAKETIME_NO_CACHE", "1"),
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ]);
            run.fleet.stop(place).await;
        }
        for _ in 0..CHANGES {
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            let step = dice.one_of(&["+3600s", "-3600s"]);
            std::fs::write(clocks.path().join((poller.place % 3).to_string()), step).unwrap();
            run.successor(&poller).await;
        }
        run.enough_hand_overs().await;
        // They did jump: a term that began since says so in its replica's log.
        let jumped = async || {
            let led = run.fleet.led();
            let jumps = run
                .fleet
                .running()
                .into_iter()
                .filter(|place| (0..).map_while(|nth| ahead(&led, *place, nth)).any(|ahead| ahead.abs() > 3000));
            (jumps.count() > 0).then_some(())
        };
        eventually("a replica lives an hour away", PATIENCE, jumped).await;
        run.stage.settled().await;
        run.fleet.stop_all().await;
        // What the logs say of time is of no use here; of who claimed, it is.
        let accounts = Accounts { led_by_this_clock: false, ..run.stage.accounts(Some(&run.fleet)).await };
        let report = invariants::check(&accounts);
        figures.stood_still(run.machine.stood_still());
        report.assert_all_delivered(run.stage.application.committed.len());
        figures.assert_nothing_in_doubt(&report);
        let ends = report.terms.iter().filter_map(|term| term.ended_because.as_deref());
        assert!(ends.clone().all(|end| end == "interval" || end == "shutdown"), "{:?}", ends.collect::<Vec<_>>());
        figures.count("terms of a run, all of which ended in time", report.terms.len());
    })
    .await;
}
