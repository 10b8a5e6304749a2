//! `[alerts]`: what is told by a post to a webhook, once for the whole fleet, and what suffers where no post is taken.

use std::time::Duration;

use outbox_dispatcher::fault_point::Point;
use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_store::jobs::RunEnd;
use outbox_tests::eventually;
use outbox_tests::fleet::Fleet;
use outbox_tests::servers::{self, Redis};
use outbox_tests::stage::Stage;
use rustix::process::Signal;
use serde_json::Value;

use crate::jobs::store::{JOB, begin, end};
use crate::listener::readiness::get;
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program, Replica};
use crate::sink::{Request, Sink};

/// The path of the webhook, which is a secret.
const HOOK: &str = "/s3cret/hook";

/// Settings with short terms that post to `path` of the sink.
fn settings(sink: &Sink, path: &str, alerts: &str) -> String {
    let url = sink.url(path);
    format!("[lease]\nttl = \"1s\"\nterm = \"1s\"\n[alerts]\nurl = \"{url}\"\n{alerts}\n{HTTP}")
}

fn posts(sink: &Sink) -> Vec<Value> {
    let posts = sink.requests().into_iter().filter(|request| request.path.starts_with("/s3cret"));
    posts.map(|Request { body, .. }| serde_json::from_slice(&body).unwrap()).collect()
}

fn text(post: &Value) -> String {
    post["text"].as_str().unwrap_or_else(|| panic!("{post}")).to_owned()
}

async fn posted(sink: &Sink, count: usize) -> Vec<Value> {
    let all = async || Some(posts(sink)).filter(|posts| posts.len() >= count);
    eventually("it is told", PATIENCE, all).await
}

/// Enqueues messages that are refused for good.
async fn refused(outbox: &Outbox, sink: &Sink, count: usize) {
    let messages: Vec<_> = (0..count).map(|_| NewMessage::http(sink.url("/garbage?token=4711")).json(&1)).collect();
    outbox.enqueue(&messages).await;
}

async fn stop(replica: Replica) -> String {
    let (code, log) = replica.stop(Signal::TERM).await;
    assert_eq!(code, Some(0), "{log}");
    log
}

#[tokio::test]
async fn dead_letters_beyond_the_rate_are_told_once_by_a_whole_fleet_with_what_to_run() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let alerts = "on_dead_rate = \"3/1h\"\npage_url = \"https://outbox.example\"";
        let program = Program::new(&outbox.test.url, &settings(&sink, HOOK, alerts));
        refused(&outbox, &sink, 2).await;
        let replicas = [program.start(), program.start(), program.start()];
        let dead = async |count| {
            let dead = "SELECT count(*) FROM outbox WHERE status = 'DEAD'";
            let found = async || (outbox.number(dead).await == count).then_some(());
            eventually("they are dead", PATIENCE, found).await;
        };
        dead(2).await;
        outbox.sql("UPDATE outbox SET dead_reason = 'cancelled' WHERE id = (SELECT * FROM (SELECT min(id) FROM outbox) AS x)").await;
        refused(&outbox, &sink, 1).await;
        dead(3).await;
        let terms = async |more| {
            let from = outbox.number("SELECT max(epoch) FROM outbox_term").await;
            let on = async || (outbox.number("SELECT max(epoch) FROM outbox_term").await >= from + more).then_some(());
            eventually("others poll", PATIENCE, on).await;
        };
        terms(2).await;
        assert_eq!(posts(&sink).len(), 0, "a letter that somebody cancelled counts for nothing");

        refused(&outbox, &sink, 1).await;
        let newest = outbox.number("SELECT max(id) FROM outbox").await;
        let post = text(&posted(&sink, 1).await[0]);
        assert!(
            post.starts_with("Outbox default: 3 dead letters within 1h (told from 3 on)\n- http: 3 permanent\n"),
            "{post}"
        );
        assert!(post.contains(&format!("\nWhy the newest died: outbox messages explain {newest}\n")), "{post}");
        assert!(
            post.contains(
                "\nAll of them: outbox dead-letters list --since 1h\nhttps://outbox.example/dead-letters?since=1h\n"
            ),
            "{post}"
        );
        assert!(!post.contains("4711") && !post.contains("garbage"), "{post}");

        // More of them, and each replica that polls looks, also as it ends.
        refused(&outbox, &sink, 5).await;
        dead(9).await;
        terms(3).await;
        for replica in replicas {
            let log = stop(replica).await;
            assert!(!log.contains("s3cret"), "{log}");
        }
        assert_eq!(posts(&sink).len(), 1, "{:?}", posts(&sink));
        let told = "SELECT count(*) FROM outbox_alert WHERE told_at IS NOT NULL AND claimed_until IS NULL";
        assert_eq!(outbox.number(told).await, 1);
    }
}

