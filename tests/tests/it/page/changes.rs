//! What people change by the forms of the page.

use outbox_tests::eventually;

use super::{OPERATES, READS, Shown, Stage, TOKENS, between, words};
use crate::changes::long_changes::dead_letters;
use crate::outboxes;
use crate::program::PATIENCE;

/// Leads to another page, as a browser does after a form.
fn leads(shown: &Shown, to: &str) {
    assert_eq!((shown.status, shown.location.as_str()), (303, to), "{}", words(&shown.text));
}

#[tokio::test]
async fn dead_letters_are_found_tried_redriven_and_taken_back() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        for _ in 0..3 {
            stage.message(&outbox, "/garbage", &[]).await;
        }
        stage.dead(&outbox, 3).await;
        let ada = stage.person(OPERATES).await;
        let found = ada.page("/dead-letters").await;
        let group = between(&found, "/dead-letters?fingerprint=", "\"");
        let filter = format!("fingerprint={group}");
        let fingerprint = url::form_urlencoded::parse(filter.as_bytes()).next().unwrap().1.into_owned();

        // All of them would be sent to a path that takes them.
        let (from, to) = (stage.sink.url("/garbage"), stage.sink.url("/"));
        let mend = [("fingerprint", fingerprint.as_str()), ("move_from", &from), ("move_to", &to)];
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(mend).finish();
        let preview = format!("/dead-letters/edit?{query}");
        let page = ada.page(&preview).await;
        assert_eq!(page.matches(&format!("+target {to}\n")).count(), 3, "{}", words(&page));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0, "nothing is changed by looking");
        let empty = words(&ada.page(&format!("/dead-letters/edit?{filter}&looks=yes")).await);
        assert!(empty.contains("Say what to change."), "{empty}");
        let first = words(&ada.page(&format!("/dead-letters/edit?{filter}")).await);
        assert!(!first.contains("Say what to change."), "{first}");
        let edited = ada.send(&preview, "/dead-letters/edit", &[&mend[..], &[("why", "it moved")]].concat()).await;
        assert!(
            words(&edited.text).contains("3 of 3 edited, each under a new idempotency key"),
            "{}",
            words(&edited.text)
        );
        let edit = outbox.number("SELECT id FROM outbox_audit WHERE action = 'edit' AND part_of IS NULL").await;
        let ordered = words(&ada.page(&format!("/operations/{edit}")).await);
        assert!(ordered.contains(&format!("targets move from {from} to {to}")), "{ordered}");

        let would = ada.page(&format!("/dead-letters/redrive?{filter}")).await;
        assert!(words(&would).contains("3 dead letters would be redriven"), "{}", words(&would));
        let redrive = [("fingerprint", fingerprint.as_str()), ("why", "it is back"), ("by", "ada")];
        let tried =
            ada.send("/dead-letters", "/dead-letters/redrive", &[&redrive[..], &[("canary", "1")]].concat()).await;
        assert!(words(&tried.text).contains("1 of 3 redriven. Look at one: message"), "{}", words(&tried.text));
        let delivered = async || (stage.sink.requests().iter().any(|got| got.path == "/")).then_some(());
        eventually("the canary is delivered", PATIENCE, delivered).await;
        assert!(words(&tried.text).contains("How they went"), "{}", words(&tried.text));
        let canary = between(&tried.text, "hx-get=\"/operations/", "\"").to_owned();
        let operation = format!("/operations/{canary}");
        let went = async || words(&ada.page(&operation).await).contains(": delivered").then_some(());
        eventually("the operation says how its canary went", PATIENCE, went).await;
        // The first is due at once, and the other in an hour, by this rate.
        let rest = ada.send("/dead-letters", "/dead-letters/redrive", &[&redrive[..], &[("rate", "1")]].concat()).await;
        assert!(words(&rest.text).contains("2 of 2 redriven."), "{}", words(&rest.text));
        let undo = between(&rest.text, "action=\"/redrives/", "/undo\"").to_owned();
        let path = format!("/redrives/{undo}/undo");
        let undone = ada.send(&path, &path, &[("why", "too soon")]).await;
        assert!(words(&undone.text).contains("returned to the dead letters."), "{}", words(&undone.text));

        let who = outbox.text("SELECT min(who) FROM outbox_audit WHERE action = 'redrive' AND part_of IS NULL").await;
        assert_eq!(who, "ada (page)");
        let audit = ada.page("/audit").await;
        // The canary can be taken back. The others were.
        assert!(audit.contains(&format!("/redrives/{canary}/undo")) && !audit.contains(&path), "{audit}");
        let audit = words(&audit);
        assert!(audit.contains("it is back") && audit.contains("it moved") && audit.contains("too soon"), "{audit}");
    }
}

