//! The incident by the keyboard alone, and what who only reads is not shown.

use std::sync::atomic::Ordering;

use outbox_tests::eventually;

use super::browser::{Browser, Key};
use super::chromium::{APPLICATION, settled, sign_in, to, under_way};
use super::{OPERATES, READS, Stage, TOKENS};
use crate::listener::incident::Shop;
use crate::outboxes;
use crate::program::PATIENCE;

impl Browser {
    /// Goes on with Tab to what has these words, the name of a field or the label of an element, and stays there.
    async fn tab_to(&self, words: &str) {
        let at = "const one = document.activeElement; \
                  return [one.innerText ?? '', one.name ?? '', one.getAttribute('aria-label') ?? ''].map(text => text.trim())";
        for _ in 0..120 {
            self.press(Key::Tab).await;
            let found = self.run(at).await;
            let [text, name, label] = [0, 1, 2].map(|place| found[place].as_str().unwrap().to_owned());
            if text == words || name == words || label == words {
                return;
            }
        }
        panic!("Tab never comes to {words}: {}", self.words().await);
    }

    /// Goes to a link, a button or a summary by the keyboard, and takes it.
    async fn take(&self, words: &str) {
        self.tab_to(words).await;
        self.press(Key::Enter).await;
    }

    /// Goes to a field, and writes into it in place of what is there.
    async fn fill(&self, name: &str, text: &str) {
        self.tab_to(name).await;
        self.run("document.activeElement.select()").await;
        self.press(Key::Delete).await;
        self.types(text).await;
    }