#[tokio::test]
async fn a_job_that_is_late_is_told_once_and_shown_in_the_metrics() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let run = begin(&outbox).await;
        end(&outbox, &run, RunEnd::Finished).await;
        outbox.sql("UPDATE outbox_job SET due_within_ms = 1").await;
        let alerts = "format = \"json\"\non_job_late = true\npage_url = \"https://outbox.example\"";
        let program = Program::new(&outbox.test.url, &settings(&sink, HOOK, alerts));
        let mut replica = program.start();
        let url = replica.listener().await;
        let post = posted(&sink, 1).await.remove(0);
        assert_eq!((&post["alert"], &post["jobs"][0]["name"]), (&"job_late".into(), &JOB.into()), "{post}");
        assert!(text(&post).contains("late jobs: 1") && post["page"] == "https://outbox.example/jobs", "{post}");
        let metrics = get(&url, "/metrics").await.1;
        for line in [
            r#"outbox_job_late{name="ward-status"} 1"#,
            r#"outbox_job_runs_total{end="finished",name="ward-status"} 1"#,
        ] {
            assert!(metrics.contains(line), "{line}: {metrics}");
        }
        stop(replica).await;
        assert_eq!(posts(&sink).len(), 1);
    }
}

#[tokio::test]
async fn what_was_told_is_told_again_after_its_window_and_by_a_run_of_a_moment_too() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(
            &outbox.test.url,
            &settings(&sink, HOOK, "format = \"json\"\non_dead_rate = \"1/1h\"\nwindow = \"1s\""),
        );
        refused(&outbox, &sink, 1).await;
        program.deliver().await;
        let first = posts(&sink);
        assert_eq!(first.len(), 1, "{first:?}");
        let counts = serde_json::json!([{ "channel": "http", "reason": "permanent", "dead_letters": 1 }]);
        assert_eq!((&first[0]["alert"], &first[0]["counts"]), (&"dead_rate".into(), &counts), "{}", first[0]);
        // A row whose channel no settings could name, as SQL of strangers writes it.
        outbox
            .sql(
                "INSERT INTO outbox (channel, target, payload, revision, status, dead_reason, finished_at) \
                 SELECT '<!channel> @here', target, payload, 2, 'DEAD', dead_reason, finished_at FROM outbox",
            )
            .await;
        let later = async || {
            program.deliver().await;
            (posts(&sink).len() > 1).then_some(())
        };
        eventually("the window is over", PATIENCE, later).await;
        let second = &posts(&sink)[1];
        let text = text(second);
        assert!(text.contains("- ??channel???here: 1 permanent"), "{text}");
        assert_eq!(second["counts"][0]["channel"], "<!channel> @here", "{second}");
    }
}

#[tokio::test]
async fn that_nobody_polls_is_told_by_one_replica_and_so_is_that_one_polls_again() {
    for outbox in outboxes::each().await {
        let (sink, redis) = (Sink::start().await, Redis::start().await);
        let lease = format!("[lease]\nurl = \"{}\"\nttl = \"1s\"\nterm = \"1s\"", redis.url());
        let alerts =
            settings(&sink, HOOK, "on_no_poller = \"3s\"").replace("[lease]\nttl = \"1s\"\nterm = \"1s\"", &lease);
        let program = Program::new(&outbox.test.url, &alerts);
        let replicas = [program.start(), program.start()];
        let polls = async || (outbox.number("SELECT max(epoch) FROM outbox_term").await > 0).then_some(());
        eventually("a replica polls", PATIENCE, polls).await;
        redis.stop().await;
        let post = text(&posted(&sink, 1).await[0]);
        assert!(post.starts_with("Outbox default: no replica has polled for "), "{post}");
        assert!(post.contains("\nWhy: outbox status, and the logs of the replicas\n"), "{post}");
        redis.restart().await;
        let again = text(&posted(&sink, 2).await[1]);
        assert!(again.starts_with("Outbox default: a replica polls again\n"), "{again}");
        for replica in replicas {
            stop(replica).await;
        }
        assert_eq!(posts(&sink).len(), 2, "{:?}", posts(&sink));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_alert WHERE is_open = 1").await, 0);
    }
}

#[tokio::test]
async fn a_replica_that_is_killed_before_its_post_leaves_it_to_another() {
    let sink = Sink::start().await;
    let stage = Stage::set(servers::postgres().await.database().await, Duration::ZERO).await;
    let outbox = Outbox::open(stage.database.clone()).await;
    let mut settings = stage.settings(None);
    settings.more = format!("alerts.url = \"{}\"\nalerts.on_dead_rate = \"1/1h\"", sink.url(HOOK));
    refused(&outbox, &sink, 1).await;
    let mut fleet = Fleet::with_fault_points(&settings, 1);
    fleet.arm(0, Point::AlertClaimed, "kill");
    let reached = async || fleet.reached(0, Point::AlertClaimed).then_some(());
    eventually("the poller has claimed the alert", PATIENCE, reached).await;
    fleet.ended(0).await;
    assert_eq!(posts(&sink).len(), 0);
    assert_eq!(
        outbox.number("SELECT count(*) FROM outbox_alert WHERE claimed_by IS NOT NULL AND told_at IS NULL").await,
        1
    );
    fleet.add(&[]);
    fleet.add(&[]);
    posted(&sink, 1).await;
    fleet.stop_all().await;
    assert_eq!(posts(&sink).len(), 1, "{:?}", posts(&sink));
}