#[tokio::test]
async fn a_long_change_leads_to_its_operation_which_goes_on_alone_and_is_stopped_there() {
    let [outbox, ..] = outboxes::migrated().await;
    dead_letters(&outbox, 50).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let ada = stage.person(OPERATES).await;
    // What comes due waits behind this rate, so that nothing is sent.
    let redrive = [("all", "yes"), ("rate", "1"), ("why", "they are back")];
    let led = ada.send("/dead-letters/redrive", "/dead-letters/redrive", &redrive).await;
    assert!(led.status == 303 && led.location.starts_with("/operations/"), "{} {}", led.status, words(&led.text));
    let page = led.location.clone();
    let shown = words(&ada.page(&page).await);
    for said in ["of 45,000 done.", "Stop it", "they are back", "all, 1 a second"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert!(words(&ada.page("/").await).contains("Operations under way"));
    let done = async || outbox.number("SELECT max(done) FROM outbox_operation").await;
    let before = done().await;
    eventually("the poller goes on", PATIENCE, async || (done().await > before).then_some(())).await;

    let reader = stage.person(READS).await;
    assert!(!words(&reader.page(&page).await).contains("Stop it"));
    leads(&ada.send(&page, &format!("{page}/stop"), &[]).await, &page);
    let shown = words(&ada.page(&page).await);
    assert!(
        shown.contains("stopped") && shown.contains("of 45,000 redriven.") && shown.contains("Take it back"),
        "{shown}"
    );
    let unknown = ada.look("/operations/4711").await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn what_is_ticked_in_a_list_is_what_the_form_of_a_change_means() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let mut dead = Vec::new();
        for _ in 0..4 {
            dead.push(stage.message(&outbox, "/garbage", &[]).await);
        }
        stage.dead(&outbox, 4).await;
        let (ada, reader) = (stage.person(OPERATES).await, stage.person(READS).await);
        for list in ["/dead-letters?channel=http", "/messages?status=DEAD"] {
            let page = ada.page(list).await;
            for id in &dead {
                assert!(
                    page.contains(&format!("name=\"id\" value=\"{id}\" aria-label=\"Select message {id}\"")),
                    "{page}"
                );
            }
            assert!(page.contains("formaction=\"/dead-letters/redrive\""), "{page}");
            assert!(!reader.page(list).await.contains("Select message"), "{list}");
        }
        assert!(
            !ada.page("/messages").await.contains("Select message"),
            "without a status nothing can be done to all of them"
        );
        let two = format!("id={}&id={}", dead[0], dead[1]);
        for (path, said) in [
            ("/dead-letters/redrive", "2 dead letters would be redriven"),
            ("/dead-letters/purge", "2 dead letters would be deleted"),
            ("/dead-letters/edit", "2 dead letters meant."),
            ("/messages/replay", "0 delivered messages would be sent again"),
            ("/messages/cancel", "0 waiting messages would be cancelled"),
        ] {
            let would = ada.page(&format!("{path}?selected=yes&{two}")).await;
            assert!(words(&would).contains(said), "{path}: {}", words(&would));
            assert!(
                !would.contains(&format!("/dead-letters?{}", two.replace('&', "&amp;"))),
                "a list has no ids: {would}"
            );
            for (query, said) in [
                ("selected=yes".to_owned(), "nothing is selected"),
                ("selected=yes&id=17x".to_owned(), "no row has it"),
                (format!("{two}&channel=http"), "one of the two"),
            ] {
                let refused = ada.look(&format!("{path}?{query}")).await;
                assert!(
                    refused.status == 400 && words(&refused.text).contains(said),
                    "{path}: {}",
                    words(&refused.text)
                );
            }
        }
        let (first, second, third) = (dead[0].to_string(), dead[1].to_string(), dead[2].to_string());
        let difference = ada.page(&format!("/dead-letters/edit?{two}&set_headers=X-Api-Version%3A+2")).await;
        assert_eq!(difference.matches("+header X-Api-Version: 2").count(), 2, "{}", words(&difference));
        let form = format!("/dead-letters/redrive?{two}");
        let redriven = [("id", first.as_str()), ("id", &second), ("rate", "1"), ("why", "these two")];
        let redriven = ada.send(&form, "/dead-letters/redrive", &redriven).await;
        assert!(words(&redriven.text).contains("2 of 2 redriven."), "{}", words(&redriven.text));
        let purged = ada.send(&form, "/dead-letters/purge", &[("id", third.as_str()), ("why", "a test")]).await;
        assert!(words(&purged.text).contains("1 of 1 deleted."), "{}", words(&purged.text));
        assert_eq!(outbox.number(&format!("SELECT count(*) FROM outbox WHERE id = {third}")).await, 0);
        let not_meant = format!("SELECT count(*) FROM outbox WHERE id = {} AND status = 'DEAD'", dead[3]);
        assert_eq!(outbox.number(&not_meant).await, 1);

        let mut waits = Vec::new();
        for _ in 0..3 {
            waits.push(stage.message(&outbox, "/", &["--delay", "1h"]).await.to_string());
        }
        let list = ada.page("/messages?status=PENDING").await;
        assert!(list.contains("formaction=\"/messages/cancel\"") && list.contains("Select message"), "{list}");
        let cancelled = [("id", waits[0].as_str()), ("id", &waits[2]), ("why", "these two")];
        let cancelled = ada.send(&form, "/messages/cancel", &cancelled).await;
        assert!(words(&cancelled.text).contains("2 of 2 cancelled."), "{}", words(&cancelled.text));
        let left = format!("SELECT count(*) FROM outbox WHERE id = {} AND status = 'PENDING'", waits[1]);
        assert_eq!(outbox.number(&left).await, 1);
    }
}

