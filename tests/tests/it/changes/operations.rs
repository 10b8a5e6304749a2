//! Changes of many messages as operations: who goes on with one, how it is stopped, and what its row says.

use std::process::Stdio;
use std::time::Duration;

use outbox_desk::{
    Action, Author, ByHand, Change, DeadLetterFilter, Desk, OperationEntry, OperationStatus, Operations, Ordered, Pace,
    Selection,
};
use outbox_schema::MessageId;
use outbox_store::Dialect;
use outbox_tests::changes::Unfollowed;
use outbox_tests::eventually;
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::changes::long_changes::{count, dead_letters};
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

/// All dead letters.
fn all() -> Selection {
    Selection::Filter(DeadLetterFilter::default())
}

fn ada() -> Author {
    Author { who: "ada".to_owned(), why: "they are back".to_owned() }
}

/// Orders a purge of all dead letters, and leaves it at once.
async fn ordered(outbox: &Outbox) -> i64 {
    let ordered = outbox_desk::begin(&outbox.database, &Change::Purge { selection: all() }, &ada(), Duration::ZERO)
        .await
        .unwrap();
    match ordered {
        Ordered::Begun(id) => id,
        other @ Ordered::Over(_) => panic!("{other:?}"),
    }
}

async fn shown(outbox: &Outbox, id: i64) -> OperationEntry {
    outbox_desk::operation(&outbox.database, id).await.unwrap().unwrap()
}

/// Waits for the end of an operation.
async fn ended(outbox: &Outbox, id: i64) -> OperationEntry {
    let over = async || Some(shown(outbox, id).await).filter(|found| found.status != OperationStatus::Open);
    eventually("the operation ends", PATIENCE, over).await
}

/// How many entries of the audit, and how many messages, a redrive has.
async fn redriven(outbox: &Outbox) -> (i64, i64) {
    let parts = "outbox_audit WHERE action = 'redrive' AND part_of IS NOT NULL";
    let messages = outbox.number(&format!("SELECT count(DISTINCT message_id) FROM {parts}")).await;
    (count(outbox, parts).await, messages)
}

#[tokio::test]
async fn the_poller_goes_on_with_a_change_whose_command_was_killed() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 5).await;
        let program = Program::new(&outbox.test.url, HTTP);
        // What comes due waits behind this rate, so that nothing is sent.
        let mut command = program.command(&["dead-letters", "redrive", "--all", "--rate", "1/s"]);
        let mut child = command.env("USER", "ada").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        timeout(PATIENCE, said.read_line(&mut first)).await.unwrap().unwrap();
        child.kill().await.unwrap();
        let id: i64 = first.trim().rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(shown(&outbox, id).await.status, OperationStatus::Open);

        let mut replica = program.start();
        replica.says("operation.taken").await;
        let end = ended(&outbox, id).await;
        assert_eq!((end.status, end.done, end.changed), (OperationStatus::Done, 4_500, 4_500));
        let done = end.result.as_ref().unwrap();
        assert_eq!((done.action, done.meant, done.changed, done.audit_id), (Action::Redrive, 4_500, 4_500, Some(id)));
        assert_eq!(redriven(&outbox).await, (4_500, 4_500), "each once");
        // One rate for all of them, whoever redrove them.
        let due = "SELECT count(DISTINCT available_at) FROM outbox WHERE revision = 2";
        assert!(outbox.number(due).await > 4_400, "they come due one a second");
    }
}

