//! What the pages show.

use std::time::Duration;

use outbox_store::{Database, Shard};
use outbox_tests::eventually;
use serde_json::json;

use super::{LOOK_AGAIN, OPERATES, READS, Stage, TOKENS, words};
use crate::outboxes::{self, literal};
use crate::program::{HTTP, PATIENCE, Program};

/// What a page says that shows what was found before.
const AGED: &str = " ago: so many rows are looked at behind the page";

/// The same for a name that must be short.
const SHORT: &str = "<script>alert(1)</script>\u{202e}";

/// What a browser would run, and what would deceive an eye.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}gnp.exe\u{200b}";

#[tokio::test]
async fn what_a_stranger_wrote_is_text_on_each_page_whatever_its_column() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let (hostile, short) = (literal(outbox.dialect(), HOSTILE), literal(outbox.dialect(), SHORT));
        let json = literal(outbox.dialect(), &json!({ HOSTILE: HOSTILE }).to_string());
        let tags = literal(outbox.dialect(), &json!({ SHORT: HOSTILE }).to_string());
        // The receiver is one of these too: what it answers is kept.
        let columns = "channel, target, payload, headers, idempotency_key, ordering_key, tenant, tags, status, dead_reason, last_error, receipt, revision";
        outbox
            .sql(&format!(
                "INSERT INTO outbox ({columns}) VALUES ({short}, {hostile}, {json}, {json}, {hostile}, {hostile}, {hostile}, \
                 {json}, 'DEAD', 'permanent', {hostile}, {hostile}, 1)"
            ))
            .await;
        outbox.sql("UPDATE outbox SET finished_at = created_at").await;
        outbox
            .sql(&format!(
                "INSERT INTO outbox (channel, target, payload, tags) VALUES ({short}, 'javascript:alert(3)', {json}, {tags})"
            ))
            .await;
        outbox
            .sql(&format!(
                "INSERT INTO outbox_invalid_target (channel, target, reason) VALUES ({short}, {hostile}, {hostile})"
            ))
            .await;
        let id = outbox.number("SELECT min(id) FROM outbox").await;
        outbox
            .sql(&format!(
                "INSERT INTO outbox_audit (message_id, who, action, why, details) VALUES ({id}, {hostile}, 'edit', {hostile}, {json})"
            ))
            .await;
        outbox
            .sql(&format!(
                "INSERT INTO outbox_operation (id, action, status, state, failure, began_at) SELECT max(id), 'edit', 'failed', {hostile}, {hostile}, max(at) \
                 FROM outbox_audit"
            ))
            .await;
        let operation = outbox.number("SELECT max(id) FROM outbox_operation").await;
        let now = match outbox.database {
            Database::Postgres(_) => "now()",
            Database::MySql(_) => "UTC_TIMESTAMP(6)",
            Database::Sqlite(_) => "unixepoch() * 1000",
        };
        outbox
            .sql(&format!(
                "INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, outcome, status_code, error, excerpt) \
                 VALUES ({id}, 1, 1, {hostile}, {now}, {now}, 'dead', 400, {hostile}, {hostile})"
            ))
            .await;
        outbox
            .sql(&format!(
                "INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures) \
                 VALUES ({hostile}, {now}, {hostile}, 'hand', {hostile}, 1)"
            ))
            .await;
        outbox
            .sql(&format!(
                "INSERT INTO outbox_term_log (shard, epoch, holder, instance, version, started_at, ended_at, ended_because) \
                 VALUES (0, 0, {hostile}, {short}, {short}, {now}, {now}, 'lost')"
            ))
            .await;
        outbox.beat_troubled("replica", HOSTILE, HOSTILE).await;
        let ada = stage.person(OPERATES).await;
        let pages = [
            "/".to_owned(),
            "/messages".to_owned(),
            format!("/messages/{id}"),
            format!("/messages/{}", id + 1),
            format!("/messages/{id}/edit"),
            "/dead-letters?reason=permanent".to_owned(),
            "/dead-letters/redrive".to_owned(),
            "/dead-letters/edit?set_headers=X-A:+b".to_owned(),
            "/destinations?all=true".to_owned(),
            "/operations".to_owned(),
            format!("/operations/{operation}"),
            "/terms".to_owned(),
            "/terms?epoch=0".to_owned(),
            format!(
                "/destinations?destination={}",
                url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>()
            ),
            "/invalid-targets".to_owned(),
            format!("/audit?message={id}"),
        ];
        for path in pages {
            let page = ada.page(&path).await;
            for hostile in ["<script>alert", "<img", "\u{202e}", "\u{200b}", "href=\"javascript"] {
                assert!(!page.contains(hostile), "{path} has {hostile} of a row: {page}");
            }
            assert!(page.contains("&lt;script&gt;alert(1)") || page.contains("javascript:alert(3)"), "{path}: {page}");
        }
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_says_what_is_allowed_and_shows_nothing() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let id = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let ada = stage.person(OPERATES).await;
    for (path, said) in [
        (
            "/messages?status=lost",
            "status = &quot;lost&quot;: <code>lost</code> is not known; it must be one of <code>PENDING</code>, <code>SUCCESS</code>, <code>DEAD</code><",
        ),
        ("/messages?since=yesterday", "it must be a time ago, as 2h"),
        ("/messages?chanel=http", "chanel = &quot;http&quot;: unknown field"),
        ("/messages?after=x", "after = &quot;x&quot;"),
        (
            "/dead-letters?reason=boredom",
            "reason = &quot;boredom&quot;: <code>boredom</code> is not known; it must be one of",
        ),
        ("/dead-letters?status_code=many", "status_code = &quot;many&quot;"),
        ("/dead-letters?after=17", "it is not where a page of dead letters ended"),
        ("/invalid-targets?older_than=1", "it must be a time ago"),
        ("/ordering-keys?halted=true", "halted = &quot;true&quot;: unknown field"),
        ("/ordering-keys?after=x", "after = &quot;x&quot;"),
        ("/messages?priority=9", "it must be 0, 1, 2 or 3"),
        (
            "/operations?status=failed",
            "status = &quot;failed&quot;: unknown field <code>status</code>: this page has no filter",
        ),
        ("/operations?after=x", "after = &quot;x&quot;"),
        ("/operations/1?x=1", "this page has no filter"),
        ("/terms?x=1", "x = &quot;1&quot;: unknown field <code>x</code>"),
        ("/settings?x=1", "this page has no filter"),
        ("/retention?success=7", "success = &quot;7&quot;: it must be a time with its unit, as 7d, or never"),
        ("/retention/prune?dead=soon", "dead = &quot;soon&quot;: it must be a time with its unit"),
        ("/retention?failed=7d", "failed = &quot;7d&quot;: unknown field"),
        ("/destinations?x=1", "x = &quot;1&quot;: unknown field"),
        ("/check?x=1", "x = &quot;1&quot;: unknown field"),
        ("/audit?x=1", "x = &quot;1&quot;: unknown field"),
        ("/figures?x=1", "x = &quot;1&quot;: unknown field"),
        ("/?channel=http", "channel = &quot;http&quot;: unknown field"),
        ("/messages/1?x=1", "x = &quot;1&quot;: unknown field"),
        ("/messages/find?message=1&x=1", "x = &quot;1&quot;: unknown field"),
    ] {
        let refused = ada.look(path).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text);
        assert!(refused.text.contains(said), "{path}: {}", refused.text);
        assert!(!refused.text.contains(&format!("/messages/{id}\"")), "{path} lists a message");
        assert!(!refused.text.contains("/dead-letters/purge"), "{path} offers a change");
    }
    for path in
        ["/dead-letters/redrive?reason=boredom", "/dead-letters/purge?chanel=http", "/messages/17x", "/messages/4711"]
    {
        let refused = ada.look(path).await;
        assert!(refused.status == 400 || refused.status == 404, "{path}: {}", refused.status);
        assert!(refused.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
    }
    // What a form leaves empty is no filter, and not part of the address.
    let sent = ada.look("/messages?status=DEAD&channel=&since=").await;
    assert_eq!((sent.status, sent.location.as_str()), (303, "/messages?status=DEAD"));
}