#[tokio::test]
async fn dead_messages_in_the_list_of_messages_are_changed_by_the_same_filter_or_selected() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    stage.message(&outbox, "/garbage", &["--ordering-key", "order 17"]).await;
    stage.dead(&outbox, 1).await;
    let ada = stage.person(OPERATES).await;
    let offered = ada.page("/messages?status=DEAD&channel=http").await;
    for change in ["redrive", "edit", "purge"] {
        assert!(offered.contains(&format!("href=\"/dead-letters/{change}?channel=http\"")), "{offered}");
    }
    assert!(ada.page("/messages?status=DEAD").await.contains("href=\"/dead-letters/redrive\""));
    for lacked in ["ordering_key=order+17", "priority=1", "since=2h", "until=1s"] {
        let page = ada.page(&format!("/messages?status=DEAD&{lacked}")).await;
        assert!(!page.contains("href=\"/dead-letters/redrive"), "{lacked}: {page}");
        assert!(words(&page).contains("select them in the list"), "{lacked}: {page}");
    }
}

#[tokio::test]
async fn an_edit_of_the_dead_letters_of_one_target_means_these_alone() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    for path in ["/garbage", "/garbage?other"] {
        stage.message(&outbox, path, &[]).await;
    }
    stage.dead(&outbox, 2).await;
    let ada = stage.person(OPERATES).await;
    let target = stage.sink.url("/garbage");
    let filter = url::form_urlencoded::Serializer::new(String::new()).append_pair("target", &target).finish();
    let list = ada.page(&format!("/dead-letters?{filter}")).await;
    assert!(list.contains(&format!("/dead-letters/edit?{filter}")), "{list}");
    let form = words(&ada.page(&format!("/dead-letters/edit?{filter}")).await);
    assert!(form.contains("1 dead letter meant.") && !form.contains("What would be different"), "{form}");
    let to = stage.sink.url("/");
    let edit = [("target", target.as_str()), ("new_target", &to), ("why", "it moved")];
    let edited = ada.send("/dead-letters", "/dead-letters/edit", &edit).await;
    assert!(words(&edited.text).contains("1 of 1 edited"), "{}", words(&edited.text));
}

