//! The poller is killed: under load, and between the receiver's acceptance and the mark.

use std::time::Duration;

use outbox_dispatcher::fault_point::Point;
use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Figures, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Settings};
use outbox_tests::receiver::Manner;

use super::{IN_FLIGHT, MEASURED, mariadb_and_redis, postgres_and_redis, sqlite_and_table};

/// With a short lease, so that a crash costs little.
const SHORT: Duration = Duration::from_secs(2);

/// Kills the poller under load, again and again.
async fn kill_pollers(what: &str, setup: impl AsyncFn(u32) -> Setup, in_flight: &[u32], ttl: Duration, kills: usize) {
    repeat(what, async |_, figures| {
        for in_flight in in_flight {
            let mut run = Run::begin(setup(*in_flight).await, |settings| Settings { ttl, ..settings }).await;
            for _ in 0..kills {
                let poller = run.poller_at_work().await;
                run.strikes(&poller);
                run.fleet.kill(poller.place).await;
                run.fleet.add(&[]);
                run.taken_over_in_time(figures).await;
            }
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            let unsettled = report.in_doubt.iter().filter(|attempt| attempt.settled == 0).count();
            assert_eq!(unsettled, 0, "nothing but a crash leaves anything in doubt");
        }
    })
    .await;
}

#[tokio::test]
async fn killed_pollers_lose_nothing_and_explain_each_repeat() {
    kill_pollers("pollers killed, PostgreSQL and Redis", postgres_and_redis, &IN_FLIGHT, SHORT, MEASURED).await;
}

#[tokio::test]
async fn killed_pollers_cost_no_more_than_the_default_lease() {
    let (what, ttl) = ("pollers killed, default lease, PostgreSQL and Redis", Duration::from_secs(10));
    kill_pollers(what, postgres_and_redis, &IN_FLIGHT, ttl, MEASURED).await;
}

#[tokio::test]
async fn killed_pollers_lose_nothing_and_explain_each_repeat_on_mariadb() {
    kill_pollers("pollers killed, MariaDB and Redis", mariadb_and_redis, &[16], SHORT, CHANGES).await;
}

#[tokio::test]
async fn killed_pollers_lose_nothing_and_explain_each_repeat_on_sqlite() {
    kill_pollers("pollers killed, SQLite and the table lease", sqlite_and_table, &[16], SHORT, CHANGES).await;
}

/// Kills the poller under load, and when a message is accepted and not marked. The channel tells of each outcome.
async fn kill_pollers_that_tell(what: &str, setup: impl AsyncFn(u32) -> Setup) {
    repeat(what, async |_, figures| {
        let setup = Setup { fault_points: true, ..setup(16).await };
        let mut run = Run::begin(setup, |settings| Settings { ttl: SHORT, tells: true, ..settings }).await;
        for kill in 0..CHANGES {
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            if kill % 2 == 0 {
                run.fleet.kill(poller.place).await;
            } else {
                run.fleet.arm(poller.place, Point::BeforeMark, "kill");
                run.fleet.ended(poller.place).await;
            }
            run.fleet.add(&[]);
            run.next_delivery(&run.last()).await;
        }
        run.stage.settled().await;
        let messages = run.stage.tables.messages().await;
        let (outcomes, others): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| message.idempotency_key.starts_with("outcome:"));
        let mut told: Vec<i64> = outcomes
            .iter()
            .map(|outcome| outcome.idempotency_key.split(':').nth(2).unwrap().parse().unwrap())
            .collect();
        told.sort_unstable();
        assert_eq!(told, others.iter().map(|message| message.id).collect::<Vec<_>>(), "each is told once");
        run.end(figures).await.assert_all_delivered(2 * others.len());
    })
    .await;
}

#[tokio::test]
async fn killed_pollers_tell_each_outcome_once() {
    kill_pollers_that_tell("pollers that tell outcomes killed, PostgreSQL and Redis", postgres_and_redis).await;
    kill_pollers_that_tell("pollers that tell outcomes killed, MariaDB and Redis", mariadb_and_redis).await;
}