#[tokio::test]
async fn a_second_replica_goes_on_where_the_first_one_died() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 10).await;
        let program = Program::new(&outbox.test.url, &format!("[lease]\nttl = \"2s\"\n{HTTP}"));
        let mut first = program.start();
        let url = first.listener().await;
        first.says("term.began").await;
        let mut second = program.start();
        second.listener().await;

        let body = r#"{"selection": {"filter": {}}, "rate": 1, "author": {"by": "ada", "why": "they are back"}}"#;
        let (status, location, begun) = order(&url, "dead-letters/redrive", body).await;
        assert_eq!((status, begun["status"].as_str(), begun["meant"].as_u64()), (202, Some("open"), Some(9_000)));
        assert_eq!(location, format!("/api/v1/operations/{}", begun["id"]));
        let id = begun["id"].as_i64().unwrap();
        let under_way = async || (shown(&outbox, id).await.done > 0).then_some(());
        eventually("the first replica has begun", PATIENCE, under_way).await;
        first.stop(Signal::KILL).await;
        assert_eq!(shown(&outbox, id).await.status, OperationStatus::Open);

        let end = ended(&outbox, id).await;
        assert_eq!((end.status, end.changed, end.who.as_deref()), (OperationStatus::Done, 9_000, Some("ada (API)")));
        assert_eq!(redriven(&outbox).await, (9_000, 9_000), "each once");
    }
}

/// Orders a change of a replica without waiting for its end. Gives status, location and answer.
async fn order(url: &str, path: &str, body: &str) -> (u16, String, Value) {
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{url}/api/v1/{path}")).header("x-outbox-client", "1");
    let request = request.header("prefer", "handling=strict, respond-async").header("content-type", "application/json");
    let answer = request.body(body.to_owned()).send().await.unwrap();
    let location = answer.headers().get("location").map_or("", |at| at.to_str().unwrap()).to_owned();
    (answer.status().as_u16(), location, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

#[tokio::test]
async fn an_operation_is_stopped_by_anybody_and_what_it_changed_stays_changed() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 2).await;
        let id = ordered(&outbox).await;
        let waits = shown(&outbox, id).await;
        assert!(waits.waits && waits.status == OperationStatus::Open && waits.meant == Some(1_800), "{waits:?}");
        assert_eq!(outbox.database.waiting(10).await.unwrap(), [id]);

        // A carrier that has one batch's time.
        let batches = std::sync::atomic::AtomicU32::new(0);
        let once = || batches.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        outbox.database.go_on(id, &once).await.unwrap();
        assert_eq!(count(&outbox, "outbox").await, 1_300);
        let program = Program::new(&outbox.test.url, HTTP);
        let number = id.to_string();
        let stop = ["operations", "stop", &number, "--by", "grace", "--why", "enough"];
        let said = program.run(&stop).await.done();
        assert!(said.contains(&format!("operation {id} is stopped")) && said.contains("500 of 1800"), "{said}");
        let again = program.run(&stop).await.done();
        assert!(again.contains("had ended: it is stopped"), "{again}");
        assert_eq!(count(&outbox, "outbox_audit WHERE action = 'stop' AND who = 'grace'").await, 1);

        assert!(outbox.database.waiting(10).await.unwrap().is_empty());
        outbox.database.go_on(id, &|| true).await.unwrap();
        assert_eq!(count(&outbox, "outbox").await, 1_300, "nobody goes on with what was stopped");
        let unknown = program.run(&["operations", "stop", "4711"]).await.failed();
        assert!(unknown.contains("no operation has the number 4711"), "{unknown}");
    }
}

#[tokio::test]
async fn a_batch_writes_down_where_the_change_stands_and_not_the_whole_order_anew() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 2).await;
        let page = outbox.database.dead_letters(&DeadLetterFilter::default(), &[], None, 1_800).await.unwrap();
        let ids = Selection::Ids(page.letters.iter().map(|letter| MessageId(letter.id)).collect());
        let begun = outbox_desk::begin(&outbox.database, &Change::Purge { selection: ids }, &ada(), Duration::ZERO)
            .await
            .unwrap();
        let Ordered::Begun(id) = begun else { panic!("{begun:?}") };
        let order = outbox.text("SELECT state FROM outbox_operation").await;
        for made in [500, 1_000] {
            let batches = std::sync::atomic::AtomicU32::new(0);
            let once = || batches.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
            outbox.database.go_on(id, &once).await.unwrap();
            assert_eq!(count(&outbox, "outbox").await, 1_800 - made);
            assert_eq!(outbox.text("SELECT state FROM outbox_operation").await, order);
            let place = outbox.text("SELECT place FROM outbox_operation").await;
            assert!(place.len() < 500 && order.len() > 5_000, "{place}");
        }
        outbox.database.go_on(id, &|| true).await.unwrap();
        let end = shown(&outbox, id).await;
        assert_eq!((end.status, end.meant, end.changed), (OperationStatus::Done, Some(1_800), 1_800));
        let purged = end.result.unwrap();
        assert_eq!((purged.audit_id, purged.changed), (Some(id), 1_800));
    }
}