#[tokio::test]
async fn a_form_without_a_filter_must_say_that_it_means_all() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let ada = stage.person(OPERATES).await;
    for path in ["/dead-letters/redrive", "/dead-letters/purge", "/dead-letters/edit", "/invalid-targets/clear"] {
        let fields: &[_] = if path.ends_with("edit") { &[("new_target", "http://127.0.0.1:9/")] } else { &[] };
        let refused = ada.send("/dead-letters", path, fields).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text);
        assert!(refused.text.contains("does not say that it means every"), "{path}: {}", refused.text);
        let unknown = ada.send("/dead-letters", path, &[&[("chanel", "http")], fields].concat()).await;
        assert_eq!(unknown.status, 400, "{path}: {}", unknown.text);
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0);
    let purged = ada.send("/dead-letters/purge", "/dead-letters/purge", &[("all", "yes"), ("why", "test")]).await;
    assert!(words(&purged.text).contains("1 of 1 deleted."), "{}", words(&purged.text));
    assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 0);
}

#[tokio::test]
async fn one_message_is_edited_after_a_look_at_the_difference_redriven_and_another_cancelled() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let id = stage.message(&outbox, "/garbage", &["--header", "X-Tenant: 8"]).await;
        stage.dead(&outbox, 1).await;
        let ada = stage.person(OPERATES).await;
        let (path, edit) = (format!("/messages/{id}"), format!("/messages/{id}/edit"));
        let form = ada.page(&edit).await;
        let revision = between(&form, "name=\"revision\" value=\"", "\"").to_owned();
        let to = stage.sink.url("/");
        let fields = [
            ("revision", revision.as_str()),
            ("target", &to),
            ("headers", "X-Tenant: 9\r\n"),
            ("payload", "{\"order\": 18}"),
        ];
        let wrong = ada.send(&edit, &edit, &[&fields[..3], &[("payload", "{order")]].concat()).await;
        assert_eq!(wrong.status, 422, "{}", words(&wrong.text));
        let seen = ada.send(&edit, &edit, &fields).await;
        let lines = words(&seen.text);
        for line in ["-header X-Tenant: 8", "+header X-Tenant: 9", "+  &quot;order&quot;: 18"] {
            assert!(lines.contains(line), "{line}: {lines}");
        }
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0, "nothing is changed by looking");
        let written = [&fields[..], &[("write", "yes"), ("why", "a typo")]].concat();
        leads(&ada.send(&edit, &edit, &written).await, &path);
        let again = ada.send(&edit, &edit, &written).await;
        assert_eq!(again.status, 409, "{}", words(&again.text));
        assert!(again.text.contains("it has changed meanwhile"), "{}", again.text);
        leads(&ada.send(&path, &format!("{path}/redrive"), &[("why", "mended")]).await, &path);
        let delivered = async || words(&ada.page(&path).await).contains("It was sent: accepted").then_some(());
        eventually("it is delivered", PATIENCE, delivered).await;
        let sent = stage.sink.requests().pop().unwrap();
        assert_eq!(sent.headers["x-tenant"], "9");

        let waits = stage.message(&outbox, "/", &["--delay", "1h"]).await;
        let path = format!("/messages/{waits}");
        leads(&ada.send(&path, &format!("{path}/cancel"), &[("why", "by mistake")]).await, &path);
        assert!(words(&ada.page(&path).await).contains("cancelled"));
        assert!(words(&ada.page("/dead-letters").await).contains("cancelled by hand"));
        let twice = ada.send(&path, &format!("{path}/cancel"), &[]).await;
        assert_eq!(twice.status, 409, "{}", words(&twice.text));
    }
}

