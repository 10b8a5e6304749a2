//! The poller itself breaks: its loop hangs, its watchdog dies, an adapter panics.

use std::time::Duration;

use outbox_dispatcher::fault_point::Point;
use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Settings};

use super::{IN_FLIGHT, postgres_and_redis};

#[tokio::test]
async fn a_watchdog_that_dies_ends_its_term() {
    repeat("watchdogs panic, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            let setup = Setup { fault_points: true, ..postgres_and_redis(in_flight).await };
            let mut run = Run::begin(setup, |settings| settings).await;
            for _ in 0..CHANGES {
                let poller = run.poller_at_work().await;
                run.strikes(&poller);
                run.fleet.arm(poller.place, Point::Renew, "panic");
                assert_eq!(run.term_ended(&poller).await, "renewal_failed");
                run.successor(&poller).await;
            }
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            // It was not killed: what was on the wire came to its end, and was marked.
            figures.assert_nothing_in_doubt(&report);
        }
    })
    .await;
}

#[tokio::test]
async fn a_loop_that_hangs_loses_its_lease() {
    repeat("the loop hangs, PostgreSQL and Redis", async |_, figures| {
        let setup = Setup { fault_points: true, ..postgres_and_redis(16).await };
        // Others change places in good order, or this would take a minute and a half.
        let mut run = Run::begin(setup, |settings| Settings { term: Duration::from_mins(1), ..settings }).await;
        let poller = run.poller_at_work().await;
        let struck = run.strikes(&poller);
        run.fleet.arm(poller.place, Point::Poll, "hang");
        assert_eq!(run.term_ended(&poller).await, "wedged");
        figures
            .time("from the last sign of life to the end of the term (20 s, or the ttl if longer)", struck.elapsed());
        run.successor(&poller).await;
        // A loop that hangs heeds no SIGTERM either.
        run.fleet.kill(poller.place).await;
        run.fleet.add(&[]);
        for _ in 1..CHANGES {
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            run.fleet.stop(poller.place).await;
            run.fleet.add(&[]);
        }
        let messages = run.stage.application.committed.len();
        run.end(figures).await.assert_all_delivered(messages);
    })
    .await;
}

#[tokio::test]
async fn an_adapter_that_panics_leaves_its_message_in_doubt_and_nothing_else() {
    let setup = Setup { fault_points: true, ..postgres_and_redis(16).await };
    let mut run = Run::begin(setup, |settings| Settings { more: "retry.base = \"10ms\"".to_owned(), ..settings }).await;
    let poller = run.poller_at_work().await;
    for _ in 0..3 {
        run.stage.application.insert(100, "/hook").await;
        run.fleet.arm(poller.place, Point::Deliver, "panic");
        let reached = async || run.fleet.reached(poller.place, Point::Deliver).then_some(());
        eventually("an adapter panics", PATIENCE, reached).await;
    }
    run.stage.settled().await;
    assert_eq!(run.fleet.poller(&run.stage.tables).await, poller, "its poller went on");
    run.fleet.stop_all().await;
    let report = run.stage.check(&run.fleet).await;
    report.assert_all_delivered(run.stage.application.committed.len());
    let in_doubt: Vec<_> = report.in_doubt.iter().map(|attempt| attempt.settled).collect();
    assert_eq!(in_doubt, [0, 0, 0], "each panic is an attempt in doubt");
    assert_eq!(report.repeats, 0);
}
