//! Jobs for people: the command line, at the database and at a replica.

use outbox_store::jobs::{JobStore, RunEnd, RunEnded};
use outbox_tests::{eventually, servers};
use rustix::process::Signal;

use super::store::{JOB, begin, end, ended};
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

#[tokio::test]
async fn jobs_are_listed_shown_paused_and_resumed_at_the_database_and_at_a_replica() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        assert!(program.run(&["jobs", "list"]).await.done().contains("no job has run"));
        let first = begin(&outbox).await;
        end(&outbox, &first, RunEnd::Finished).await;
        let second = begin(&outbox).await;
        let (exit_code, tail) = (Some(3), Some("no bed\nis free".to_owned()));
        let told = RunEnded { exit_code, tail, ..ended(RunEnd::Failed) };
        outbox.database.end_run(JOB, &second, &told).await.unwrap();
        let (first, second) = (first.token.to_string(), second.token.to_string());
        let mut replica = program.start();
        let url = replica.listener().await;
        for at in [&[] as &[&str], &["--url", &url]] {
            let run = async |arguments: &[&str]| program.run(&[&["jobs"], arguments, at].concat()).await;
            let list = run(&["list"]).await.done();
            assert!(list.contains(JOB) && list.contains("failed") && list.contains("web-1"), "{list}");
            let json = run(&["list", "--json"]).await.json();
            assert_eq!((json[0]["state"].as_str(), json[0]["ends"]["finished"].as_i64()), (Some("failed"), Some(1)));

            let history = run(&["history", JOB, "--limit", "1"]).await.done();
            let more = format!("more: outbox jobs history {JOB} --after {second}");
            assert!(history.contains("failed (3)") && history.contains(&more), "{history}");
            let before = run(&["history", JOB, "--after", &second, "--json"]).await.json();
            assert_eq!(before["runs"][0]["token"].to_string(), first, "{before}");
            let shown = run(&["show", JOB, &second]).await.done();
            assert!(shown.contains("ward-status --all") && shown.contains("is free"), "{shown}");
            let missing = run(&["show", JOB, "99"]).await.failed();
            assert!(missing.contains("no run 99"), "{missing}");

            assert!(run(&["pause", JOB, "--by", "ada"]).await.done().contains("is paused"));
            let again = run(&["pause", JOB, "--by", "eve"]).await.done();
            assert!(again.contains("paused by ada"), "{again}");
            assert!(run(&["resume", JOB, "--by", "ada"]).await.done().contains("goes on"));
            assert!(run(&["resume", JOB, "--by", "ada"]).await.done().contains("was not paused"));
            for command in [&["history", "nobody"] as &[&str], &["pause", "nobody", "--by", "ada"]] {
                let unknown = run(command).await.failed();
                assert!(unknown.contains("no job \"nobody\" has run"), "{unknown}");
            }
        }
        let audit = program.run(&["audit", "list", "--json"]).await.json();
        let done: Vec<_> =
            audit["entries"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        assert_eq!(done, ["resume", "pause", "resume", "pause"]);
        assert!(audit["entries"][0]["details"].as_str().unwrap().contains(JOB), "{audit}");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn the_poller_takes_a_run_for_crashed_once_it_is_silent_and_nobody_has_its_seat() {
    let outbox = Outbox::open(servers::postgres().await.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    begin(&outbox).await;
    outbox.sql("UPDATE outbox_job_run SET seen_at = clock_timestamp() - interval '1 hour'").await;
    outbox.sql("INSERT INTO outbox_job (name) VALUES ('held')").await;
    outbox.sql("INSERT INTO outbox_job_token SELECT 'held', token FROM outbox_job_token").await;
    let run = "INSERT INTO outbox_job_run (name, token, holder, host, pid, command, seen_at) \
               SELECT 'held', token, 'a', host, pid, command, seen_at FROM outbox_job_run";
    outbox.sql(run).await;
    outbox.sql("INSERT INTO outbox_job_seat VALUES ('held', 'a', clock_timestamp() + interval '1 hour')").await;
    let crashed = async |job: &str| {
        let of_job = format!("SELECT count(*) FROM outbox_job_run WHERE name = '{job}' AND ended_because = 'crashed'");
        (outbox.number(&of_job).await == 1).then_some(())
    };
    let replica = Program::new(&outbox.test.url, &format!("{HTTP}[lease]\nprovider = \"table\"\n")).start();
    eventually("the run without a seat has crashed", PATIENCE, async || crashed(JOB).await).await;
    assert_eq!(crashed("held").await, None);
    outbox.sql("UPDATE outbox_job_seat SET expires_at = clock_timestamp()").await;
    eventually("the run that lost its seat has crashed", PATIENCE, async || crashed("held").await).await;
    let (_, log) = replica.stop(Signal::TERM).await;
    assert_eq!(log.matches("job.crashed").count(), 2, "{log}");
}