#[tokio::test]
async fn destinations_are_paused_and_resumed_and_targets_forgotten() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let ada = stage.person(OPERATES).await;
        let down = "https://down.example";
        let pause = async |fields: &[(&str, &str)]| ada.send("/destinations", "/destinations/pause", fields).await;
        for (fields, said) in [
            (&[("destination", down)] as &[_], "why is missing"),
            (&[("destination", "fax"), ("why", "x")], "neither a configured channel"),
            (&[("destination", down), ("for", "long"), ("why", "x")], "it must be a time with its unit"),
        ] {
            let refused = pause(fields).await;
            assert!(refused.status >= 400 && refused.text.contains(said), "{said}: {}", words(&refused.text));
        }
        leads(
            &pause(&[("destination", "HTTPS://down.example/x"), ("for", "2h"), ("why", "they move")]).await,
            "/destinations",
        );
        let list = words(&ada.page("/destinations").await);
        assert!(list.contains("https://down.example:443paused") && list.contains("they move"), "{list}");
        assert!(words(&ada.page("/").await).contains("https://down.example:443"));
        let resumed =
            ada.send("/destinations", "/destinations/resume", &[("destination", "https://down.example:443")]).await;
        leads(&resumed, "/destinations");
        assert!(words(&ada.page("/destinations").await).contains("Nothing holds messages up."));

        for (channel, target) in [("fcm", "a"), ("fcm", "b"), ("http", "c")] {
            outbox
                .sql(&format!("INSERT INTO outbox_invalid_target (channel, target) VALUES ('{channel}', '{target}')"))
                .await;
        }
        assert!(words(&ada.page("/invalid-targets?channel=fcm").await).contains("Forget 2 targets…"));
        let cleared = ada.send("/invalid-targets", "/invalid-targets/clear", &[("channel", "fcm")]).await;
        leads(&cleared, "/invalid-targets");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_invalid_target").await, 1);

        // Those that are ticked, of the channel that the list was of.
        for (channel, target) in [("http", "d<script>"), ("http", "e"), ("fcm", "c")] {
            outbox
                .sql(&format!("INSERT INTO outbox_invalid_target (channel, target) VALUES ('{channel}', '{target}')"))
                .await;
        }
        let ticked = ada.page("/invalid-targets?selected=yes&channel=http&target=c&target=d%3Cscript%3E").await;
        assert!(words(&ticked).contains("Forget 2 targets…"), "{}", words(&ticked));
        let chosen = [("channel", "http"), ("target", "c"), ("target", "d<script>")];
        leads(&ada.send("/invalid-targets", "/invalid-targets/clear", &chosen).await, "/invalid-targets");
        let left = "SELECT count(*) FROM outbox_invalid_target WHERE target = 'e' OR channel = 'fcm'";
        assert_eq!(outbox.number(left).await, 2);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_invalid_target").await, 2);
        let none = ada.look("/invalid-targets?selected=yes").await;
        assert!(none.status == 400 && none.text.contains("tick the boxes of the targets"), "{}", none.text);
    }
}

#[tokio::test]
async fn delivered_messages_are_replayed_after_a_look_at_how_many_and_taken_back() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        for _ in 0..3 {
            stage.message(&outbox, "/", &[]).await;
        }
        let delivered = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS' AND replay_of IS NULL";
        eventually("they are delivered", PATIENCE, async || (outbox.number(delivered).await == 3).then_some(())).await;
        let ada = stage.person(OPERATES).await;
        let filter = "channel=http&status=SUCCESS";
        let found = ada.page(&format!("/messages?{filter}")).await;
        assert!(found.contains(&format!("/messages/replay?{}", filter.replace('&', "&amp;"))), "{}", words(&found));
        let form = format!("/messages/replay?{filter}");
        let would = ada.page(&form).await;
        assert!(words(&would).contains("3 delivered messages would be sent again"), "{}", words(&would));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0, "nothing is changed by looking");

        let fields = [("channel", "http"), ("status", "SUCCESS"), ("why", "they lost them"), ("by", "ada")];
        let tried = ada.send(&form, "/messages/replay", &[&fields[..], &[("canary", "1")]].concat()).await;
        assert!(words(&tried.text).contains("1 of 3 replayed. Look at one: message"), "{}", words(&tried.text));
        let again = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS' AND replay_of IS NOT NULL";
        eventually("the canary is delivered", PATIENCE, async || (outbox.number(again).await == 1).then_some(())).await;
        // The first of the others is due at once, and the second a second later.
        let rest =
            ada.send(&form, "/messages/replay", &[&fields[..], &[("rate", "1"), ("new_key", "yes")]].concat()).await;
        assert!(words(&rest.text).contains("2 of 3 replayed."), "{}", words(&rest.text));
        let undo = between(&rest.text, "action=\"/redrives/", "/undo\"").to_owned();
        let path = format!("/redrives/{undo}/undo");
        let undone = ada.send(&path, &path, &[("why", "too soon")]).await;
        assert!(words(&undone.text).contains("are not sent again"), "{}", words(&undone.text));

        let everything = ada.send(&form, "/messages/replay", &[("why", "all of it")]).await;
        assert_eq!(everything.status, 400, "{}", words(&everything.text));
        assert!(
            words(&everything.text).contains("every message that was ever delivered"),
            "{}",
            words(&everything.text)
        );
    }
}