#[tokio::test]
async fn lists_lead_from_page_to_page_and_a_search_to_its_message() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    outbox
        .sql("INSERT INTO outbox (channel, target, payload, status, revision) SELECT 'http', 'x', '{}', 'SUCCESS', 1 FROM generate_series(1, 120)")
        .await;
    let ada = stage.person(OPERATES).await;
    let (mut path, mut seen) = ("/messages?status=SUCCESS".to_owned(), 0);
    loop {
        let page = ada.page(&path).await;
        seen += page.matches("<th class=\"whole\" scope=\"row\">").count();
        let Some((_, next)) = page.split_once("rel=\"next\" href=\"") else { break };
        path = next.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!(seen, 120);
    let key = "Ä 100%/?&#".to_owned();
    let id = stage.message(&outbox, "/", &["--idempotency-key", &key, "--force"]).await;
    let encoded: String = url::form_urlencoded::byte_serialize(key.as_bytes()).collect();
    for named in [id.to_string(), encoded] {
        let found = ada.look(&format!("/messages/find?message={named}")).await;
        assert_eq!((found.status, found.location), (303, format!("/messages/{id}")), "{named}");
    }
    let namesake = stage.message(&outbox, "/", &["--idempotency-key", &id.to_string(), "--force"]).await;
    let found = ada.look(&format!("/messages/find?message={id}")).await;
    assert_eq!((found.status, found.location), (303, format!("/messages/{id}?named={id}")));
    let said = words(&ada.page(&format!("/messages/{id}?named={id}")).await);
    let both = format!("This is the message with the id {id}. Message {namesake} has {id} as its idempotency key.");
    assert!(said.contains(&both), "{said}");
    assert!(!words(&ada.page(&format!("/messages/{id}")).await).contains("This is the message"));
    let lost = ada.look("/messages/find?message=nobody").await;
    assert_eq!(lost.status, 404);
    assert!(lost.text.contains("no message has it as its id"), "{}", lost.text);
    for odd in ["%2C".to_owned(), "x".repeat(300)] {
        assert_eq!(ada.look(&format!("/messages/find?message={odd}")).await.status, 404, "{odd}");
    }
}

