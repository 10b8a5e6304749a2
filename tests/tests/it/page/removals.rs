//! What is removed for good by clicks: one dead letter, and what is past its time.

use outbox_tests::eventually;

use super::browser::Browser;
use super::chromium::{sign_in, to};
use super::{OPERATES, READS, Stage, TOKENS, words};
use crate::changes::long_changes::dead_letters;
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

async fn is_there(outbox: &Outbox, id: i64) -> bool {
    outbox.number(&format!("SELECT count(*) FROM outbox WHERE id = {id}")).await == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_dead_letter_is_purged_from_its_page_after_a_look_and_the_audit_has_it() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let (dead, spared) = (stage.message(&outbox, "/garbage", &[]).await, stage.message(&outbox, "/garbage", &[]).await);
    stage.dead(&outbox, 2).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    browser.go(&format!("{}/messages/{dead}", stage.url)).await;
    browser.click("Purge…").await;
    browser.says("1 dead letter would be deleted for good").await;
    assert!(is_there(&outbox, dead).await, "nothing is changed by looking");
    browser.click(&format!("Back to message {dead}")).await;
    browser.click("Purge…").await;
    browser.write("why", "a test run").await;
    browser.click("Delete it for good").await;
    browser.says("1 of 1 deleted.").await;
    assert!(!is_there(&outbox, dead).await && is_there(&outbox, spared).await);
    browser.click("The audit").await;
    let audit = browser.says("a test run").await;
    assert!(audit.contains("ada (page)") && audit.contains("purge"), "{audit}");
    browser.close().await;
}

#[tokio::test]
async fn a_message_that_is_not_dead_is_not_purged_and_the_page_says_why() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let waits = stage.message(&outbox, "/", &["--delay", "1h"]).await.to_string();
        let ada = stage.person(OPERATES).await;
        assert!(!ada.page(&format!("/messages/{waits}")).await.contains("/dead-letters/purge"));
        let form = ada.page(&format!("/dead-letters/purge?id={waits}")).await;
        assert!(words(&form).contains("Only a dead letter can be purged") && !form.contains("for good"), "{form}");
        let sent = ada.send("/", "/dead-letters/purge", &[("id", &waits), ("why", "a test")]).await;
        let said = words(&sent.text);
        assert!(said.contains("Nothing was purged") && said.contains("0 of 1 deleted."), "{said}");
        assert!(said.contains(&format!("{waits}: it is not a dead letter")), "{said}");
        assert!(sent.text.contains(&format!("/messages/{waits}\">Back to message")), "{}", sent.text);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_past_its_time_is_counted_and_removed_by_clicks() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let dead = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    for _ in 0..2 {
        stage.message(&outbox, "/", &[]).await;
    }
    let delivered = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS'";
    eventually("they are delivered", PATIENCE, async || (outbox.number(delivered).await == 2).then_some(())).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    to(&browser, "Settings").await;
    browser.click("How long the rows of each kind are kept").await;
    let none = browser.says("No message was delivered more than 7d ago, or died more than 90d ago.").await;
    assert!(!none.contains("Remove them now"), "there is nothing to remove: {none}");
    browser.write("success", "0s").await;
    browser.write("dead", "soon").await;
    browser.click("Count").await;
    browser.says("it must be a time with its unit, as 7d, or never").await;
    browser.write("dead", "never").await;
    browser.click("Count").await;
    browser.says("2 delivered messages and 0 dead letters: delivered more than 0s ago.").await;
    browser.click("Remove them now…").await;
    browser.says("2 delivered messages and 0 dead letters would be removed for good").await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 3, "nothing is changed by looking");
    browser.write("why", "the disk is full").await;
    browser.click("Remove them for good").await;
    browser.says("2 delivered messages and 0 dead letters removed.").await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 1);
    assert!(is_there(&outbox, dead).await, "dead letters are kept");
    browser.click("The audit").await;
    let audit = browser.says("the disk is full").await;
    assert!(audit.contains("ada (page)") && audit.contains("prune"), "{audit}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_prune_goes_on_at_the_poller_which_says_how_far_it_is_and_is_stopped() {
    let [outbox, ..] = outboxes::migrated().await;
    dead_letters(&outbox, 200).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    browser.go(&format!("{}/retention/prune?dead=0s", stage.url)).await;
    browser.says_at_last("180,000 dead letters would be removed for good").await;
    browser.write("why", "a test run").await;
    browser.click("Remove them for good").await;
    browser.says("of 180,000 done.").await;
    browser.click("Stop it").await;
    let said = browser.says("stopped").await;
    assert!(said.contains("dead for longer than 0s") && said.contains("a test run"), "{said}");
    assert!(outbox.number("SELECT count(*) FROM outbox").await > 0, "it was stopped before its end");
    browser.close().await;
}

#[tokio::test]
async fn what_is_removed_follows_the_fleet_where_the_settings_of_the_replica_differ() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let ada = stage.person(OPERATES).await;
        let polls = async || words(&ada.page("/").await).contains("polled").then_some(());
        eventually("the first replica polls", PATIENCE, polls).await;
        let other = Program::new(&outbox.test.url, &format!("{TOKENS}{HTTP}[retention]\nsuccess = \"1d\"\n"));
        let mut replica = other.start();
        let there = ada.moved(&replica.listener().await);
        let said = words(&there.page("/retention").await);
        let differs =
            "retention.success is 7d in the fleet, which counts here, and 1d in the settings of this replica.";
        assert!(said.contains(differs), "{said}");
        stage.message(&outbox, "/garbage", &[]).await;
        stage.dead(&outbox, 1).await;
        let form = there.page("/retention?dead=0s").await;
        assert!(form.contains("href=\"/retention/prune?success=7d&amp;dead=0s\""), "{form}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_reads_is_shown_no_removal_and_refused_one() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let dead = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, READS).await;
    browser.go(&format!("{}/messages/{dead}", stage.url)).await;
    let message = browser.says("Its life").await;
    assert!(!message.contains("Purge"), "{message}");
    to(&browser, "Retention").await;
    browser.write("dead", "0s").await;
    browser.click("Count").await;
    let retention = browser.says("0 delivered messages and 1 dead letter").await;
    assert!(!retention.contains("Remove"), "{retention}");
    for (path, fields) in
        [("/dead-letters/purge", format!("id={dead}&why=x")), ("/retention/prune", "dead=0s&why=x".to_owned())]
    {
        assert_eq!(browser.sends(path, &fields).await, 403, "{path}");
    }
    assert!(is_there(&outbox, dead).await);
    browser.close().await;
}