/// Kills the poller when the receiver has accepted a message and nothing is marked yet.
async fn kill_before_mark(figures: &mut Figures, setup: Setup, at_most_once: bool) {
    let setup = Setup { fault_points: true, ..setup };
    let mut run = Run::begin(setup, |settings| Settings { at_most_once, ..settings }).await;
    for _ in 0..CHANGES {
        let poller = run.poller_at_work().await;
        run.strikes(&poller);
        run.fleet.arm(poller.place, Point::BeforeMark, "kill");
        run.fleet.ended(poller.place).await;
        run.fleet.add(&[]);
        run.next_delivery(&run.last()).await;
    }
    let committed = run.stage.application.committed.len();
    let report = run.end(figures).await;
    let accepted_and_killed = report.in_doubt.iter().filter(|attempt| attempt.settled == 1).count();
    assert!(accepted_and_killed >= CHANGES, "{:?}", report.in_doubt);
    if at_most_once {
        let parked = report.messages.get("DEAD in_doubt").copied().unwrap_or_default();
        assert_eq!((parked, report.repeats), (accepted_and_killed, 0));
        figures.count("at most once: parked in a run", parked);
    } else {
        report.assert_all_delivered(committed);
        assert!(report.repeats >= CHANGES, "what was accepted and not marked was not sent again");
    }
}

#[tokio::test]
async fn a_kill_between_acceptance_and_mark_sends_again_with_the_same_key() {
    repeat("killed before the mark, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            kill_before_mark(figures, postgres_and_redis(in_flight).await, false).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_kill_between_acceptance_and_mark_sends_again_with_the_same_key_on_mariadb() {
    repeat("killed before the mark, MariaDB and Redis", async |_, figures| {
        kill_before_mark(figures, mariadb_and_redis(16).await, false).await;
    })
    .await;
}

#[tokio::test]
async fn a_kill_between_acceptance_and_mark_is_a_dead_letter_where_the_channel_sends_at_most_once() {
    repeat("killed before the mark, at most once, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            kill_before_mark(figures, postgres_and_redis(in_flight).await, true).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_kill_between_acceptance_and_mark_is_a_dead_letter_at_most_once_on_mariadb() {
    repeat("killed before the mark, at most once, MariaDB and Redis", async |_, figures| {
        kill_before_mark(figures, mariadb_and_redis(16).await, true).await;
    })
    .await;
}

/// Of one message that takes the process with it each time it is sent, among others of its destination.
#[tokio::test]
async fn a_message_that_kills_the_process_ends_dead_within_its_budget_and_its_neighbours_are_delivered() {
    const BUDGET: usize = 3;
    let mut run = Run::begin(postgres_and_redis(16).await, |settings| Settings {
        max_attempts: BUDGET,
        more: "retry.base = \"10ms\"".to_owned(),
        ..settings
    })
    .await;
    run.stage.receiver.behave("/killer", Manner::Hang);
    run.stage.application.insert(1, "/killer").await;
    run.stage.application.insert(400, "/hook").await;
    for nth in 1..=BUDGET {
        let sent = async || {
            let requests = run.stage.receiver.requests();
            requests.into_iter().filter(|request| request.path == "/killer").nth(nth - 1)
        };
        let request = eventually("the message that kills is sent", PATIENCE, sent).await;
        run.fleet.kill(request.replica.expect("replicas say who they are")).await;
        run.fleet.add(&[]);
    }
    run.stage.settled().await;
    run.fleet.stop_all().await;
    let report = run.stage.check(&run.fleet).await;
    assert_eq!(report.messages.get("SUCCESS"), Some(&400), "{:?}", report.messages);
    assert_eq!(report.messages.values().sum::<usize>(), 401);
    let sent = run.stage.receiver.requests().iter().filter(|request| request.path == "/killer").count();
    assert_eq!(sent, BUDGET, "the killer was sent {sent} times");
}
