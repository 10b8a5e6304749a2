//! The page in Chromium: an incident by clicks, no scripts of strangers, no scripts at all, and whether everybody can use it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use outbox_store::Shard;
use outbox_store::figures::Figures;
use outbox_tests::eventually;
use rustix::process::Signal;
use serde_json::Value;

use super::browser::Browser;
use super::{OPERATES, Stage, TOKENS};
use crate::listener::incident::Shop;
use crate::outboxes::{self, Outbox, literal};
use crate::program::{HTTP, PATIENCE, Program};

/// What judges whether everybody can use a page; tests/install fetches it.
const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/axe-core/4.14.1.js");

/// Of a hundred messages thirty go to a path that has moved, twenty lack a header, and ten go to a warehouse that is down.
pub(super) const APPLICATION: &str = "\
    INSERT INTO outbox (channel, target, payload, headers, max_attempts) \
    SELECT 'http', 'http://127.0.0.1:PORT' || CASE WHEN n <= 30 THEN '/v1/orders' WHEN n <= 50 THEN '/invoices' \
               WHEN n <= 60 THEN '/stock' ELSE '/v2/orders' END, \
           jsonb_build_object('order', n), CASE WHEN n BETWEEN 31 AND 50 THEN NULL ELSE '{\"X-Api-Version\": \"2\"}'::jsonb END, 1 \
    FROM generate_series(1, 100) AS n";

/// The names of tables that are wider than their place, which a wide screen has room for. That of figures has nine columns.
const CUT: &str = "return [...document.querySelectorAll('.table')].filter(table => table.scrollWidth > table.clientWidth) \
                   .map(table => table.getAttribute('aria-label'))";

/// The name of the page that is shown, where the way to the pages has it beyond its edge.
const HIDDEN: &str = "const way = document.querySelector('.way ul')?.getBoundingClientRect(); \
                      return [...document.querySelectorAll('.way [aria-current]')].filter(one => { const at = one.getBoundingClientRect(); \
                      return at.left < way.left - 1 || at.right > way.right + 1; }).map(one => one.innerText)";

pub(super) async fn sign_in(browser: &Browser, url: &str, token: &str) {
    browser.go(url).await;
    browser.says("Sign in").await;
    browser.write("token", token).await;
    browser.write("name", "ada").await;
    browser.click("Sign in").await;
    browser.says("Overview").await;
}

pub(super) async fn to(browser: &Browser, page: &str) {
    browser.click_at(&format!("//nav[@class='way']//a[.='{page}']")).await;
    browser.says(page).await;
}

/// Waits until an open page, which nobody loads again, says these words. It asks less often where no answer came.
async fn comes_to_say(browser: &Browser, words: &str) -> String {
    let said = async || Some(browser.words().await).filter(|all| all.contains(words));
    eventually(&format!("the page says {words}"), PATIENCE, said).await
}