#[tokio::test]
async fn a_filter_means_later_what_it_meant_when_it_was_ordered() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        let id = ordered(&outbox).await;
        // Those that die later lie behind those that were meant.
        dead_letters(&outbox, 1).await;
        outbox.database.go_on(id, &|| true).await.unwrap();
        let end = shown(&outbox, id).await;
        assert_eq!((end.status, end.meant, end.changed), (OperationStatus::Done, Some(900), 900));
        assert_eq!(count(&outbox, "outbox").await, 900);
    }
}

#[tokio::test]
async fn two_carriers_never_make_the_same_batch() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 4).await;
        let id = ordered(&outbox).await;
        let goes_on = || true;
        let one = || outbox.database.go_on(id, &goes_on);
        let carried = tokio::join!(one(), one(), one(), one());
        assert!(carried.0.and(carried.1).and(carried.2).and(carried.3).is_ok());
        assert_eq!(shown(&outbox, id).await.changed, 3_600);
        assert_eq!(count(&outbox, "outbox_audit WHERE action = 'purge' AND part_of IS NOT NULL").await, 3_600);
    }
}

#[tokio::test]
async fn a_carrier_that_was_taken_for_dead_makes_no_more_batches() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 4).await;
        let id = ordered(&outbox).await;
        let goes_on = || true;
        let one = || outbox.database.go_on(id, &goes_on);
        let others = async {
            while shown(&outbox, id).await.status == OperationStatus::Open {
                outbox.sql("UPDATE outbox_operation SET carried_until = NULL WHERE status = 'open'").await;
                one().await.unwrap();
            }
        };
        let (first, ()) = tokio::join!(one(), others);
        first.unwrap();
        let end = shown(&outbox, id).await;
        assert_eq!((end.status, end.done, end.changed), (OperationStatus::Done, 3_600, 3_600));
    }
}

#[tokio::test]
async fn whoever_carries_an_operation_out_ends_it_when_somebody_else_stops_it() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 10).await;
        let id = ordered(&outbox).await;
        let goes_on = || true;
        let stopping = async {
            eventually("it is under way", PATIENCE, async || (shown(&outbox, id).await.done > 0).then_some(())).await;
            outbox.database.stop(id, &ada()).await.unwrap()
        };
        let (carried, stopped) = tokio::join!(outbox.database.go_on(id, &goes_on), stopping);
        carried.unwrap();
        assert!(stopped.is_some_and(|stopped| stopped.stopped), "it was open");
        let end = shown(&outbox, id).await;
        assert_eq!(end.status, OperationStatus::Stopped);
        assert!(end.changed < 9_000, "{end:?}");
        assert_eq!(count(&outbox, "outbox").await, 9_000 - i64::try_from(end.changed).unwrap());
    }
}

#[tokio::test]
async fn an_order_that_this_release_cannot_read_fails_and_one_that_it_does_not_know_waits() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        let id = ordered(&outbox).await;
        outbox.sql("UPDATE outbox_operation SET state = '{\"selection\": 1}'").await;
        outbox.database.go_on(id, &|| true).await.unwrap();
        let failed = shown(&outbox, id).await;
        let why = failed.failure.unwrap();
        assert!(failed.status == OperationStatus::Failed && why.contains("does not understand the order"), "{why}");

        let other = ordered(&outbox).await;
        outbox.sql(&format!("UPDATE outbox_operation SET action = 'compost' WHERE id = {other}")).await;
        outbox.database.go_on(other, &|| true).await.unwrap();
        assert_eq!(shown(&outbox, other).await.status, OperationStatus::Open);
        // It stands before no other.
        let known = ordered(&outbox).await;
        assert_eq!(outbox.database.waiting(1).await.unwrap(), [known]);
        assert_eq!(count(&outbox, "outbox").await, 900);
    }
}

