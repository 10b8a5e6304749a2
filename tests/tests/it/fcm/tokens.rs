//! Access tokens, seen from the other side.

use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::fcm::{Behaviour, Places};
use rustix::process::Signal;

use super::{all_went_well, each_was_accepted_once, ends, push, revoke, stand_in};
use crate::program::{PATIENCE, Program};

fn devices(word: &'static str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{word}-{number}"))
}

#[tokio::test]
async fn many_pushes_share_one_token_and_one_revoked_is_replaced_once_without_an_attempt() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::from_millis(20)));
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    push(&outbox, "push", devices("first", 500)).await;
    ends(&outbox, 500, "status = 'SUCCESS'").await;
    assert_eq!(stand_in.counts().tokens_asked, 1);

    stand_in.behave(&revoke());
    push(&outbox, "push", devices("second", 500)).await;
    ends(&outbox, 1000, "status = 'SUCCESS'").await;
    assert_eq!(stand_in.counts().tokens_asked, 2);
    assert!(stand_in.received().iter().any(|sent| sent.status == 401));
    all_went_well(&outbox).await;
    each_was_accepted_once(&outbox, &stand_in).await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn pushes_flow_while_the_token_server_is_down_as_long_as_the_token_holds() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    // Renewed after half of it.
    stand_in.behave(&Behaviour { token_seconds: Some(16), ..Behaviour::default() });
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    push(&outbox, "push", devices("first", 1)).await;
    ends(&outbox, 1, "status = 'SUCCESS'").await;
    stand_in.behave(&Behaviour { tokens_down: Some(true), token_seconds: Some(3600), ..Behaviour::default() });
    let mut pushed = 1;
    // Until a renewal has been tried in vain.
    while stand_in.counts().tokens_asked < 2 {
        push(&outbox, "push", [format!("later-{pushed}")]).await;
        pushed += 1;
        ends(&outbox, pushed, "status = 'SUCCESS'").await;
    }
    push(&outbox, "push", devices("down", 100)).await;
    ends(&outbox, pushed + 100, "status = 'SUCCESS'").await;
    all_went_well(&outbox).await;

    // Without a token they wait, and go out when there is one again.
    stand_in.behave(&revoke());
    push(&outbox, "push", devices("without", 10)).await;
    let waits = async || {
        let waits = "SELECT count(*) FROM outbox WHERE last_error LIKE 'cannot get an access token%' AND attempts = 0";
        (outbox.number(waits).await > 0).then_some(())
    };
    eventually("a push waits for a token", PATIENCE, waits).await;
    stand_in.behave(&Behaviour { tokens_down: Some(false), ..Behaviour::default() });
    ends(&outbox, pushed + 110, "status = 'SUCCESS' AND attempts = 1").await;
    each_was_accepted_once(&outbox, &stand_in).await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn without_credentials_in_the_settings_they_are_those_that_the_environment_names() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    let Places { credentials, project_id, .. } = stand_in.places();
    let channel = stand_in.channel("push").replace(&credentials.display().to_string(), "");
    push(&outbox, "push", devices("device", 1)).await;
    let program = Program::new(&outbox.test.url, &format!("{channel}project_id = \"{project_id}\"\n"));
    let mut replica = program.command(&["run", "--until-empty"]);
    let ran = replica.env("GOOGLE_APPLICATION_CREDENTIALS", credentials).output().await.unwrap();
    assert!(ran.status.success(), "{ran:?}");
    all_went_well(&outbox).await;
    each_was_accepted_once(&outbox, &stand_in).await;
}