pub(super) async fn settled(outbox: &Outbox) {
    let waiting = "SELECT count(*) FROM outbox WHERE status = 'PENDING'";
    eventually("nothing waits any more", PATIENCE, async || (outbox.number(waiting).await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_finds_explains_mends_and_redrives_by_clicks_alone() {
    let [outbox, ..] = outboxes::migrated().await;
    let (shop, port) = Shop::start().await;
    outbox.sql(&APPLICATION.replace("PORT", &port.to_string())).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    settled(&outbox).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    let at_shop = |path: &str| format!("http://127.0.0.1:{port}{path}");

    // What is it, and why?
    to(&browser, "Dead letters").await;
    browser.says("60 dead letters, of 3 causes.").await;
    browser.click("Not Found").await;
    browser.says("Letters").await;
    browser.click_at("//td[@class='example']/a[starts-with(@href, '/messages/')]").await;
    browser.says("answer: moved to /v2/orders").await;

    // Mend.
    to(&browser, "Dead letters").await;
    browser.click("Not Found").await;
    browser.says("30 dead letters, of one cause.").await;
    browser.click("Edit…").await;
    browser.write("move_from", &at_shop("/v1/")).await;
    browser.write("move_to", &at_shop("/v2/")).await;
    browser.click("Show the difference").await;
    browser.says(&format!("+target {}", at_shop("/v2/orders"))).await;
    browser.write("why", "orders have moved").await;
    browser.click("Write this").await;
    browser.says("30 of 30 edited").await;

    // One, and the others.
    browser.click("Redrive them").await;
    browser.says("30 dead letters would be redriven").await;
    browser.write("why", "orders have moved").await;
    browser.click("Redrive them").await;
    browser.says("1 of 30 redriven").await;
    browser.click_at("//main//p//a[starts-with(@href, '/messages/')]").await;
    browser.says_at_last("It was sent: accepted").await;
    to(&browser, "Dead letters").await;
    browser.click("Not Found").await;
    browser.click("Redrive…").await;
    browser.write("canary", "").await;
    browser.click("Redrive them").await;
    browser.says("29 of 29 redriven").await;

    // A header was forgotten.
    to(&browser, "Dead letters").await;
    browser.click("Unprocessable Entity").await;
    browser.click("Edit…").await;
    browser.write("set_headers", "X-Api-Version: 2").await;
    browser.click("Show the difference").await;
    browser.says("+header X-Api-Version: 2").await;
    browser.click("Write this").await;
    browser.says("20 of 20 edited").await;
    browser.click("Redrive them").await;
    browser.write("canary", "").await;
    browser.click("Redrive them").await;
    browser.says("20 of 20 redriven").await;

    // The warehouse is back, and is spared.
    shop.warehouse_is_up.store(true, Ordering::Relaxed);
    to(&browser, "Dead letters").await;
    browser.click("Service Unavailable").await;
    browser.click("Redrive…").await;
    browser.write("canary", "").await;
    browser.write("rate", "1000").await;
    browser.click("Redrive them").await;
    browser.says("10 of 10 redriven").await;
    to(&browser, "Dead letters").await;
    browser.says_at_last("No dead letters.").await;
    settled(&outbox).await;
    assert_eq!(shop.accepted.load(Ordering::Relaxed), 100, "each was accepted once");
    to(&browser, "Audit").await;
    browser.says("ada (page)").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_open_keeps_itself_up_to_date_and_nothing_of_a_row_runs() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    browser.says("No message waits, and none is dead.").await;
    browser.run("window.stays = true").await;
    let script = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'>\"' onmouseover='window.ran = 3' hx-get='/x' hx-on:load='window.ran = 4'";
    let hostile = literal(outbox.dialect(), script);
    let short = literal(outbox.dialect(), "<script>window.ran = 5</script>");
    let json = literal(outbox.dialect(), &serde_json::json!({ script: script }).to_string());
    let columns = "channel, target, payload, headers, idempotency_key, ordering_key, tenant, tags, status, dead_reason, last_error, receipt, revision";
    outbox
        .sql(&format!(
            "INSERT INTO outbox ({columns}) VALUES ({short}, {hostile}, {json}, {json}, {hostile}, {hostile}, {hostile}, \
             {json}, 'DEAD', 'permanent', {hostile}, {hostile}, 1)"
        ))
        .await;
    outbox.sql("UPDATE outbox SET finished_at = created_at").await;
    browser.says("window.ran = 5").await;
    let id = outbox.number("SELECT max(id) FROM outbox").await;
    // What the receivers answer is kept, and what holders and operators are called.
    outbox
        .sql(&format!(
            "INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, outcome, status_code, error, excerpt) \
             VALUES ({id}, 1, 1, {hostile}, now(), now(), 'dead', 400, {hostile}, {hostile})"
        ))
        .await;
    outbox
        .sql(&format!(
            "INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason) \
             VALUES ({hostile}, now() + interval '1 h', {hostile}, 'hand', {hostile})"
        ))
        .await;
    outbox
        .sql(&format!(
            "INSERT INTO outbox_term_log (shard, epoch, holder, instance, version, started_at, ended_at, ended_because) \
             VALUES (0, 0, {hostile}, {short}, {short}, now(), now(), 'lost')"
        ))
        .await;
    assert_eq!(browser.run("return [window.stays, window.ran ?? null]").await, serde_json::json!([true, null]));
    for path in [
        "/messages",
        "/dead-letters?reason=permanent",
        "/dead-letters/redrive",
        "/",
        "/destinations",
        "/terms",
        "/terms?epoch=0",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([format!("/messages/{id}"), format!("/messages/{id}/edit")])
    {
        browser.errors().await;
        browser.go(&format!("{}{path}", stage.url)).await;
        browser.says("window.ran").await;
        assert_eq!(browser.errors().await, Vec::<String>::new(), "{path}: the policy had to forbid something");
        assert!(browser.alert().await.is_none(), "{path}");
        assert_eq!(browser.run("return window.ran ?? null").await, Value::Null, "{path}");
    }
    browser.live_in("Asia/Tokyo").await;
    browser.go(&format!("{}/messages/{id}", stage.url)).await;
    browser.says("Its life").await;
    // What only the script does: an exact time in the reader's zone, and a copy.
    let pointed = "const time = document.querySelector('main time'); \
                   time.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); return time.title";
    let title = browser.run(pointed).await;
    assert!(title.as_str().is_some_and(|title| title.contains('\n') && title.ends_with('Z')), "{title}");
    let written = browser.run("return [...document.querySelectorAll('main time')].filter(time => /(Z|UTC)$/.test(time.textContent)).length").await;
    assert_eq!(written, 0, "a time in full is in the zone of the reader: {}", browser.words().await);
    assert!(browser.words().await.contains("GMT+9"), "{}", browser.words().await);
    browser.click_at("//button[@data-of='payload']").await;
    let said = async || {
        let said = browser.run("return document.querySelector(\"button[data-of='payload']\").textContent").await;
        matches!(said.as_str(), Some("Copied" | "Selected")).then_some(())
    };
    eventually("the payload is copied", PATIENCE, said).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_stays_as_it_is_while_something_in_it_is_ticked() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    for _ in 0..2 {
        stage.message(&outbox, "/garbage", &[]).await;
    }
    stage.dead(&outbox, 2).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    browser.go(&format!("{}/dead-letters?channel=http", stage.url)).await;
    browser.says("2 dead letters, of one cause.").await;
    browser.click_at("//input[@aria-label='Select all on this page']").await;
    let ticked = "return document.querySelectorAll(\"input[name='id']:checked\").length";
    assert_eq!(browser.run(ticked).await, 2);
    let late = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 3).await;
    // Longer than a page that is live waits.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(browser.words().await.contains("2 dead letters, of one cause."));
    browser.picture("selected").await;
    assert_eq!(browser.run(ticked).await, 2);
    browser.click_at("//input[@aria-label='Select all on this page']").await;
    browser.says("3 dead letters, of one cause.").await;
    browser.click_at(&format!("//input[@aria-label='Select message {late}']")).await;
    browser.click("Purge selected…").await;
    browser.says("1 dead letter would be deleted").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_targets_stays_as_it_is_while_one_is_ticked_and_its_head_ticks_all() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let gone = "INSERT INTO outbox_invalid_target (channel, target, reason) VALUES ('fcm', 'TARGET', 'UNREGISTERED')";
    outbox.sql(&gone.replace("TARGET", "first")).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    to(&browser, "Invalid targets").await;
    browser.says("Forget 1 target…").await;
    browser.click_at("//input[@aria-label='Select target first']").await;
    outbox.sql(&gone.replace("TARGET", "second")).await;
    // Longer than a page that is live waits.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(!browser.words().await.contains("second"), "the list has changed beside a tick");
    browser.click_at("//input[@aria-label='Select target first']").await;
    browser.says("second").await;
    browser.click_at("//input[@aria-label='Select all on this page']").await;
    let ticked = "return document.querySelectorAll(\"input[name='target']:checked\").length";
    assert_eq!(browser.run(ticked).await, 2);
    browser.click("Show only the selected").await;
    browser.says("Forget 2 targets…").await;
    browser.close().await;
}

/// A page that an operator leaves open during an incident must neither pass off what it shows as new, nor stay behind afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_whose_replica_does_not_answer_says_so_and_goes_on_once_it_answers() {
    let [outbox, ..] = outboxes::migrated().await;
    let Stage { program, _replica: replica, url, sink: _sink } = Stage::begin(&outbox, TOKENS).await;
    let browser = Browser::start(true).await;
    sign_in(&browser, &url, OPERATES).await;
    to(&browser, "Destinations").await;
    browser.says("Nothing holds messages up.").await;

    // The replica answers that the database does not.
    outbox.sql("ALTER TABLE outbox_destination RENAME TO elsewhere").await;
    comes_to_say(&browser, "No answer since").await;
    browser.says("Nothing holds messages up.").await;
    outbox.sql("ALTER TABLE elsewhere RENAME TO outbox_destination").await;
    program.run(&["destinations", "pause", "http", "--why", "they move", "--by", "ada"]).await.done();
    let words = comes_to_say(&browser, "they move").await;
    assert!(!words.contains("No answer since"), "{words}");

    // The replica is killed, and another one comes at its address.
    replica.stop(Signal::KILL).await;
    comes_to_say(&browser, "No answer since").await;
    browser.picture("unanswered").await;
    browser.says("they move").await;
    program.run(&["destinations", "resume", "http", "--by", "ada"]).await.done();
    let listen = format!("admin.listen={}", url.trim_start_matches("http://"));
    let _other = program.command(&["run", "--set", &listen]).spawn().unwrap();
    let words = comes_to_say(&browser, "Nothing holds messages up.").await;
    assert!(!words.contains("No answer since"), "{words}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_runs_no_scripts_does_all_the_same() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let id = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let browser = Browser::start(false).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    to(&browser, "Messages").await;
    browser.click(&id.to_string()).await;
    browser.click("Edit").await;
    browser.write("target", &stage.sink.url("/")).await;
    browser.click("Show the difference").await;
    browser.says("+target").await;
    browser.click("Write this edit").await;
    browser.says("edit by ada (page)").await;
    browser.click("Redrive").await;
    browser.click("Redrive this message").await;
    browser.says_at_last("It was sent: accepted").await;
    for _ in 0..2 {
        stage.message(&outbox, "/garbage", &[]).await;
    }
    stage.dead(&outbox, 2).await;
    browser.go(&format!("{}/dead-letters?channel=http", stage.url)).await;
    browser.click_at(&format!("//input[@aria-label='Select message {}']", id + 1)).await;
    browser.click("Redrive selected…").await;
    browser.says("1 dead letter would be redriven").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_can_use_each_page_in_any_light_and_at_any_width() {
    let [outbox, ..] = outboxes::migrated().await;
    let (_shop, port) = Shop::start().await;
    outbox.sql(&APPLICATION.replace("PORT", &port.to_string())).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    settled(&outbox).await;
    stage
        .program
        .run(&["destinations", "pause", "https://down.example", "--why", "they move", "--by", "ada"])
        .await
        .done();
    outbox
        .sql("INSERT INTO outbox_invalid_target (channel, target, reason) VALUES ('fcm', 'e4X9…', 'UNREGISTERED')")
        .await;
    stage
        .program
        .run(&["dead-letters", "redrive", "--status-code", "404", "--canary", "2", "--why", "try it", "--by", "ada"])
        .await
        .done();
    let waits = stage.message(&outbox, "/", &["--delay", "2h", "--ordering-key", "order 17"]).await;
    settled_but(&outbox, 1).await;
    outbox
        .sql(
            "INSERT INTO outbox (channel, target, payload, ordering_key, status, dead_reason, revision, finished_at, available_at) VALUES \
             ('orders', 'https://shop.example/hook', '{}', 'order 18', 'DEAD', 'permanent', 1, now(), now()), \
             ('orders', 'https://shop.example/hook', '{}', 'order 18', 'PENDING', NULL, 0, NULL, now() + interval '1 hour')",
        )
        .await;
    some_hours(&outbox).await;
    let example = outbox.number("SELECT min(id) FROM outbox WHERE target LIKE '%invoices'").await;
    let axe = std::fs::read_to_string(AXE).expect("tests/install fetches axe-core");
    let browser = Browser::start(true).await;
    browser.look_in("light", 1280).await;
    let goes_on = under_way(&outbox).await;
    browser.go(&format!("{}/sign-in", stage.url)).await;
    usable(&browser, &axe, "sign-in").await;
    browser.look_in("light", 1280).await;
    sign_in(&browser, &stage.url, OPERATES).await;
    for (name, path) in [
        ("overview", "/".to_owned()),
        ("messages", "/messages".to_owned()),
        ("message", format!("/messages/{example}")),
        ("message-waits", format!("/messages/{waits}")),
        ("edit", format!("/messages/{example}/edit")),
        ("dead-letters", "/dead-letters".to_owned()),
        ("dead-letters-of-one", "/dead-letters?status_code=422".to_owned()),
        ("messages-dead", "/messages?status=DEAD&ordering_key=order+18".to_owned()),
        ("redrive", "/dead-letters/redrive?status_code=422".to_owned()),
        ("replay", "/messages/replay?channel=http&status=SUCCESS".to_owned()),
        ("purge", "/dead-letters/purge?status_code=422".to_owned()),
        ("edit-many", "/dead-letters/edit?status_code=422&set_headers=X-Api-Version%3A+2".to_owned()),
        ("halted-keys", "/ordering-keys".to_owned()),
        ("operations", "/operations".to_owned()),
        ("operation", format!("/operations/{goes_on}")),
        ("destinations", "/destinations".to_owned()),
        ("destination", "/destinations?destination=https://down.example".to_owned()),
        ("destinations-all", "/destinations?all=true".to_owned()),
        ("terms", "/terms".to_owned()),
        ("term", "/terms?epoch=1".to_owned()),
        ("overview-of-a-day", "/?span=1d".to_owned()),
        ("figures", "/figures?span=1d&channel=http".to_owned()),
        ("figures-of-all", "/figures?span=1w".to_owned()),
        ("invalid-targets", "/invalid-targets".to_owned()),
        ("audit", "/audit".to_owned()),
        ("retention", "/retention".to_owned()),
        ("retention-other", "/retention?success=0s&dead=never".to_owned()),
        ("prune", "/retention/prune?success=0s&dead=0s".to_owned()),
        ("purge-one", format!("/dead-letters/purge?id={example}")),
        ("purge-of-none", format!("/dead-letters/purge?id={waits}")),
        ("settings", "/settings".to_owned()),
        ("check", "/check".to_owned()),
        ("check-strict", "/check?strict=true".to_owned()),
        ("misunderstood", "/messages?status=lost".to_owned()),
        ("not-there", "/messages/4711".to_owned()),
    ] {
        browser.errors().await;
        browser.go(&format!("{}{path}", stage.url)).await;
        // A page that searches is judged once it has found something.
        browser.words().await;
        assert_eq!(browser.errors().await, Vec::<String>::new(), "{name}");
        usable(&browser, &axe, name).await;
    }
    browser.close().await;
}

/// What a replica shows until its database answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_can_use_the_page_of_a_replica_that_waits() {
    let program = Program::new("postgres://nobody@127.0.0.1:1/nothing?sslmode=disable", HTTP);
    let mut replica = program.start();
    let url = replica.listener().await;
    let axe = std::fs::read_to_string(AXE).expect("tests/install fetches axe-core");
    let browser = Browser::start(true).await;
    browser.go(&format!("{url}/messages")).await;
    let said = browser.run("return document.querySelector('main').innerText").await;
    assert!(said.as_str().unwrap().contains("This replica waits for its database"), "{said}");
    assert_eq!(browser.errors().await, Vec::<String>::new());
    usable(&browser, &axe, "waiting").await;
    browser.close().await;
}

/// An operation that somebody else carries out, and others that have ended.
pub(super) async fn under_way(outbox: &Outbox) -> i64 {
    for (action, why, row) in [
        ("purge", "a test run", "'failed', 900, 400, 400, 'ERROR: permission denied for table outbox'"),
        ("cancel", "the campaign is off", "'stopped', 20000, 4500, 4480, NULL"),
        ("redrive", "the shop is back", "'open', 50000, 18500, 18500, NULL"),
    ] {
        outbox
            .sql(&format!("INSERT INTO outbox_audit (who, action, why) VALUES ('ada (page)', '{action}', '{why}')"))
            .await;
        let columns = "id, action, began_at, carried_until, state, status, meant, done, changed, failure";
        outbox
            .sql(&format!(
                "INSERT INTO outbox_operation ({columns}) SELECT max(id), '{action}', max(at) - interval '90 s', max(at) + interval '1 h', '{{}}', {row} FROM outbox_audit"
            ))
            .await;
    }
    outbox.number("SELECT max(id) FROM outbox_operation").await
}

/// Figures of a busy day with an hour of trouble.
async fn some_hours(outbox: &Outbox) {
    for minute in 1_u32..1_440 {
        let wave = (f64::from(minute) / 230.0).sin().mul_add(400.0, 700.0);
        let trouble = (500..560).contains(&minute);
        let count = |of: f64| format!("{:.0}", of + f64::from(minute * 7_919 % 97)).parse::<u64>().unwrap();
        let mut figures = Figures { delivered: count(wave), ..Figures::default() };
        (figures.failed, figures.deferred) = if trouble { (count(90.0), count(20.0)) } else { (count(0.0) / 90, 0) };
        figures.dead = u64::from(trouble && minute % 9 == 0);
        figures.most_lag = Some(Duration::from_millis(count(if trouble { 45_000.0 + wave * 20.0 } else { 0.0 })));
        figures.latency.0 = std::array::from_fn(|bucket| figures.delivered >> (bucket + 1));
        let both = BTreeMap::from([("http".to_owned(), figures.clone()), ("orders".to_owned(), figures)]);
        outbox
            .database
            .add_figures(Shard::default(), Duration::from_secs(60 * u64::from(minute)), &both)
            .await
            .unwrap();
    }
}

async fn settled_but(outbox: &Outbox, waiting: i64) {
    let count = "SELECT count(*) FROM outbox WHERE status = 'PENDING'";
    eventually("all else is settled", PATIENCE, async || (outbox.number(count).await == waiting).then_some(())).await;
}

/// Takes pictures of the page that is open, and has it judged: also that no page is wider than its window.
async fn usable(browser: &Browser, axe: &str, name: &str) {
    let judge = "const done = arguments[0]; axe.run(document).then(found => done(found.violations.map(one => \
                 one.id + ': ' + one.nodes.map(node => node.html + ' ' + node.failureSummary).join('; '))), error => done([String(error)]))";
    for scheme in ["light", "dark"] {
        for (size, width) in [("wide", 1280), ("narrow", 320), ("widest", 3840)] {
            browser.look_in(scheme, width).await;
            browser.picture(&format!("{name}-{scheme}-{size}")).await;
            browser.run(axe).await;
            let found = browser.run_to_its_end(judge).await;
            assert_eq!(found, serde_json::json!([]), "{name}, {scheme}, {size}");
            let hidden = browser.run(HIDDEN).await;
            assert_eq!(hidden, serde_json::json!([]), "{name}, {scheme}, {size}: the way does not show the page");
            let too_wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await;
            assert!(too_wide.as_i64().unwrap() <= 0, "{name}, {scheme}, {size}: {too_wide} wider than the window");
            if width == 1280 {
                let cut = browser.run(CUT).await;
                assert_eq!(cut, serde_json::json!([]), "{name}, {scheme}: tables that are wider than their place");
            }
        }
    }
}
