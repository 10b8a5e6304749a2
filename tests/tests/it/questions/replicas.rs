//! What each replica tells of itself in the outbox, and who runs by other settings.

use std::time::Instant;

use outbox_console::health::presence::EACH;
use outbox_desk::ReplicaEntry;
use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_tests::eventually;
use rustix::process::Signal;

use crate::listener::readiness::get;
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};
use crate::questions::retention::insert;
use crate::sink::Sink;

/// Terms of a second: a replica writes its row whenever it begins one, and need not be waited for.
const SHORT: &str = "[lease]\nterm = \"1s\"\n";

/// The rows of so many replicas, once they are there.
async fn rows(outbox: &Outbox, count: usize) -> Vec<ReplicaEntry> {
    let there = async || outbox_desk::fleet(&outbox.database).await.ok().filter(|rows| rows.len() == count);
    eventually("each replica has a row", PATIENCE, there).await
}

#[tokio::test]
async fn a_replica_says_what_it_runs_by_in_its_log_in_its_row_and_in_its_terms() {
    for outbox in outboxes::each().await {
        let settings =
            format!("instance = \"web-1\"\n[lease]\nttl = \"9s\"\nterm = \"1s\"\n{HTTP}on_dead_ordered = \"halt\"\n");
        let program = Program::new(&outbox.test.url, &settings);
        let mut replica = program.start();
        let started = replica.says("run.started").await;
        let [row] = &rows(&outbox, 1).await[..] else { panic!("one row") };
        let hash = row.settings_hash.clone().unwrap();
        for said in [
            "instance=\"web-1\"".to_owned(),
            format!("id=\"{}\"", row.row.id),
            "lease_store=\"table\"".to_owned(),
            "channels=[\"http\"]".to_owned(),
            format!("settings=\"{hash}\""),
        ] {
            assert!(started.contains(&said), "{said} is not in {started}");
        }
        assert_eq!((row.row.name.as_str(), row.lease_store.as_deref()), ("web-1", Some("table")));
        let by = row.runs_by.as_ref().unwrap();
        assert_eq!((by.lease_ttl_ms, by.lease_term_ms), (9_000, 1_000));
        assert!(by.channels["http"].halts, "{by:?}");
        assert_eq!(by.settings["lease.ttl"], "\"9s\"");

        let of_term = format!(
            "SELECT count(*) FROM outbox_term_log WHERE instance = 'web-1' AND version LIKE '{}%' AND lease_store = 'table' \
             AND settings_hash = '{hash}'",
            env!("CARGO_PKG_VERSION")
        );
        let told = async || (outbox.number(&of_term).await > 0).then_some(());
        eventually("a term says what it runs by", PATIENCE, told).await;
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn a_row_has_the_hash_of_the_settings_that_were_read_anew_before_the_next_row_is_due() {
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    let long = "[lease]\nterm = \"1h\"\n";
    let program = Program::new(&outbox.test.url, &format!("{long}{HTTP}"));
    let mut replica = program.start();
    replica.says("term.began").await;
    let before = rows(&outbox, 1).await[0].settings_hash.clone();
    program.set(&format!("{long}{HTTP}timeout = \"3s\"\n"));
    let reloaded = Instant::now();
    replica.hang_up();
    let changed =
        async || (outbox_desk::fleet(&outbox.database).await.unwrap()[0].settings_hash != before).then_some(());
    eventually("the row has another hash", PATIENCE, changed).await;
    assert!(reloaded.elapsed() < EACH / 2, "{:?}", reloaded.elapsed());
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn a_replica_with_other_settings_is_named_by_the_poller_and_by_readyz_which_stays_ready() {
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    let program = |name: &str, more: &str| {
        Program::new(&outbox.test.url, &format!("instance = \"{name}\"\n{SHORT}{HTTP}{more}")).start_for_good()
    };
    let mut one = program("web-1", "");
    let listener = one.listener().await;
    let mut other = program("web-2", "timeout = \"3s\"\n");
    let said = one.says("fleet.settings_differ").await;
    assert!(
        said.contains("the replica web-2 (") && said.contains("channels.http.timeout \"3s\", not at its default"),
        "{said}"
    );
    let said = other.says("fleet.settings_differ").await;
    assert!(
        said.contains("the replica web-1 (") && said.contains("channels.http.timeout at its default, not \"3s\""),
        "{said}"
    );
    let (status, body) = get(&listener, "/readyz").await;
    assert_eq!(status, 200, "{body}");
    let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert!(answer["notes"][0].as_str().unwrap().starts_with("settings: the replica web-2 ("), "{answer}");
    for replica in [one, other] {
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn a_channel_that_only_the_poller_lacks_is_explained_as_missing_there() {
    for outbox in outboxes::each().await {
        let other = HTTP.replace("channels.http", "channels.other");
        let settings = |name: &str, more: &str| format!("instance = \"{name}\"\n[lease]\nterm = \"1h\"\n{other}{more}");
        let home = Program::new(&outbox.test.url, &settings("web-1", ""));
        let mut poller = home.start();
        poller.says("term.began").await;
        let mut follower = Program::new(&outbox.test.url, &settings("web-2", HTTP)).start_for_good();
        let listener = follower.listener().await;
        rows(&outbox, 2).await;
        outbox.sql("INSERT INTO outbox (channel, target, payload) VALUES ('http', 'http://127.0.0.1:9/', '1')").await;
        let missing = "Its channel \"http\" is not configured at the poller web-1, and other replicas have it";
        for asked in [&["messages", "explain", "1"][..], &["--url", &listener, "messages", "explain", "1"]] {
            let said = home.run(asked).await.done();
            assert!(
                said.contains(missing) && said.contains("[channels.http] to the settings of that replica"),
                "{said}"
            );
        }
        home.set(&settings("web-1", HTTP));
        poller.hang_up();
        let gone = async || (!home.run(&["messages", "explain", "1"]).await.done().contains(missing)).then_some(());
        eventually("the poller has read its settings", PATIENCE, gone).await;
        for replica in [poller, follower] {
            assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
        }
    }
}

#[tokio::test]
async fn replicas_with_the_same_settings_name_nobody() {
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    let program =
        |name: &str| Program::new(&outbox.test.url, &format!("instance = \"{name}\"\n{SHORT}{HTTP}")).start_for_good();
    let (mut one, mut other) = (program("web-1"), program("web-2"));
    rows(&outbox, 2).await;
    // By its second term each has seen the row of the other.
    for replica in [&mut one, &mut other] {
        replica.says("term.began").await;
        replica.says("term.began").await;
    }
    for replica in [one, other] {
        let (code, log) = replica.stop(Signal::TERM).await;
        assert!(code == Some(0) && !log.contains("settings_differ"), "{log}");
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_written_stops_no_delivery() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        // As for a role that has the grants of the release before.
        outbox.sql("DROP TABLE outbox_replica").await;
        outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&1)]).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let log = program.deliver().await;
        assert_eq!(log.matches("replica.unseen").count(), 1, "{log}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 1, "{log}");
    }
}

#[tokio::test]
async fn a_replica_of_the_release_before_is_read_and_differs_from_nobody() {
    for outbox in outboxes::each().await {
        let (started, values) = match outbox.dialect() {
            Dialect::Postgres => ("", ""),
            Dialect::MySql => (", started_at, seen_at", ", UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)"),
            Dialect::Sqlite => (", started_at, seen_at", ", unixepoch('subsec') * 1000, unixepoch('subsec') * 1000"),
        };
        let columns = "id, name, version, schema_version";
        let insert =
            format!("INSERT INTO outbox_replica ({columns}{started}) VALUES ('old', 'host', '0.0.9', 4{values})");
        outbox.sql(&insert).await;
        let [row] = &outbox_desk::fleet(&outbox.database).await.unwrap()[..] else { panic!("one row") };
        assert!(row.row.runs() && row.settings_hash.is_none() && row.runs_by.is_none(), "{row:?}");
        let mine = outbox_desk::RunsBy::default();
        assert!(outbox_console::health::fleet::differing("a", &mine, std::slice::from_ref(row)).is_empty());
    }
}

#[tokio::test]
async fn replicas_are_listed_with_who_polls_and_whose_settings_differ_by_the_database_and_by_a_replica() {
    for outbox in outboxes::each().await {
        let program = |name: &str, more: &str| {
            Program::new(&outbox.test.url, &format!("instance = \"{name}\"\n[lease]\nterm = \"1h\"\n{HTTP}{more}"))
        };
        let poller = program("web-1", "");
        let mut one = poller.start();
        let listener = one.listener().await;
        one.says("term.began").await;
        let mut other = program("web-2", "timeout = \"3s\"\n").start_for_good();
        other.says("run.started").await;
        rows(&outbox, 2).await;

        let polls = async || {
            let text = poller.run(&["replicas"]).await.done();
            text.contains("  polls 0  ").then_some(text)
        };
        let text = eventually("the poller is known", PATIENCE, polls).await;
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert!(line("web-1 ").contains("  polls 0  ") && !line("web-1 ").contains('≠'), "{text}");
        assert!(line("web-2 ").contains("  follows  ") && line("web-2 ").ends_with('≠'), "{text}");
        let differs = "web-2 runs by other settings than the poller: channels.http.timeout \"3s\", not at its default";
        assert!(text.contains(differs), "{text}");
        assert!(text.contains("\nlease store: table (web-1, web-2)\n"), "{text}");

        let [by_database, by_replica] = [
            poller.run(&["replicas", "--json"]).await.json(),
            poller.run(&["--url", &listener, "replicas", "--json"]).await.json(),
        ];
        assert_eq!(by_database[0]["polls"], serde_json::json!([0]));
        for (one, other) in by_database.as_array().unwrap().iter().zip(by_replica.as_array().unwrap()) {
            assert_eq!(
                (&one["id"], &one["polls"], &one["differs"]),
                (&other["id"], &other["polls"], &other["differs"])
            );
        }
        let status = poller.run(&["status"]).await.done();
        assert!(status.contains("replicas: 2 (web-1, web-2)") && status.contains("0      web-1  "), "{status}");
        let check = poller.run(&["check"]).await.stdout;
        let named = check.lines().any(|line| line.contains("; web-1 (") && line.ends_with(") polls"));
        assert!(named, "{check}");
        for replica in [one, other] {
            assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
        }
        assert!(poller.run(&["replicas"]).await.done().contains("no replica runs"));
    }
}

#[tokio::test]
async fn a_reader_judges_by_what_the_fleet_runs_by_and_not_by_its_own_settings() {
    for outbox in outboxes::each().await {
        let redis = outbox_tests::servers::Redis::start().await;
        let lease = format!("[lease]\nurl = \"{}\"\nterm = \"1h\"\n", redis.url());
        let channel = HTTP.replace("channels.http", "channels.mail");
        let mut replica =
            Program::new(&outbox.test.url, &format!("instance = \"web-1\"\n{lease}{channel}")).start_for_good();
        replica.says("term.began").await;
        rows(&outbox, 1).await;
        let insert = "INSERT INTO outbox (channel, target, payload) VALUES ('mail', 'http://127.0.0.1:1/', '{}')";
        outbox.sql(insert).await;

        // A laptop: no lease.url, another lease.term, no channel `mail`.
        let laptop = Program::new(&outbox.test.url, &format!("[lease]\nterm = \"1s\"\n{HTTP}"));
        let status = laptop.run(&["status"]).await.done();
        assert!(
            status.contains("0      web-1  ") && status.contains("note: the lease of the fleet is in redis://"),
            "{status}"
        );
        assert!(!status.contains("not configured") && !status.contains("nobody"), "{status}");
        let id = outbox.number("SELECT max(id) FROM outbox").await.to_string();
        let explained = laptop.run(&["messages", "explain", &id]).await.done();
        for wrong in ["is not configured", "Nobody seems to poll"] {
            assert!(!explained.contains(wrong), "{explained}");
        }
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
        let status = laptop.run(&["status"]).await.done();
        assert!(status.contains("0      nobody"), "{status}");
    }
}

#[tokio::test]
async fn outbox_prune_keeps_what_the_fleet_keeps_whatever_its_own_settings_say() {
    for outbox in outboxes::each().await {
        let fleet = Program::new(&outbox.test.url, &format!("{HTTP}[retention]\nsuccess = \"2d\"\ndead = \"never\"\n"));
        let mut replica = fleet.start();
        let url = replica.listener().await;
        rows(&outbox, 1).await;
        insert(&outbox, 3, "SUCCESS", 3, &[]).await;
        insert(&outbox, 1, "DEAD", 3, &[]).await;
        let laptop = Program::new(&outbox.test.url, &format!("{HTTP}[retention]\nsuccess = \"1h\"\ndead = \"1h\"\n"));
        for access in [&[] as &[&str], &["--url", &url]] {
            let ran = laptop.run(&[access, &["prune", "--dead", "1d"]].concat()).await;
            let told = "retention.success is 2days in the fleet, which counts here, and 1h in these settings";
            assert!(ran.stderr.contains(told) && !ran.stderr.contains("retention.dead"), "{ran:?}");
            assert_eq!(ran.done(), "0 delivered messages and 0 dead letters removed\n");
            let text = laptop.run(&[access, &["prune", "--success", "1h", "--dry-run"]].concat()).await.done();
            assert_eq!(text, "3 delivered messages and 0 dead letters would be removed; nothing was changed\n");
        }
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn who_looks_may_be_of_another_environment_and_who_changes_may_not() {
    for outbox in outboxes::each_empty().await {
        outbox.database.migrate("production").await.unwrap();
        outbox.enqueue(&[NewMessage::http("https://shop.example/hook").json(&1)]).await;
        let id = outbox.number("SELECT max(id) FROM outbox").await.to_string();
        let looks: [&[&str]; 12] = [
            &["status"],
            &["replicas"],
            &["messages", "list"],
            &["messages", "show", &id],
            &["messages", "explain", &id],
            &["dead-letters", "list"],
            &["ordering-keys", "list", "--halted"],
            &["destinations", "list"],
            &["invalid-targets", "list"],
            &["messages", "cancel", "--channel", "http", "--dry-run"],
            &["dead-letters", "redrive", "--all", "--dry-run"],
            &["prune", "--dry-run"],
        ];
        let (unsaid, staging) = (
            Program::new(&outbox.test.url, HTTP),
            Program::new(&outbox.test.url, &format!("[database]\nenvironment = \"staging\"\n{HTTP}")),
        );
        for look in looks {
            let ran = unsaid.run(look).await;
            assert!(!ran.stderr.contains("environment"), "{ran:?}");
            ran.done();
            let ran = staging.run(look).await;
            assert!(ran.stderr.contains("is of the environment `production`"), "{ran:?}");
            ran.done();
        }
        let changes: [&[&str]; 5] = [
            &["messages", "cancel", &id, "--why", "x"],
            &["dead-letters", "redrive", "--channel", "http"],
            &["destinations", "pause", "http", "--why", "x"],
            &["prune"],
            &["enqueue", "--channel", "http", "--target", "https://shop.example/", "--payload", "1"],
        ];
        for change in changes {
            let ran = unsaid.run(change).await;
            assert!(
                ran.code == Some(1) && ran.stderr.contains("belongs to the environment `production`"),
                "{change:?} {ran:?}"
            );
            assert!(!ran.stderr.contains("--adopt-environment"), "{ran:?}");
        }
    }
}

#[tokio::test]
async fn the_environment_of_an_outbox_in_use_is_not_adopted() {
    for outbox in outboxes::each().await {
        let mut replica = Program::new(&outbox.test.url, &format!("instance = \"web-1\"\n{HTTP}")).start_for_good();
        replica.says("term.began").await;
        rows(&outbox, 1).await;
        let owner = Program::new(&outbox.test.url, &format!("[database]\nenvironment = \"staging\"\n{HTTP}"));
        let adopt = ["migrate", "--adopt-environment", "--yes"];
        let refused = owner.run(&adopt).await.failed();
        assert!(refused.contains("is in use") && refused.contains("the replica web-1 "), "{refused}");
        // As where the role may not write the row, or a replica of 0.1.0 polls.
        outbox.sql("DELETE FROM outbox_replica").await;
        let refused = owner.run(&adopt).await.failed();
        assert!(refused.contains("is in use") && refused.contains("of shard 0 began"), "{refused}");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
        assert!(owner.run(&adopt).await.done().contains("is of the environment `staging`"));
    }
}

#[tokio::test]
async fn the_status_of_a_fleet_that_runs_and_cannot_begin_a_term_says_why() {
    for outbox in outboxes::each().await {
        outbox
            .beat_troubled("id-1", "web-1", "nothing could be written for 20s: permission denied for table outbox_term")
            .await;
        let status = Program::new(&outbox.test.url, HTTP).run(&["status"]).await.done();
        let said = "shard 0: nobody holds the lease, and the replicas that run cannot poll: web-1: nothing could be written for \
                    20s: permission denied for table outbox_term";
        assert!(status.contains(said), "{status}");
    }
}