#[tokio::test]
async fn lists_show_what_a_customer_knows_and_the_field_above_the_page_finds_it() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let about = ["--idempotency-key", "invoice-4711-mail", "--tag", "customer=C-3", "--tenant", "acme"];
        let id = stage.message(&outbox, "/garbage", &about).await;
        stage.message(&outbox, "/garbage", &["--idempotency-key", "other"]).await;
        stage.dead(&outbox, 2).await;
        let ada = stage.person(OPERATES).await;
        assert!(!words(&ada.page("/messages?key_prefix=other").await).contains("About"), "nothing to say");
        for path in ["/messages", "/dead-letters?channel=http"] {
            let list = words(&ada.page(path).await);
            for shown in ["invoice-4711-mail", "customer=C-3", "tenant acme", "About"] {
                assert!(list.contains(shown), "{path}: {shown}: {list}");
            }
        }
        let target = outbox.text(&format!("SELECT target FROM outbox WHERE id = {id}")).await;
        for (known, leads_to) in [
            ("invoice-4711", "/messages?key_prefix=invoice-4711".to_owned()),
            ("customer=C-3", "/messages?tags=customer%3DC-3".to_owned()),
            ("C-3", "/messages?tags=customer%3DC-3".to_owned()),
            ("acme", "/messages?tenant=acme".to_owned()),
            (
                &target,
                format!(
                    "/messages?target={}",
                    url::form_urlencoded::byte_serialize(target.as_bytes()).collect::<String>()
                ),
            ),
        ] {
            let encoded: String = url::form_urlencoded::byte_serialize(known.as_bytes()).collect();
            let found = ada.look(&format!("/messages/find?message={encoded}")).await;
            assert_eq!((found.status, found.location), (303, leads_to), "{known}");
        }
        let shown = words(&ada.page(&format!("/messages/{id}")).await);
        let request = ["curl -g -X POST", "-H 'idempotency-key: &quot;invoice-4711-mail&quot;'", "--data-raw '"];
        assert!(request.iter().all(|part| shown.contains(part)), "{shown}");
        let misspelt = words(&ada.page("/messages?tags=custmer%3DC-3").await);
        assert!(
            misspelt.contains("None of the newest messages has a tag custmer. Their tags are customer."),
            "{misspelt}"
        );
        let listed = Program::new(&outbox.test.url, HTTP).run(&["messages", "list", "--tag", "custmer=C-3"]).await;
        assert!(listed.stderr.contains("did you mean customer?"), "{listed:?}");
        let listed = Program::new(&outbox.test.url, HTTP).run(&["messages", "list"]).await;
        assert!(listed.stdout.contains("invoice-4711-mail") && listed.stdout.contains("customer=C-3"), "{listed:?}");
    }
}

