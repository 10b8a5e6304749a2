//! Recurring messages for people: the command line, what is explained, and settings that are read anew.

use outbox_tests::eventually;
use rustix::process::Signal;

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

/// A message that is due by itself once a year, and another one each second.
pub(crate) const TODO: &str = "[recurring.todo]\ncron = \"0 21 31 12 *\"\ntimezone = \"Europe/Berlin\"\nchannel = \"http\"\n\
                    target = \"http://127.0.0.1:1/\"\n";
const TICK: &str = "[recurring.tick]\ncron = \"* * * * * *\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1:1/\"\n";

/// Waits until there are so many messages whose keys begin so.
pub(crate) async fn written(outbox: &Outbox, beginning: &str, count: i64) {
    let select = format!("SELECT count(*) FROM outbox WHERE idempotency_key LIKE '{beginning}%'");
    let is = async || (outbox.number(&select).await >= count).then_some(());
    eventually(&format!("{count} of {beginning} are written"), PATIENCE, is).await;
}

/// Waits until a poller has known a name.
pub(crate) async fn known(outbox: &Outbox, name: &str) {
    let select = format!("SELECT count(*) FROM outbox_recurring WHERE name = '{name}'");
    let is = async || (outbox.number(&select).await == 1).then_some(());
    eventually(&format!("{name} is known"), PATIENCE, is).await;
}

#[tokio::test]
async fn what_recurs_is_paused_resumed_and_fired_by_hand_at_the_database_and_at_a_replica() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, &format!("{HTTP}{TODO}"));
        let mut replica = program.start();
        let url = replica.listener().await;
        known(&outbox, "todo").await;
        for (nth, at) in [&[] as &[&str], &["--url", &url]].into_iter().enumerate() {
            let run = async |arguments: &[&str]| program.run(&[&["recurring"], arguments, at].concat()).await;
            let by_ada = ["--why", "they move", "--by", "ada"];
            // A poller finds it a moment after it was resumed.
            let listed =
                async || Some(run(&["list", "--json"]).await.json()).filter(|list| list[0]["next_at"].is_string());
            let listed = eventually("its next time is known", PATIENCE, listed).await;
            let next = listed[0]["next_at"].as_str().unwrap();
            assert!(next.ends_with("-12-31T20:00:00.000Z") && listed[0]["cron"] == "0 21 31 12 *", "{listed}");
            let times = run(&["next", "todo", "--limit", "2"]).await.done();
            assert!(times.contains("-12-31 21:00 Europe/Berlin"), "{times}");

            assert!(run(&[&["pause", "todo"], &by_ada[..]].concat()).await.done().starts_with("todo is paused"));
            assert!(run(&["list"]).await.done().contains("paused by ada"));
            assert!(run(&[&["pause", "todo"], &by_ada[..]].concat()).await.done().contains("paused by ada"));
            // Also while it is paused.
            let fired = run(&[&["fire", "todo"], &by_ada[..]].concat()).await.done();
            assert!(fired.contains("within a second"), "{fired}");
            written(&outbox, "recurring:todo:by-hand:", i64::try_from(nth).unwrap() + 1).await;
            assert!(run(&[&["resume", "todo"], &by_ada[..]].concat()).await.done().contains("goes on"));
            assert!(run(&["resume", "todo", "--by", "ada"]).await.done().contains("was not paused"));
            let unknown = run(&["pause", "nobody", "--by", "ada"]).await.failed();
            assert!(unknown.contains("nobody"), "{unknown}");
        }
        let audit = program.run(&["audit", "list", "--json"]).await.json();
        let entries = audit["entries"].as_array().unwrap();
        let done: Vec<_> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        assert_eq!(done, ["resume", "fire", "pause", "resume", "fire", "pause"]);
        assert!(entries[0]["details"].as_str().unwrap().contains("todo"), "{audit}");
        let id = outbox.number("SELECT min(id) FROM outbox").await.to_string();
        let explained = program.run(&["messages", "explain", &id]).await.done();
        assert!(
            explained.contains("made by recurring.todo by hand at ") && explained.contains("Europe/Berlin"),
            "{explained}"
        );
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn a_replica_takes_up_what_recurs_without_a_restart_and_lets_it_go() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        replica.says("term.began").await;
        program.set(&format!("{HTTP}{TICK}"));
        replica.hang_up();
        written(&outbox, "recurring:tick:", 2).await;
        program.set(&format!("{HTTP}{TODO}"));
        replica.hang_up();
        known(&outbox, "todo").await;
        let ticks = outbox.number("SELECT count(*) FROM outbox").await;
        program.run(&["recurring", "fire", "todo", "--by", "ada"]).await.done();
        written(&outbox, "recurring:todo:", 1).await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, ticks + 1, "nothing of what was taken out");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn times_that_pass_during_a_pause_are_not_made_up_for() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, &format!("{HTTP}{TICK}missed = \"all\"\n{TODO}"));
        let replica = program.start();
        written(&outbox, "recurring:tick:", 2).await;
        program.run(&["recurring", "pause", "tick", "--by", "ada"]).await.done();
        // Several seconds pass: each of these is written by a turn of its own.
        for count in 1..4 {
            program.run(&["recurring", "fire", "todo", "--by", "ada"]).await.done();
            written(&outbox, "recurring:todo:by-hand:", count).await;
        }
        let paused = outbox.number("SELECT count(*) FROM outbox WHERE idempotency_key LIKE 'recurring:tick:%'").await;
        program.run(&["recurring", "resume", "tick", "--by", "ada"]).await.done();
        written(&outbox, "recurring:tick:", paused + 2).await;
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
        let list = ["messages", "list", "--key-prefix", "recurring:tick:", "--limit", "1000", "--json"];
        let listed = program.run(&list).await.json();
        let messages = listed["messages"].as_array().unwrap().iter().rev();
        let key = |message: &serde_json::Value| message["idempotency_key"].as_str().unwrap().to_owned();
        let time = |key: String| key["recurring:tick:".len()..].parse::<jiff::Timestamp>().unwrap().as_second();
        let times: Vec<_> = messages.map(key).map(time).collect();
        assert!(times.windows(2).any(|pair| pair[1] - pair[0] > 1), "{times:?}");
    }
}
