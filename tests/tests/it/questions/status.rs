//! `outbox status`: who polls each shard, since when and for how long trusted, and how the last terms ended.

use std::process::Stdio;
use std::time::Duration;

use outbox_desk::{Author, ByHand as _};
use outbox_tests::eventually;
use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::commands::command_line::small;
use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};

#[tokio::test]
async fn the_status_says_who_polls_each_shard_and_how_terms_ended() {
    for outbox in &outboxes::migrated().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let text = program.run(&["status"]).await.done();
        for line in ["0      nobody", "Is a replica running", "nothing pending, nothing dead", "no term has begun yet"]
        {
            assert!(text.contains(line), "{text}");
        }
        let mut replica = program.start();
        let began = replica.says("term.began").await;
        let holder = began.split("holder=").nth(1).unwrap().split(' ').next().unwrap();
        // Two random ids: containers may share a host name, and a restarted process is somebody else.
        let hexadecimal = |id: &str| id.bytes().all(|b| b.is_ascii_hexdigit());
        let parts: Vec<_> = holder.split('.').map(|id| (id.len(), hexadecimal(id))).collect();
        assert_eq!(parts, [(12, true), (8, true)], "{holder}");
        let text = program.run(&["status"]).await.done();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert!(text.contains(&format!("\n0      {host:<6}  {holder}  1 ")) && text.contains("  polls\n"), "{text}");
        let status = program.run(&["status", "--json"]).await.json();
        let shard = &status["shards"][0];
        assert_eq!((&shard["state"], &shard["holder"], &shard["epoch"]), (&json!("polled"), &json!(holder), &json!(1)));
        assert!(shard["since"].as_str().is_some_and(|since| since.contains('T')), "{shard}");
        let trusted = shard["trusted_ms"].as_i64().unwrap();
        assert!((1..=10_000).contains(&trusted), "{shard}");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));

        let status = program.run(&["status", "--json"]).await.json();
        let shard = &status["shards"][0];
        assert_eq!((&shard["state"], &shard["holder"], &shard["epoch"]), (&json!("idle"), &json!(null), &json!(null)));
        assert_eq!(status["last_terms"][0]["ended_because"], "shutdown");
        let text = program.run(&["status"]).await.done();
        assert!(text.contains("  shutdown\n") && !text.contains("  polls\n"), "{text}");
    }
}

#[tokio::test]
async fn the_status_shows_the_last_ten_terms_and_one_that_said_nothing_of_its_end() {
    let program = small().await;
    for _ in 0..11 {
        program.run(&["run", "--until-empty"]).await.done();
    }
    let mut replica = program.start();
    replica.says("term.began").await;
    assert_eq!(replica.stop(Signal::KILL).await.0, None);
    let status = program.run(&["status", "--json"]).await.json();
    let terms = status["last_terms"].as_array().unwrap();
    let epochs: Vec<_> = terms.iter().map(|term| term["epoch"].clone()).collect();
    assert_eq!(epochs, (3..=12).rev().map(|epoch| json!(epoch)).collect::<Vec<_>>());
    assert_eq!(terms[0]["ended_because"], json!(null));
    let run_out = async || program.run(&["status"]).await.done().contains("no word of its end").then_some(());
    eventually("the lease of the killed poller has run out", Duration::from_mins(2), run_out).await;
}

#[tokio::test]
async fn the_status_says_what_is_wrong_where_the_lease_store_does_not_answer() {
    let outbox = &outboxes::migrated().await[0];
    let program = Program::new(&outbox.test.url, &format!("{HTTP}[lease]\nurl = \"redis://127.0.0.1:1\"\n"));
    let text = program.run(&["status"]).await.done();
    assert!(text.contains("0      unknown") && text.contains("shard 0: the lease store at 127.0.0.1:1"), "{text}");
    let status = program.run(&["status", "--json"]).await.json();
    assert_eq!(status["shards"][0]["state"], "unknown");
    assert!(status["shards"][0]["error"].as_str().unwrap().contains("127.0.0.1:1"), "{status}");
}

#[tokio::test]
async fn the_status_names_the_tenants_that_have_most_of_what_is_due() {
    for outbox in &outboxes::migrated().await {
        for (tenant, rows) in [("NULL", 100), ("'noisy'", 150), ("'quiet'", 99)] {
            let row = format!("('http', 'https://shop.example/hook', '{{}}', {tenant})");
            let rows = vec![row; rows].join(", ");
            outbox.sql(&format!("INSERT INTO outbox (channel, target, payload, tenant) VALUES {rows}")).await;
        }
        let program = Program::new(&outbox.test.url, HTTP);
        let text = program.run(&["status"]).await.done();
        for line in [
            "tenant noisy of channel http has 150, the first",
            "tenant https://shop.example:443 of channel http has 100,",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("quiet"), "{text}");
    }
}

#[tokio::test]
async fn a_status_that_is_watched_ends_quietly_once_nobody_reads_it() {
    let outbox = &outboxes::migrated().await[2];
    let program = Program::new(&outbox.test.url, HTTP);
    for arguments in [&["status", "--watch", "1s"] as &[&str], &["status", "--watch", "1s", "--json"]] {
        let mut command = program.command(arguments);
        let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut read = BufReader::new(watch.stdout.take().unwrap());
        let mut line = String::new();
        assert!(timeout(PATIENCE, read.read_line(&mut line)).await.unwrap().unwrap() > 0);
        drop(read);
        let ended = timeout(PATIENCE, watch.wait_with_output()).await.unwrap().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[tokio::test]
async fn the_status_lists_a_hundred_channels_that_nobody_has_configured_and_counts_the_others_together() {
    for outbox in outboxes::each().await {
        let channels = (0..103).map(|number| format!("a{number:03}")).chain(["http".to_owned()]);
        let rows: Vec<_> = channels.map(|channel| format!("('{channel}', 'https://a.example/', '{{}}')")).collect();
        let sql = format!("INSERT INTO outbox (channel, target, payload) VALUES {}", rows.join(", "));
        outboxes::execute(&outbox.database, &sql).await.unwrap();
        let program = Program::new(&outbox.test.url, HTTP);
        let status = program.run(&["status", "--json"]).await.json();
        let channels = status["channels"].as_array().unwrap();
        let named = |name: &str| channels.iter().find(|channel| channel["channel"] == name);
        assert_eq!((channels.len(), status["not_configured"].as_array().unwrap().len()), (102, 100));
        assert_eq!(named("http").unwrap()["pending"], 1);
        assert_eq!(named("(not configured)").unwrap()["pending"], 3);
        let text = program.run(&["status"]).await.done();
        assert!(text.contains("channels beyond 100 that nobody has configured: 3, counted together"), "{text}");
    }
}

#[tokio::test]
async fn the_status_lists_a_hundred_paused_destinations_those_by_hand_first_and_counts_the_others() {
    for outbox in outboxes::each().await {
        outbox.database.pause("https://z.example:443", None, &Author::default()).await.unwrap();
        outbox.hosts_that_asked_for_a_pause(120).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let status = program.run(&["status", "--json"]).await.json();
        let paused = status["paused"].as_array().unwrap();
        assert_eq!((paused.len(), status["paused_count"].as_i64()), (100, Some(121)));
        assert_eq!(paused[0]["destination"], "https://z.example:443");
        let text = program.run(&["status"]).await.done();
        assert!(text.contains("and 21 more destinations are paused: outbox destinations list"), "{text}");
    }
}