#[tokio::test]
async fn the_overview_and_a_message_say_in_words_what_is_wrong() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let id = stage.message(&outbox, "/garbage", &["--ordering-key", "order 17"]).await;
        stage.dead(&outbox, 1).await;
        outbox.sql("INSERT INTO outbox (channel, target, payload) VALUES ('fax', '1', '{}')").await;
        let ada = stage.person(OPERATES).await;
        let overview = words(&ada.page("/").await);
        for said in
            ["Needs attention.", "Nobody has configured channel fax", "Dead letters1", "fax not configured", "polled"]
        {
            assert!(overview.contains(said), "{said}: {overview}");
        }
        let terms = words(&ada.page("/terms").await);
        assert!(terms.contains("goes on"), "{terms}");
        let message = words(&ada.page(&format!("/messages/{id}")).await);
        for said in [
            "It is a dead letter since",
            "Nothing says that it was sent more than once.",
            "enqueued",
            "dead (permanent)",
            "order 17",
        ] {
            assert!(message.contains(said), "{said}: {message}");
        }
        let settings = ada.page("/settings").await;
        assert!(settings.contains("token = &quot;***&quot;") && !settings.contains("s3cret"), "{settings}");
    }
}

#[tokio::test]
async fn the_overview_says_that_all_is_well_only_where_nothing_waits_for_somebody() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let ada = stage.person(OPERATES).await;
        // What is shown is some seconds old.
        let shows = async |expected: &[&str]| {
            let what = format!("the overview says {expected:?}");
            let said = async || {
                let page = ada.page("/").await;
                expected.iter().all(|part| page.contains(part)).then_some(page)
            };
            eventually(&what, PATIENCE, said).await
        };
        shows(&["Running."]).await;

        // It died long ago, so nobody is called to it.
        let old = match outbox.database {
            Database::Postgres(_) => "now() - interval '3 hours'",
            Database::MySql(_) => "UTC_TIMESTAMP(6) - INTERVAL 3 HOUR",
            Database::Sqlite(_) => "unixepoch('now', '-3 hours') * 1000",
        };
        let letter = "INSERT INTO outbox (channel, target, payload, revision, status, dead_reason, finished_at)";
        outbox.sql(&format!("{letter} VALUES ('http', '/', '{{}}', 2, 'DEAD', 'permanent', {old})")).await;
        let page = shows(&["<p class=\"note plain\">This replica is ready", "Dead letters"]).await;
        assert!(!page.contains("Needs attention."), "{page}");

        let pause = [("destination", "http"), ("why", "they move")];
        ada.send("/destinations", "/destinations/pause", &pause).await;
        let paused = "<a href=\"/destinations?destination=http\">http</a> is paused until somebody resumes it.";
        let page = shows(&[paused, "Needs attention.", "This replica is ready"]).await;
        assert!(!page.contains("Running."), "{page}");

        let figures = crate::questions::figures::delivered("http", 3, None);
        outbox.database.add_figures(Shard::default(), Duration::from_mins(2), &figures).await.unwrap();
        outbox
            .sql(&format!(
                "INSERT INTO outbox (channel, target, payload, created_at, available_at) VALUES ('http', '/late', '{{}}', {old}, {old})"
            ))
            .await;
        shows(&[
            "<a href=\"/dead-letters?since=1h\">1 message</a> died within the hour.",
            "Channel http is late: <a href=\"/messages?channel=http&amp;status=PENDING\">its oldest message</a>",
        ])
        .await;
    }
}