#[tokio::test]
async fn messages_that_wait_are_cancelled_after_a_look_at_how_many() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        for _ in 0..2 {
            stage.message(&outbox, "/", &["--delay", "1h"]).await;
        }
        let ada = stage.person(OPERATES).await;
        let filter = "channel=http&status=PENDING";
        let found = ada.page(&format!("/messages?{filter}")).await;
        assert!(found.contains(&format!("/messages/cancel?{}", filter.replace('&', "&amp;"))), "{}", words(&found));
        let form = format!("/messages/cancel?{filter}");
        let would = ada.page(&form).await;
        assert!(words(&would).contains("2 waiting messages would be cancelled"), "{}", words(&would));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0, "nothing is changed by looking");

        let fields = [("channel", "http"), ("status", "PENDING"), ("why", "the campaign is off"), ("by", "ada")];
        let done = ada.send(&form, "/messages/cancel", &fields).await;
        assert!(words(&done.text).contains("2 of 2 cancelled."), "{}", words(&done.text));
        let cancelled = "SELECT count(*) FROM outbox WHERE dead_reason = 'cancelled'";
        assert_eq!(outbox.number(cancelled).await, 2);
        let everything = ada.send(&form, "/messages/cancel", &[("why", "all of it")]).await;
        assert_eq!(everything.status, 400, "{}", words(&everything.text));
    }
}

#[tokio::test]
async fn messages_that_wait_for_another_attempt_are_retried_after_a_look_at_how_many() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let mut waits = Vec::new();
        for _ in 0..4 {
            waits.push(stage.message(&outbox, "/", &["--delay", "1h"]).await);
        }
        let [one, .., scheduled] = waits[..] else { unreachable!() };
        outbox
            .sql(&format!(
                "UPDATE outbox SET attempts = 1, first_attempt_at = created_at, revision = 1 WHERE id < {scheduled}"
            ))
            .await;
        let delivered = async |number| {
            let count = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS'";
            eventually("they are sent", PATIENCE, async || (outbox.number(count).await == number).then_some(())).await;
        };
        let ada = stage.person(OPERATES).await;
        let path = format!("/messages/{one}");
        assert!(words(&ada.page(&path).await).contains("Retry now"));
        leads(&ada.send(&path, &format!("{path}/retry"), &[("why", "they are back"), ("by", "ada")]).await, &path);
        delivered(1).await;
        let shown = words(&ada.page(&path).await);
        assert!(shown.contains("retry by ada (page): they are back"), "{shown}");
        let twice = ada.send(&path, &format!("{path}/retry"), &[]).await;
        assert_eq!(twice.status, 409, "{}", words(&twice.text));

        let filter = "channel=http&status=PENDING";
        let found = ada.page(&format!("/messages?{filter}")).await;
        assert!(found.contains(&format!("/messages/retry?{}", filter.replace('&', "&amp;"))), "{}", words(&found));
        assert!(found.contains("formaction=\"/messages/retry\""), "{found}");
        let form = format!("/messages/retry?{filter}");
        let would = ada.page(&form).await;
        assert!(words(&would).contains("2 waiting messages would be due now"), "{}", words(&would));
        let fields = [("channel", "http"), ("status", "PENDING"), ("why", "they are back"), ("by", "ada")];
        let done = ada.send(&form, "/messages/retry", &fields).await;
        assert!(words(&done.text).contains("2 of 2 retried."), "{}", words(&done.text));
        delivered(3).await;
        let selected = ada.send(&form, "/messages/retry", &[("id", &scheduled.to_string()), ("why", "now")]).await;
        assert!(words(&selected.text).contains("scheduled for later: 1."), "{}", words(&selected.text));
        delivered(4).await;
        let everything = ada.send(&form, "/messages/retry", &[("why", "all of it")]).await;
        assert_eq!(everything.status, 400, "{}", words(&everything.text));
    }
}
