//! The button of the overview that wakes the poller.

use super::browser::Browser;
use super::chromium::{sign_in, to};
use super::{OPERATES, READS, Stage, TOKENS};
use crate::outboxes;
use crate::program::{HTTP, Program};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_has_the_poller_look_at_once_and_hears_where_a_replica_cannot_pass_that_on() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    browser.says("polled").await;
    browser.click("Poll now").await;
    browser.says("This replica polls, and now looks for what is due.").await;
    browser.click("To the overview").await;
    browser.says("Who polls").await;

    let other = Program::new(&outbox.test.url, &format!("{TOKENS}{HTTP}"));
    let mut follower = other.start();
    let at_follower = follower.listener().await;
    // A session is known at each replica, whatever its port.
    browser.go(&at_follower).await;
    browser.click("Poll now").await;
    let said = browser.says("This replica does not poll").await;
    assert!(said.contains("The poller finds the message at its next poll at the latest"), "{said}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_reads_has_no_button_that_wakes_the_poller_and_is_refused() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, READS).await;
    let shown = browser.says("Who polls").await;
    assert!(!shown.contains("Poll now"), "{shown}");
    assert_eq!(browser.sends("/wake", "").await, 403);
    to(&browser, "Overview").await;
    browser.close().await;
}