#[tokio::test]
async fn nobody_waits_for_a_count_of_very_many_rows_and_its_age_is_said() {
    let [_, _, outbox] = outboxes::migrated().await;
    outbox
        .sql(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001) \
             INSERT INTO outbox (channel, target, payload, revision, status, dead_reason, finished_at) \
             SELECT 'http', '/', '{}', 2, 'DEAD', 'permanent', unixepoch() * 1000 FROM n",
        )
        .await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let ada = stage.person(OPERATES).await;
    let aged = async || words(&ada.page("/").await).contains(AGED).then_some(());
    eventually("the overview says how old its count is", PATIENCE, aged).await;
}

#[tokio::test]
async fn nobody_waits_for_a_search_among_very_many_rows_and_the_age_of_what_it_found_is_said() {
    let [outbox, ..] = outboxes::migrated().await;
    let Database::Postgres(pool) = &outbox.database else { panic!("the first is on PostgreSQL") };
    outbox
        .sql(
            "INSERT INTO outbox (channel, target, payload, tenant, revision, status, dead_reason, finished_at) \
             VALUES ('http', '/', '{}', 'acme', 2, 'DEAD', 'permanent', now())",
        )
        .await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let ada = stage.person(OPERATES).await;
    // A search that waits for a lock is a long one.
    let lock = async || {
        let mut held = pool.begin().await.unwrap();
        sqlx::query("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE").execute(&mut *held).await.unwrap();
        held
    };
    let paths = ["/messages?tenant=acme", "/dead-letters?tenant=acme", "/dead-letters"];
    let held = lock().await;
    for path in paths {
        let shown = ada.glance(path).await;
        assert_eq!((shown.status, shown.text.contains(LOOK_AGAIN)), (200, true), "{path}: {}", shown.text);
    }
    held.rollback().await.unwrap();
    for path in paths {
        assert!(ada.page(path).await.contains("/messages/1\""), "{path}");
    }
    let held = lock().await;
    for path in paths {
        let aged = async || {
            let shown = ada.glance(path).await.text;
            (shown.contains("/messages/1\"") && words(&shown).contains(AGED)).then_some(())
        };
        eventually(&format!("{path} shows what was found before, and how long ago"), PATIENCE, aged).await;
    }
    held.rollback().await.unwrap();
}