#[tokio::test]
async fn where_the_webhook_takes_nothing_nothing_else_suffers() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let alerts = settings(&sink, "/s3cret/busy", "on_dead_rate = \"1/1h\"\nwindow = \"1s\"");
        let program = Program::new(&outbox.test.url, &alerts);
        refused(&outbox, &sink, 1).await;
        let mut replica = program.start();
        let address = replica.listener().await;
        let line = replica.says("alerts.not_told").await;
        assert!(line.contains("503") && line.contains("1 dead letters within 1h"), "{line}");
        assert_eq!(posts(&sink).len() % 3, 0, "it is tried three times");
        outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&1)]).await;
        let done =
            async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await == 1).then_some(());
        eventually("it is delivered", PATIENCE, done).await;
        let metrics = get(&address, "/metrics").await.1;
        let failed =
            metrics.lines().find(|line| line.starts_with("outbox_alerts_total{alert=\"dead_rate\",result=\"failed\"}"));
        assert!(failed.is_some_and(|line| !line.ends_with(" 0")), "{metrics}");
        assert_eq!(get(&address, "/readyz").await.0, 200);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_alert WHERE told_at IS NOT NULL").await, 0);
        let log = stop(replica).await;
        assert!(!format!("{line}{log}").contains("s3cret"), "{log}");
    }
}

#[tokio::test]
async fn a_table_of_alerts_that_cannot_be_read_stops_no_delivery() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        // As for a role that has the grants of the release before.
        outbox.sql("DROP TABLE outbox_alert").await;
        outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&1)]).await;
        let log = Program::new(&outbox.test.url, &settings(&sink, HOOK, "on_dead_rate = \"1/1h\"")).deliver().await;
        assert_eq!(log.matches("alerts.blind").count(), 1, "{log}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 1, "{log}");
    }
}

#[tokio::test]
async fn the_webhook_is_shown_nowhere_and_a_check_says_what_is_told_and_posts_a_test_where_it_is_asked_to() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program =
            Program::new(&outbox.test.url, &settings(&sink, HOOK, "on_dead_rate = \"10/1h\"\non_no_poller = \"5m\""));
        for arguments in [&["config", "show"][..], &["config", "show", "--json"], &["check"]] {
            let ran = program.run(arguments).await;
            let said = ran.stdout + &ran.stderr;
            assert!(said.contains("dead") && !said.contains("s3cret"), "{said}");
        }
        let checked = program.run(&["check"]).await.done();
        assert!(checked.contains("dead letters (10 within 1h) and that no replica polls (for 5m)"), "{checked}");
        assert_eq!(posts(&sink).len(), 0);
        let tried = program.run(&["check", "--alert"]).await.done();
        assert!(tried.contains("the webhook has taken a test post"), "{tried}");
        let post = text(&posts(&sink)[0]);
        assert!(post.starts_with("Outbox default: this is a test of `outbox check --alert`"), "{post}");

        // The same webhook, kept in a file that is not there.
        let url = format!("url = \"{}\"", sink.url(HOOK));
        program.set(&settings(&sink, HOOK, "on_dead_rate = \"10/1h\"").replace(&url, "url = { file = \"hook\" }"));
        let checked = program.run(&["check"]).await;
        assert_eq!(checked.code, Some(1));
        let checked = checked.stdout;
        assert!(checked.contains("alerts.url: the file hook cannot be read"), "{checked}");
        program.write("hook", &format!("{}\n", sink.url(HOOK)));
        program.run(&["check", "--alert"]).await.done();
        assert_eq!(posts(&sink).len(), 2);
        let shown = program.run(&["config", "show"]).await.done();
        assert!(shown.contains("url.file = \"hook\"") && !shown.contains("s3cret"), "{shown}");
        program.set(&settings(&sink, "/s3cret/gone", "on_dead_rate = \"10/1h\""));
        let refused = program.run(&["check", "--alert"]).await;
        assert_eq!(refused.code, Some(1));
        let refused = refused.stdout;
        assert!(refused.contains("no test post was taken: it answered 410 Gone"), "{refused}");
        assert_eq!(posts(&sink).len(), 3, "410 does not pass");
        if outbox.dialect() != Dialect::Sqlite {
            continue;
        }
        let mut replica = program.start();
        program.set(&settings(&sink, HOOK, "on_dead_rate = \"1/1h\""));
        replica.says("term.began").await;
        replica.hang_up();
        replica.says("settings.reloaded").await;
        self::refused(&outbox, &sink, 1).await;
        posted(&sink, 4).await;
        stop(replica).await;
    }
}
