//! The poller is killed with pushes on the wire, on a channel that sends at most once.

use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::fcm::Behaviour;
use rustix::process::Signal;

use super::{ends, push, stand_in};
use crate::program::{PATIENCE, Program};

const KILLS: usize = 3;

/// Pushes that come in good order before each kill, and as many that are there when it comes.
const PUSHES: usize = 100;

/// A channel has so many in flight from the start.
const IN_FLIGHT: usize = 32;

/// Longer than any poller lives.
const NO_ANSWER: u64 = 600_000;

fn answers_after(milliseconds: u64) -> Behaviour {
    Behaviour { latency_ms: Some(milliseconds), ..Behaviour::default() }
}

#[tokio::test]
async fn at_most_once_what_a_killed_poller_had_on_the_wire_is_a_dead_letter_and_nothing_arrives_twice() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    // The timeout is the shortest that is allowed: what is in doubt is settled after it.
    let settings = format!(
        "[lease]\nttl = \"2s\"\n{}in_doubt = \"dead_letter\"\ntimeout = \"10s\"\nmax_in_flight = {IN_FLIGHT}\n",
        stand_in.channel("push")
    );
    let program = Program::new(&outbox.test.url, &settings);
    let mut arrived_unanswered = 0;
    for kill in 0..KILLS {
        let poller = program.start();
        let delivered = i64::try_from(PUSHES * (kill + 1)).unwrap();
        push(&outbox, "push", (0..PUSHES).map(|number| format!("answered-{kill}-{number}"))).await;
        ends(&outbox, delivered, "status = 'SUCCESS' AND target LIKE 'answered-%'").await;

        stand_in.behave(&answers_after(NO_ANSWER));
        let before = stand_in.counts().received;
        push(&outbox, "push", (0..PUSHES).map(|number| format!("waiting-{kill}-{number}"))).await;
        let on_the_wire = async || (stand_in.counts().received >= before + IN_FLIGHT).then_some(());
        eventually("as many pushes as may be are on the wire", PATIENCE, on_the_wire).await;
        assert_eq!(poller.stop(Signal::KILL).await.0, None);
        arrived_unanswered += stand_in.counts().received - before;
        stand_in.behave(&answers_after(0));
    }
    let replica = program.start();
    ends(&outbox, 0, "status = 'PENDING'").await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));

    let accepted = stand_in.accepted();
    let twice: Vec<_> = accepted.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(stand_in.counts().received, accepted.len());
    let dead = outbox.number("SELECT count(*) FROM outbox WHERE dead_reason = 'in_doubt'").await;
    assert_eq!(dead, i64::try_from(arrived_unanswered).unwrap());
    let all = outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await + dead;
    assert_eq!(all, i64::try_from(2 * PUSHES * KILLS).unwrap());
    assert_eq!(i64::try_from(accepted.len()).unwrap(), all, "each push arrived");
}
