//! Connections that end: FCM goes away and closes what is idle, and no push suffers.

use std::time::Duration;

use outbox_tests::fcm::{Behaviour, Options, Places, StandIn};
use outbox_tests::{eventually, servers};
use rustix::process::Signal;

use super::{all_went_well, each_was_accepted_once, ends, push, stand_in};
use crate::outboxes::Outbox;
use crate::program::{PATIENCE, Program};

const PUSHES: i64 = 3000;

async fn has_received(stand_in: &StandIn, at_least: usize) {
    let reached = async || (stand_in.counts().received >= at_least).then_some(());
    eventually(&format!("{at_least} pushes have come"), PATIENCE, reached).await;
}

/// Closes every connection in good order so many times, evenly among the pushes.
async fn goes_away(stand_in: &StandIn, times: usize) {
    let part = usize::try_from(PUSHES).unwrap() / (times + 1);
    for parts in 1..=times {
        has_received(stand_in, part * parts).await;
        stand_in.behave(&Behaviour { goaway: true, ..Behaviour::default() });
    }
}

#[tokio::test]
async fn a_server_that_goes_away_under_load_fails_no_push_and_makes_no_duplicate() {
    for policy in ["resend", "dead_letter"] {
        let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::from_millis(50)));
        let settings = format!("{}in_doubt = \"{policy}\"\n", stand_in.channel("push"));
        push(&outbox, "push", (0..PUSHES).map(|number| format!("device-{number}"))).await;
        let replica = Program::new(&outbox.test.url, &settings).start_for_good();
        goes_away(&stand_in, 9).await;
        ends(&outbox, PUSHES, "status = 'SUCCESS'").await;
        all_went_well(&outbox).await;
        each_was_accepted_once(&outbox, &stand_in).await;
        let counts = stand_in.counts();
        // At 512 in flight six connections do.
        assert!(counts.connections > 6, "{counts:?}: no connection ended");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

/// Some requests wait on a connection for their turn when it ends.
#[tokio::test]
async fn a_server_that_takes_few_at_a_time_and_goes_away_leaves_no_push_in_doubt() {
    let stand_in =
        StandIn::start(&Options { latency: Duration::from_millis(50), streams: 10, ..Options::default() }).unwrap();
    let outbox = super::outbox().await;
    push(&outbox, "push", (0..PUSHES).map(|number| format!("device-{number}"))).await;
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    goes_away(&stand_in, 4).await;
    ends(&outbox, PUSHES, "status = 'SUCCESS'").await;
    all_went_well(&outbox).await;
    each_was_accepted_once(&outbox, &stand_in).await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn a_push_that_its_connection_does_not_take_goes_over_another_one() {
    let stand_in =
        StandIn::start(&Options { latency: Duration::from_secs(10), streams: 1, ..Options::default() }).unwrap();
    let outbox = super::outbox().await;
    push(&outbox, "push", (0..2).map(|number| format!("device-{number}"))).await;
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    ends(&outbox, 2, "status = 'SUCCESS'").await;
    all_went_well(&outbox).await;
    each_was_accepted_once(&outbox, &stand_in).await;
    assert_eq!(stand_in.counts().connections, 2, "none waited for the answer to the other");
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn connections_that_fcm_closes_when_idle_fail_no_push() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    // Short, so that many a push meets a connection that is just being closed.
    stand_in.behave(&Behaviour { idle_ms: Some(3), ..Behaviour::default() });
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    for number in 1..=150 {
        push(&outbox, "push", [format!("device-{number}")]).await;
        ends(&outbox, number, "status = 'SUCCESS'").await;
    }
    all_went_well(&outbox).await;
    each_was_accepted_once(&outbox, &stand_in).await;
    assert!(stand_in.counts().connections > 50, "{:?}", stand_in.counts());
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn there_are_as_many_connections_as_the_pushes_in_flight_need_and_no_more() {
    const PUSHES: i64 = 1500;
    // Answers are late enough for a slow machine to have all in flight at once; and the channel's own limit is that of slow
    // destinations too.
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::from_secs(4)));
    let settings = format!("{}max_in_flight = 450\n", stand_in.channel("push"));
    push(&outbox, "push", (0..PUSHES).map(|number| format!("device-{number}"))).await;
    let replica = Program::new(&outbox.test.url, &settings).start_for_good();
    ends(&outbox, PUSHES, "status = 'SUCCESS'").await;
    let counts = stand_in.counts();
    assert_eq!((counts.connections, counts.most_connections), (5, 5), "450 in flight, 100 on each");
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn a_channel_that_trusts_its_own_authority_alone_does_not_trust_those_of_the_system() {
    let outbox = Outbox::open(servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let (of_the_system, another) = (stand_in(Duration::ZERO), stand_in(Duration::ZERO));
    let trusts = |name: &str, tls_ca: &str, tls_roots: &str| {
        let Places { base_url, credentials, .. } = of_the_system.places();
        format!(
            "[channels.{name}]\nkind = \"fcm\"\nbase_url = \"{base_url}\"\ncredentials = \"{}\"\ntls_ca = \"{tls_ca}\"\n\
             tls_roots = \"{tls_roots}\"\nallow_networks = [\"127.0.0.0/8\", \"::1/128\"]\n",
            credentials.display()
        )
    };
    let own = another.places().tls_ca.display().to_string();
    let program = Program::new(&outbox.test.url, &(trusts("both", &own, "system") + &trusts("alone", &own, "none")));
    for channel in ["both", "alone"] {
        push(&outbox, channel, ["a-phone".to_owned()]).await;
    }
    // Where a machine keeps its authorities (https://docs.rs/rustls-native-certs).
    let mut run = program.command(&["run", "--until-empty"]);
    let ran = run.env("SSL_CERT_FILE", &of_the_system.places().tls_ca).output().await.unwrap();
    assert!(ran.status.success(), "{ran:?}");
    ends(&outbox, 1, "channel = 'both' AND status = 'SUCCESS'").await;
    ends(&outbox, 1, "channel = 'alone' AND status = 'PENDING' AND last_error LIKE 'cannot connect to %'").await;
}