    /// Passes over the head of the page, as its first link offers it.
    async fn skip_to_content(&self) {
        self.take("To the content").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_mends_the_incident_and_takes_it_back_by_the_keyboard_alone() {
    let [outbox, ..] = outboxes::migrated().await;
    let (shop, port) = Shop::start().await;
    outbox.sql(&APPLICATION.replace("PORT", &port.to_string())).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    settled(&outbox).await;
    let browser = Browser::start(true).await;
    let at_shop = |path: &str| format!("http://127.0.0.1:{port}{path}");

    browser.go(&stage.url).await;
    browser.says("Sign in").await;
    browser.fill("token", OPERATES).await;
    browser.fill("name", "ada").await;
    browser.press(Key::Enter).await;
    browser.says("Overview").await;

    // What is it, and why?
    browser.take("Dead letters").await;
    browser.says("60 dead letters, of 3 causes.").await;
    browser.skip_to_content().await;
    let example = outbox.number("SELECT max(id) FROM outbox WHERE last_status_code = 422").await;
    browser.take(&example.to_string()).await;
    browser.says("answer: X-Api-Version is missing").await;

    // Mend. Each page begins anew at its head.
    browser.take("Dead letters").await;
    browser.says("60 dead letters, of 3 causes.").await;
    browser.skip_to_content().await;
    browser.take("30").await;
    browser.says("30 dead letters, of one cause.").await;
    browser.skip_to_content().await;
    browser.take("Edit…").await;
    browser.says("Show the difference").await;
    browser.fill("move_from", &at_shop("/v1/")).await;
    browser.fill("move_to", &at_shop("/v2/")).await;
    browser.take("Show the difference").await;
    browser.says(&format!("+target {}", at_shop("/v2/orders"))).await;
    browser.fill("why", "orders have moved").await;
    browser.press(Key::Enter).await;
    browser.says("30 of 30 edited").await;

    // One, and the others at a rate that leaves time to think again.
    browser.skip_to_content().await;
    browser.take("Redrive them…").await;
    browser.says("30 dead letters would be redriven").await;
    browser.skip_to_content().await;
    browser.take("Redrive them").await;
    browser.says("1 of 30 redriven").await;
    browser.skip_to_content().await;
    browser.fill("rate", "1").await;
    browser.take("Redrive the others").await;
    browser.says("29 of 29 redriven").await;

    // Too soon.
    browser.skip_to_content().await;
    let operation =
        outbox.number("SELECT max(id) FROM outbox_audit WHERE action = 'redrive' AND part_of IS NULL").await;
    browser.take(&format!("Take back what audit entry {operation} did")).await;
    browser.says("returned to the dead letters.").await;
    browser.take("Dead letters").await;
    // Where the database is busy the page shows for a while what was there before.
    let fewer = async || {
        let left = browser.says_at_last("dead letters, of 3 causes.").await;
        (!left.contains("60 dead letters")).then_some(())
    };
    eventually("the canary is no dead letter, and the others are again", PATIENCE, fewer).await;
    assert!(shop.accepted.load(Ordering::Relaxed) >= 41, "40 that were right, and the canary");
    browser.take("Audit").await;
    browser.says("undo").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redrive_is_taken_back_and_an_operation_stopped_by_clicks() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    for _ in 0..3 {
        stage.message(&outbox, "/garbage", &[]).await;
    }
    stage.dead(&outbox, 3).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    to(&browser, "Dead letters").await;
    browser.click("Redrive…").await;
    browser.write("canary", "").await;
    browser.write("rate", "1").await;
    browser.click("Redrive them").await;
    browser.says("3 of 3 redriven").await;
    to(&browser, "Audit").await;
    browser.click("take back…").await;
    browser.says("What has not been sent since is taken back").await;
    browser.click_at("//main//button[starts-with(normalize-space(.), 'Take')]").await;
    browser.says("returned to the dead letters.").await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit WHERE action = 'undo' AND part_of IS NULL").await, 1);

    let goes_on = under_way(&outbox).await;
    to(&browser, "Operations").await;
    browser.click_at(&format!("//main//a[@href='/operations/{goes_on}']")).await;
    browser.click("Stop it").await;
    browser.says("stopped").await;
    let stopped = format!("SELECT count(*) FROM outbox_operation WHERE id = {goes_on} AND status = 'stopped'");
    assert_eq!(outbox.number(&stopped).await, 1);
    to(&browser, "Audit").await;
    browser.says(&format!("operation {goes_on}")).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_reads_is_shown_no_form_that_changes_something() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let id = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    stage.program.run(&["destinations", "pause", "http", "--why", "they move", "--by", "ada"]).await.done();
    outbox.sql("INSERT INTO outbox_invalid_target (channel, target, reason) VALUES ('fcm', 'e4X9', 'GONE')").await;
    let goes_on = under_way(&outbox).await;
    let changes = "return [...document.querySelectorAll(\"main form[method='post'], main input[name='id'], main button:not(.copy)\")] \
                   .filter(one => one.closest('form.filter') === null).map(one => one.outerHTML)";
    let offered = "return [...document.querySelectorAll('main a')].map(one => one.getAttribute('href')) \
                   .filter(to => /\\/(redrive|purge|edit|replay|cancel|undo)(\\?|$)/.test(to))";
    let paths = [
        "/".to_owned(),
        "/messages?status=DEAD".to_owned(),
        format!("/messages/{id}"),
        "/dead-letters?channel=http".to_owned(),
        "/destinations".to_owned(),
        "/destinations?destination=http".to_owned(),
        "/operations".to_owned(),
        format!("/operations/{goes_on}"),
        "/invalid-targets".to_owned(),
        "/audit".to_owned(),
    ];
    for (token, operates) in [(READS, false), (OPERATES, true)] {
        let browser = Browser::start(true).await;
        sign_in(&browser, &stage.url, token).await;
        let mut found = 0;
        for path in &paths {
            browser.go(&format!("{}{path}", stage.url)).await;
            browser.words().await;
            for script in [changes, offered] {
                let shown = browser.run(script).await;
                let shown = shown.as_array().unwrap();
                assert!(operates || shown.is_empty(), "{path} offers {shown:?}");
                found += shown.len();
            }
        }
        assert!(!operates || found > 8, "who operates is shown {found}");
        browser.close().await;
    }
}