#[tokio::test]
async fn a_change_with_nothing_to_do_is_no_operation_and_others_are_listed_and_followed() {
    for outbox in outboxes::each().await {
        let redrive = Change::Redrive { selection: all(), pace: Pace::default() };
        let nothing = outbox_desk::begin(&outbox.database, &redrive, &ada(), Duration::ZERO).await;
        assert!(matches!(nothing.unwrap(), Ordered::Over(done) if done.meant == 0));
        let program = Program::new(&outbox.test.url, HTTP);
        let none = program.run(&["operations", "list"]).await.done();
        assert_eq!(none, "nobody has changed many messages at once in the last 30 days\n");

        dead_letters(&outbox, 1).await;
        outbox.database.purge(&all(), &ada()).await.unwrap();
        dead_letters(&outbox, 1).await;
        let id = ordered(&outbox).await;
        let listed = program.run(&["operations", "list", "--json"]).await.json();
        let states: Vec<_> =
            listed["operations"].as_array().unwrap().iter().map(|one| one["status"].as_str()).collect();
        assert_eq!(states, [Some("open"), Some("done")]);
        let mut replica = program.start();
        let url = replica.listener().await;
        let followed = program.run(&["--url", &url, "operations", "follow", &id.to_string(), "--json"]).await.json();
        assert_eq!((&followed["status"], &followed["result"]["purge"]["purged"]), (&"done".into(), &900.into()));
        let shown = program.run(&["operations", "show", &id.to_string()]).await.done();
        assert!(shown.contains("900 of 900") && shown.contains("they are back"), "{shown}");
        assert!(shown.contains("order        all\n"), "{shown}");
    }
}

#[tokio::test]
async fn all_times_are_in_utc_with_six_digits() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let redriven = program.run(&["dead-letters", "redrive", "--all", "--json"]).await.json();
        let listed = program.run(&["operations", "list", "--json"]).await.json();
        let audit = program.run(&["audit", "list", "--json"]).await.json();
        let id = redriven["messages"][0].to_string();
        let shown = program.run(&["messages", "show", &id]).await.done();
        let times =
            [&listed["operations"][0]["began_at"], &listed["operations"][0]["ended_at"], &audit["entries"][0]["at"]];
        for time in times {
            let time = time.as_str().unwrap();
            let digits = time.split_once('.').map_or(0, |(_, fraction)| fraction.len() - 1);
            assert!(time.ends_with('Z') && (3..=6).contains(&digits), "{time}");
            assert!(outbox.dialect() != Dialect::Postgres || digits == 6, "{time}");
        }
        let death = shown.lines().find(|line| line.contains("dead (permanent)"));
        assert!(death.is_some_and(|line| !line.contains("+00:00")), "{shown}");
    }
}

#[tokio::test]
async fn an_undo_is_of_what_the_operation_made_and_not_of_what_was_meant() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let redriven = program.run(&["dead-letters", "redrive", "--all", "--rate", "1/s", "--json"]).await.json();
        // As if it had been stopped: the rest stayed as it was.
        let id = redriven["audit_id"].to_string();
        outbox.sql(&format!("UPDATE outbox_operation SET status = 'stopped', changed = 300 WHERE id = {id}")).await;
        program.run(&["dead-letters", "undo", &id]).await.done();
        let undone = shown(&outbox, outbox.number("SELECT max(id) FROM outbox_operation").await).await;
        assert_eq!((undone.action.as_str(), undone.meant), ("undo", Some(300)), "{undone:?}");
    }
}