#[tokio::test]
async fn the_form_of_a_change_is_offered_though_what_it_means_takes_long_to_count() {
    let [outbox, ..] = outboxes::migrated().await;
    let Database::Postgres(pool) = &outbox.database else { panic!("the first is on PostgreSQL") };
    let stage = Stage::begin(&outbox, TOKENS).await;
    stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let ada = stage.person(OPERATES).await;
    // Each form has a filter of its own, so that none shows what another has counted.
    for (path, button, counted) in [
        ("/messages/replay?since=1h", "Replay them", "0 delivered messages would be sent again"),
        ("/messages/cancel?since=2h", "Cancel them", "0 waiting messages would be cancelled"),
        ("/dead-letters/redrive?since=3h", "Redrive them", "1 dead letter would be redriven"),
        ("/dead-letters/purge?since=4h", "Delete them for good", "1 dead letter would be deleted"),
        ("/dead-letters/edit?since=5h", "Show the difference", "1 dead letter meant."),
    ] {
        let mut held = pool.begin().await.unwrap();
        sqlx::query("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE").execute(&mut *held).await.unwrap();
        let (release, mut released) = tokio::sync::oneshot::channel();
        // A session that does nothing loses its lock after two seconds.
        let holding = tokio::spawn(async move {
            while released.try_recv().is_err() {
                sqlx::query("SELECT 1").execute(&mut *held).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            held.rollback().await.unwrap();
        });
        let shown = ada.glance(path).await;
        let said = words(&shown.text);
        assert_eq!((shown.status, shown.text.contains(LOOK_AGAIN)), (200, true), "{path}: {said}");
        assert!(said.contains("This takes longer than usual") && said.contains(button), "{path}: {said}");
        release.send(()).unwrap();
        holding.await.unwrap();
        let said = words(&ada.page(path).await);
        assert!(said.contains(counted), "{path}: {said}");
    }
}

#[tokio::test]
async fn the_audit_and_gone_targets_are_files_too_as_far_as_a_person_may_see_them() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, &format!("{TOKENS}read_payloads = false\n")).await;
        outbox
            .sql(
                "INSERT INTO outbox_invalid_target (channel, target, reason) VALUES ('fcm', '=1+1', 'gone, they said')",
            )
            .await;
        let details = literal(outbox.dialect(), "{\"payload\": \"of a customer\"}");
        outbox
            .sql(&format!(
                "INSERT INTO outbox_audit (message_id, who, action, why, details) VALUES (7, 'ada', 'edit', 'it moved', {details})"
            ))
            .await;
        let (ada, reader) = (stage.person(OPERATES).await, stage.person(READS).await);
        let file = ada.look("/invalid-targets/download/csv?channel=fcm").await;
        let disposition = file.headers["content-disposition"].to_str().unwrap().to_owned();
        assert_eq!((file.status, disposition.as_str()), (200, "attachment; filename=\"outbox-invalid-targets.csv\""));
        let lines: Vec<_> = file.text.split("\r\n").collect();
        assert_eq!(lines[0], "id,channel,target,reason,observed_at");
        assert!(lines[1].contains(",fcm,'=1+1,\"gone, they said\",20"), "{}", file.text);
        for (person, sees) in [(&ada, true), (&reader, false)] {
            let audit = person.look("/audit/download/json?message=7").await;
            let entries: serde_json::Value = serde_json::from_str(&audit.text).unwrap();
            assert_eq!((&entries[0]["who"], &entries[0]["message_id"]), (&json!("ada"), &json!(7)));
            assert_eq!(audit.text.contains("of a customer"), sees, "{}", audit.text);
        }
        for path in ["/audit/download/xml", "/audit/download/csv?mesage=7"] {
            assert_eq!(ada.look(path).await.status, 400, "{path}");
        }
        assert_eq!(
            super::Person::at(&stage.url).look("/audit/download/csv").await.status,
            303,
            "who has not signed in"
        );
    }
}

#[tokio::test]
async fn the_audit_of_a_message_is_found_by_its_key_and_an_unknown_channel_is_named() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let id = stage.message(&outbox, "/", &["--delay", "2h", "--idempotency-key", "order-4711"]).await;
    stage.program.run(&["messages", "cancel", &id.to_string(), "--why", "wrong", "--by", "ada"]).await.done();
    let ada = stage.person(OPERATES).await;
    let audit = ada.look("/audit?message=order-4711").await;
    assert!(audit.status == 200 && audit.text.contains(&format!("/messages/{id}\"")), "{}", audit.text);
    assert_eq!(ada.look("/audit?message=nobody").await.status, 404);
    let messages = words(&ada.look("/messages?channel=htpp").await.text);
    assert!(messages.contains("The settings have no channel htpp. Did you mean http?"), "{messages}");
}

#[tokio::test]
async fn the_filter_of_the_audit_is_its_address_and_its_files_keep_it() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    outbox
        .sql(
            "INSERT INTO outbox_audit (who, action, why) VALUES ('ada (page)', 'cancel', 'a-1'), ('ada', 'purge', 'a-2'), \
             ('eve', 'cancel', 'a-3')",
        )
        .await;
    let ada = stage.person(OPERATES).await;
    let page = ada.page("/audit?who=ada&action=cancel&until=0s").await;
    assert_eq!(["a-1", "a-2", "a-3"].map(|why| page.contains(why)), [true, false, false], "{page}");
    assert!(page.contains("<option value=\"cancel\" selected>"), "{page}");
    let file = "/audit/download/json?who=ada&amp;action=cancel&amp;until=0s";
    assert!(page.contains(&format!("href=\"{file}\"")), "{page}");
    let file = ada.look(&file.replace("&amp;", "&")).await.text;
    assert_eq!(["a-1", "a-2", "a-3"].map(|why| file.contains(why)), [true, false, false], "{file}");
    assert!(words(&ada.page("/audit?who=nobody").await).contains("No entry meets the filter."));
    let refused = ada.look("/audit?action=redrove").await;
    assert!(refused.status == 400 && refused.text.contains("redrive"), "{}", refused.text);
}
