//! The poller is stopped where it stands, for longer than its lease lasts, and goes on afterwards.

use std::time::{Duration, Instant};

use outbox_dispatcher::fault_point::Point;
use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Settings};
use outbox_tests::tables::AttemptRow;
use rustix::process::Signal;

use super::{IN_FLIGHT, MEASURED, postgres_and_redis};

/// Longer than it takes another to take over, or else nothing that a sleeper hears is in time.
const TIMEOUT: Duration = Duration::from_secs(4);

#[tokio::test]
async fn a_poller_frozen_for_longer_than_its_lease_starts_no_send_when_it_wakes() {
    repeat("pollers frozen with requests in flight, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            let mut run =
                Run::begin(postgres_and_redis(in_flight).await, |settings| Settings { timeout: TIMEOUT, ..settings })
                    .await;
            for nth in 0..MEASURED {
                let poller = run.poller_at_work().await;
                // With every slot on the wire and no answer, none of its messages is between its gate and its socket.
                run.stage.receiver.hold();
                let full = async || (run.stage.receiver.open() == run.in_flight()).then_some(());
                eventually("every slot is on the wire", PATIENCE, full).await;
                run.strikes(&poller);
                run.fleet.signal(poller.place, Signal::STOP);
                run.stage.receiver.release();
                run.taken_over_in_time(figures).await;
                // In turn before what it sent is settled, so that its marks land, and after, so that they are fenced.
                if nth % 2 == 1 {
                    let settled = async || {
                        let attempts = run.stage.tables.attempts().await;
                        let of_it = |attempt: &AttemptRow| attempt.epoch == poller.epoch && attempt.settled == 1;
                        attempts.iter().any(of_it).then_some(())
                    };
                    eventually("what it sent is settled", PATIENCE, settled).await;
                }

                let thawed = Instant::now();
                run.fleet.signal(poller.place, Signal::CONT);
                let reason = run.term_ended(&poller).await;
                assert!(["renewal_failed", "lost", "fenced"].contains(&reason.as_str()), "it ended by {reason}");
                let sent = run.sent_since(poller.place, thawed);
                assert!(sent.is_empty(), "the frozen poller went on sending: {sent:?}");
            }
            let messages = run.stage.application.committed.len();
            run.end(figures).await.assert_all_delivered(messages);
        }
    })
    .await;
}

#[tokio::test]
async fn a_poller_frozen_between_claim_and_send_is_stopped_by_its_gate() {
    repeat("pollers frozen between claim and send, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            let setup = Setup { fault_points: true, ..postgres_and_redis(in_flight).await };
            // What a sleeper hears when it wakes is late, and too late were a doubt.
            let patient = |settings| Settings { timeout: Duration::from_secs(15), ..settings };
            let mut run = Run::begin(setup, patient).await;
            for _ in 0..CHANGES {
                let poller = run.poller_at_work().await;
                run.strikes(&poller);
                run.fleet.arm(poller.place, Point::BeforeGate, "stop");
                let frozen = async || run.fleet.is_frozen(poller.place).then_some(());
                eventually("the poller stands before its gate", PATIENCE, frozen).await;
                run.taken_over_in_time(figures).await;

                run.fleet.signal(poller.place, Signal::CONT);
                run.term_ended(&poller).await;
                let unsent = async || {
                    let attempts = run.fleet.lines(poller.place, "attempt");
                    attempts.into_iter().find(|line| line["outcome"] == "unsent")
                };
                eventually("the gate refuses", PATIENCE, unsent).await;
            }
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            assert_eq!(report.repeats, 0, "{:?}", report.twice);
        }
    })
    .await;
}
