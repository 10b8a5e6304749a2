//! Retention: what is old goes, a stretch at a time, and nothing else does.

use std::ops::ControlFlow;
use std::time::Duration;

use outbox_desk::{Author, ByHand, Change, Desk, Progress};
use outbox_schema::{MessageId, NewMessage};
use outbox_store::retention::{BEGINNING, Pruned, STRETCH};
use outbox_store::{AttemptRecord, ClaimId, Dialect, Mark, Pruning, Retention, Verdict};
use outbox_tests::eventually;
use rustix::process::Signal;
use serde_json::json;

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;
use crate::program::{HTTP, PATIENCE, Program};

const HOUR: Duration = Duration::from_hours(1);

/// How MariaDB and MySQL each let a recursion go on.
const RECURSION: &str = "/*M! max_recursive_iterations = 1000000 */ /*!80000 cte_max_recursion_depth = 1000000 */";

/// A moment so many hours ago, as SQL.
fn ago(outbox: &Outbox, hours: u32) -> String {
    match outbox.dialect() {
        Dialect::Postgres => format!("now() - interval '{hours} hours'"),
        Dialect::MySql => format!("UTC_TIMESTAMP(6) - INTERVAL {hours} HOUR"),
        Dialect::Sqlite => {
            format!("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) - {hours} * 3600000")
        }
    }
}

/// Inserts so many rows that were created and finished so many hours ago.
pub(crate) async fn insert(outbox: &Outbox, rows: u32, status: &str, hours: u32, more: &[(&str, &str)]) {
    let (ago, status) = (ago(outbox, hours), format!("'{status}'"));
    let finished = if status == "'PENDING'" { "NULL" } else { &ago };
    let mut columns = vec![
        ("channel", "'http'"),
        ("target", "'/hook'"),
        ("payload", "'{}'"),
        ("status", &status),
        ("revision", if status == "'PENDING'" { "0" } else { "1" }),
        ("created_at", &ago),
        ("finished_at", finished),
    ];
    columns.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    columns.extend(more);
    let [names, values] = [0, 1].map(|of| {
        let part = |column: &(&str, &str)| if of == 0 { column.0 } else { column.1 }.to_owned();
        columns.iter().map(part).collect::<Vec<_>>().join(", ")
    });
    let numbers = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ROWS)";
    let numbers = numbers.replace("ROWS", &rows.to_string());
    let insert = format!("INSERT INTO outbox ({names})");
    let select = format!("SELECT {values} FROM n");
    outbox
        .sql(&match outbox.dialect() {
            Dialect::MySql => format!("SET SESSION {RECURSION}; {insert} {numbers} {select}"),
            Dialect::Postgres | Dialect::Sqlite => format!("{numbers} {insert} {select}"),
        })
        .await;
}

/// A whole pass.
async fn pass(outbox: &Outbox, retention: &Retention) -> Pruned {
    let (mut pruned, mut after) = (Pruned::default(), BEGINNING);
    loop {
        let stretch = outbox.database.overdue(retention, after).await.unwrap();
        pruned.add(&outbox.database.remove(retention, &stretch).await.unwrap());
        if stretch.last {
            return pruned;
        }
        after = stretch.through;
    }
}

fn keeping(success: u32, dead: u32) -> Retention {
    Retention { success: Some(success * HOUR), dead: Some(dead * HOUR), continuing: vec!["http".to_owned()] }
}

async fn count(outbox: &Outbox, of: &str) -> i64 {
    outbox.number(&format!("SELECT count(*) FROM {of}")).await
}

async fn attempt_of(outbox: &Outbox, message: &str) {
    outbox
        .sql(&format!(
            "INSERT INTO outbox_attempt (message_id, number, epoch, holder, outcome) \
             SELECT {message}, 1, 1, 'x', 'retry' FROM outbox_meta"
        ))
        .await;
}

#[tokio::test]
async fn what_is_past_its_retention_goes_with_its_attempts_and_nothing_else_does() {
    for outbox in outboxes::each().await {
        for (status, hours) in [("SUCCESS", 3), ("SUCCESS", 1), ("DEAD", 7), ("DEAD", 3), ("PENDING", 9)] {
            insert(&outbox, 2, status, hours, &[]).await;
        }
        let highest = outbox.number("SELECT max(id) FROM outbox").await;
        for id in 1..=highest {
            attempt_of(&outbox, &id.to_string()).await;
        }
        assert_eq!(pass(&outbox, &keeping(2, 5)).await, Pruned { success: 2, dead: 2 });
        for (status, left) in [("SUCCESS", 2), ("DEAD", 2), ("PENDING", 2)] {
            assert_eq!(count(&outbox, &format!("outbox WHERE status = '{status}'")).await, left, "{status}");
        }
        assert_eq!(count(&outbox, "outbox_attempt").await, 6);
        let orphans = "outbox_attempt a WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = a.message_id)";
        assert_eq!(count(&outbox, orphans).await, 0);

        let for_ever = Retention::default();
        assert_eq!(pass(&outbox, &for_ever).await, Pruned::default());
        let dead_only = Retention { dead: Some(HOUR), ..Retention::default() };
        assert_eq!(pass(&outbox, &dead_only).await, Pruned { success: 0, dead: 2 });
        assert_eq!(pass(&outbox, &keeping(0, 0)).await, Pruned { success: 2, dead: 0 });
        assert_eq!(count(&outbox, "outbox").await, 2, "what is pending stays, whatever its age");
    }
}

#[tokio::test]
async fn attempts_of_messages_that_are_gone_go_wherever_their_ids_lie() {
    for outbox in outboxes::each().await {
        insert(&outbox, 3, "DEAD", 3, &[]).await;
        insert(&outbox, 1, "PENDING", 3, &[]).await;
        let [first, last] =
            [outbox.number("SELECT min(id) FROM outbox").await, outbox.number("SELECT max(id) FROM outbox").await];
        for message in [-7, first, first + 1, last, last + 1000] {
            attempt_of(&outbox, &message.to_string()).await;
        }
        outbox.sql(&format!("DELETE FROM outbox WHERE id = {first}")).await;
        assert_eq!(pass(&outbox, &keeping(5, 5)).await, Pruned::default());
        assert_eq!(count(&outbox, &format!("outbox_attempt WHERE message_id IN ({}, {last})", first + 1)).await, 2);
        assert_eq!(count(&outbox, "outbox_attempt").await, 2);
    }
}

#[tokio::test]
async fn a_pass_goes_on_from_stretch_to_stretch_and_ends_at_the_first_that_is_too_young() {
    for outbox in outboxes::each().await {
        // Old, kept, old again: a pass does not end at what is kept.
        insert(&outbox, STRETCH + 10, "SUCCESS", 3, &[]).await;
        insert(&outbox, STRETCH + 10, "DEAD", 3, &[]).await;
        insert(&outbox, 10, "SUCCESS", 3, &[]).await;
        insert(&outbox, 2 * STRETCH, "SUCCESS", 1, &[]).await;
        // Of a time that has not come: it says nothing of those behind it.
        insert(&outbox, 10, "SUCCESS", 3, &[]).await;
        let retention = keeping(2, 5);
        let (mut stretches, mut after) = (0, BEGINNING);
        loop {
            let stretch = outbox.database.overdue(&retention, after).await.unwrap();
            stretches += 1;
            outbox.database.remove(&retention, &stretch).await.unwrap();
            if stretch.last {
                break;
            }
            after = stretch.through;
        }
        assert_eq!(stretches, 4, "the rows of the last two stretches were looked at");
        assert_eq!(count(&outbox, "outbox WHERE status = 'SUCCESS'").await, i64::from(2 * STRETCH + 10));
        // They are found once what stood before them is old as well.
        assert_eq!(pass(&outbox, &keeping(1, 5)).await.success, u64::from(2 * STRETCH + 10));
    }
}

#[tokio::test]
async fn a_dead_letter_that_halts_its_key_stays_while_a_later_message_of_it_waits() {
    for outbox in outboxes::each().await {
        let row = |channel: &'static str, key: &'static str, reason: &'static str| {
            [("channel", channel), ("ordering_key", key), ("dead_reason", reason)]
        };
        // Alone in front of one that waits, cancelled, behind the one that waits, and of a channel that goes on.
        insert(&outbox, 1, "PENDING", 9, &row("'strict'", "'c'", "NULL")).await;
        for (channel, key, reason) in [
            ("'strict'", "'a'", "'exhausted'"),
            ("'strict'", "'b'", "'cancelled'"),
            ("'strict'", "'c'", "'exhausted'"),
            ("'strict'", "'d'", "'exhausted'"),
            ("'easy'", "'a'", "'exhausted'"),
        ] {
            insert(&outbox, 1, "DEAD", 9, &row(channel, key, reason)).await;
        }
        for (channel, key) in [("'strict'", "'a'"), ("'strict'", "'b'"), ("'easy'", "'a'")] {
            insert(&outbox, 1, "PENDING", 9, &row(channel, key, "NULL")).await;
        }
        let going_on = |channels: &[&str]| {
            let continuing = channels.iter().map(|&name| name.to_owned()).collect();
            Retention { continuing, ..keeping(1, 1) }
        };
        // A channel that is not configured here may be one that halts elsewhere.
        let halting = going_on(&["easy", "it's"]);
        // As marks and claims by hand do. On SQLite that would be the whole file.
        let held = outbox.hold("status = 'PENDING'").await;
        assert_eq!(pass(&outbox, &halting).await, Pruned { success: 0, dead: 4 });
        held.release().await;
        let left = "SELECT min(ordering_key) FROM outbox WHERE status = 'DEAD'";
        assert_eq!(outbox.text(left).await, "a");
        outbox
            .sql("UPDATE outbox SET status = 'SUCCESS', revision = 1 WHERE status = 'PENDING' AND ordering_key = 'a'")
            .await;
        assert_eq!(pass(&outbox, &halting).await.dead, 1, "nobody waits behind it any more");

        insert(&outbox, 1, "DEAD", 9, &row("'strict'", "'e'", "'exhausted'")).await;
        insert(&outbox, 1, "PENDING", 9, &row("'strict'", "'e'", "NULL")).await;
        assert_eq!(pass(&outbox, &halting).await.dead, 0);
        assert_eq!(pass(&outbox, &going_on(&["easy", "strict"])).await.dead, 1, "no channel halts");
    }
}

#[tokio::test]
async fn a_mark_that_comes_after_its_row_was_removed_is_fenced_and_leaves_nothing_behind() {
    for outbox in outboxes::each().await {
        outbox.enqueue(&[NewMessage::http("/hook"), NewMessage::http("/hook")]).await;
        let store = outbox.database.store();
        let first = Poller::begin(&outbox.database, "one").await;
        let (claim, messages) = first.claim().await;
        // One was delivered by a later poller meanwhile and has been removed, the other one waits. The claim still names
        // both.
        let id = messages[0].id();
        let old = ago(&outbox, 9);
        outbox
            .sql(&format!(
                "UPDATE outbox SET status = 'SUCCESS', revision = revision + 1, created_at = {old}, finished_at = {old} \
                 WHERE id = {id}"
            ))
            .await;
        assert_eq!(pass(&outbox, &keeping(1, 1)).await, Pruned { success: 1, dead: 0 });
        assert_eq!(count(&outbox, "outbox_claim").await, 1);

        let marks: Vec<_> = messages.iter().map(|message| delivered(&first, claim, message)).collect();
        let report = store.mark(&marks, &[claim]).await.unwrap();
        assert_eq!(report.fenced, [id]);
        assert_eq!(count(&outbox, "outbox WHERE status = 'SUCCESS'").await, 1);
        assert_eq!(count(&outbox, "outbox_claim").await, 0);
        let recorded = format!("outbox_attempt WHERE message_id = {id} AND outcome = 'delivered_fenced'");
        assert_eq!(count(&outbox, &recorded).await, 1);
        pass(&outbox, &keeping(1, 1)).await;
        assert_eq!(count(&outbox, "outbox_attempt").await, 0);

        // A claim of a crashed poller that names nothing any more is settled like any other.
        let (_, messages) = {
            outbox.enqueue(&[NewMessage::http("/hook")]).await;
            first.claim().await
        };
        outbox.sql(&format!("DELETE FROM outbox WHERE id = {}", messages[0].id())).await;
        let second = Poller::begin(&outbox.database, "two").await;
        outbox.sql("UPDATE outbox_claim SET settling_ms = 0, settling_closed_ms = 0").await;
        second.settle().await;
        assert_eq!(count(&outbox, "outbox_claim").await, 0);
    }
}

fn delivered(poller: &Poller, claim: ClaimId, message: &outbox_store::Message) -> Mark {
    Mark {
        claim,
        id: message.id(),
        revision: message.revision(),
        verdict: Verdict::Success { receipt: None },
        pause: None,
        status_code: Some(200),
        error: None,
        deadline: None,
        told: None,
        attempt: AttemptRecord {
            number: 1,
            epoch: poller.term.epoch,
            holder: poller.term.holder.clone(),
            started: std::time::Instant::now(),
            duration: Duration::from_millis(7),
            kept: false,
            outcome: "delivered",
            excerpt: None,
        },
    }
}

#[tokio::test]
async fn old_terms_leave_the_log_but_for_the_last_thousand_and_those_of_thirty_days() {
    for outbox in outboxes::each().await {
        Poller::begin(&outbox.database, "one").await;
        outbox.sql("UPDATE outbox_term SET epoch = 3000").await;
        outbox.sql("DELETE FROM outbox_term_log").await;
        // 2,500 terms: of the oldest 1,600 all are over 30 days old, of the later ones the last 1,000 of them too.
        let log = |from: u32, to: u32, hours: u32| {
            let rows: Vec<_> = (from..=to).map(|epoch| format!("(0, {epoch}, 'x', {})", ago(&outbox, hours))).collect();
            format!("INSERT INTO outbox_term_log (shard, epoch, holder, started_at) VALUES {}", rows.join(", "))
        };
        outbox.sql(&log(501, 1900, 31 * 24)).await;
        outbox.sql(&log(1901, 1950, 29 * 24)).await;
        outbox.sql(&log(2001, 3000, 31 * 24)).await;
        let mut calls = 1;
        while outbox.database.prune_terms().await.unwrap() {
            calls += 1;
        }
        assert_eq!(calls, 2, "a thousand at a time");
        assert_eq!(count(&outbox, "outbox_term_log").await, 1050);
        assert_eq!(outbox.number("SELECT min(epoch) FROM outbox_term_log").await, 1901);
        let epoch = Poller::begin(&outbox.database, "two").await.term.epoch.0;
        assert_eq!(epoch, 3001);
    }
}

/// Whoever may write rows, and names a new host in each, fills no table with what was known of them.
#[tokio::test]
async fn destinations_that_nothing_has_held_up_and_nobody_used_for_a_day_are_forgotten() {
    for outbox in outboxes::each().await {
        let row = |name: &str, column: &str, hours: u32| {
            let sql = "INSERT INTO outbox_destination (destination, failures, pause_kind";
            format!("{sql}, {column}) VALUES ('{name}', 3, 'breaker', {})", ago(&outbox, hours))
        };
        for column in ["paused_until", "aside_until", "ramp_from", "last_sent_at", "by_hand_at"] {
            outbox.sql(&row(&format!("{column} 23"), column, 23)).await;
            outbox.sql(&row(&format!("{column} 25"), column, 25)).await;
        }
        outbox.database.pause("by hand", None, &Author::default()).await.unwrap();
        outbox.sql(&format!("UPDATE outbox_destination SET by_hand_at = {} WHERE by_hand_at IS NOT NULL AND destination = 'by hand'", ago(&outbox, 25))).await;
        let many: Vec<_> = (0..2_500).map(|host| format!("('https://host{host}.example:443')")).collect();
        outbox.sql(&format!("INSERT INTO outbox_destination (destination) VALUES {}", many.join(", "))).await;
        let (mut after, mut calls) = (String::new(), 0);
        loop {
            calls += 1;
            match outbox.database.prune_destinations(&after).await.unwrap() {
                Some(last) => after = last,
                None => break,
            }
        }
        assert_eq!(calls, 3, "a thousand at a time");
        assert_eq!(count(&outbox, "outbox_destination").await, 6);
        assert_eq!(count(&outbox, "outbox_destination WHERE destination LIKE '% 25'").await, 0);
        assert_eq!(count(&outbox, "outbox_destination WHERE destination = 'by hand'").await, 1);
    }
}

#[tokio::test]
async fn by_hand_it_is_counted_first_and_then_removed_and_the_audit_says_who_and_why() {
    for outbox in outboxes::each().await {
        insert(&outbox, STRETCH + 5, "SUCCESS", 3, &[]).await;
        insert(&outbox, 2, "DEAD", 3, &[]).await;
        let retention = keeping(2, 2);
        let expected = Pruned { success: u64::from(STRETCH + 5), dead: 2 };
        assert_eq!(outbox.database.past_retention(&retention).await.unwrap(), expected);
        assert_eq!(count(&outbox, "outbox_audit").await, 0);
        let author = Author { who: "ada".to_owned(), why: "the disk is full".to_owned() };
        let said = parking_lot::Mutex::new(Vec::new());
        let progress = |progress: Progress| {
            said.lock().push((progress.done, progress.of));
            ControlFlow::Continue(())
        };
        let prune = Change::Prune { retention, of: None };
        assert_eq!(outbox.database.apply(&prune, &author, &progress).await.unwrap().pruned(), expected);
        let of = Some(expected.total());
        assert_eq!(said.into_inner(), [(0, of), (u64::from(STRETCH), of), (expected.total(), of)]);
        assert_eq!(count(&outbox, "outbox").await, 0);
        let audited = "outbox_audit WHERE action = 'prune' AND who = 'ada' AND why = 'the disk is full'";
        assert_eq!(count(&outbox, audited).await, 1);
        let text: Pruned = serde_json::from_value(serde_json::to_value(expected).unwrap()).unwrap();
        assert_eq!(text, expected);
    }
}

#[tokio::test]
async fn outbox_prune_removes_beside_a_replica_and_its_flags_stand_before_the_settings() {
    for outbox in outboxes::each().await {
        // The replica keeps what it finds for a day.
        let program =
            Program::new(&outbox.test.url, &format!("{HTTP}[retention]\nsuccess = \"1d\"\ndead = \"never\"\n"));
        let mut replica = program.start();
        replica.says("term.began").await;
        insert(&outbox, 10, "SUCCESS", 3, &[]).await;
        insert(&outbox, 1, "DEAD", 3, &[]).await;
        let prune = async |flags: &[&str]| program.run(&[&["prune"], flags].concat()).await;
        assert_eq!(prune(&[]).await.done(), "0 delivered messages and 0 dead letters removed\n");
        let text = prune(&["--success", "2h", "--dead", "2h", "--dry-run"]).await.done();
        assert_eq!(text, "10 delivered messages and 1 dead letter would be removed; nothing was changed\n");
        let done = prune(&["--success", "2h", "--json", "--by", "ada", "--why", "too many"]).await.json();
        assert_eq!(done, json!({ "success": 10, "dead": 0 }));
        assert_eq!(outbox.text("SELECT who FROM outbox_audit WHERE why = 'too many'").await, "ada");
        assert_eq!(count(&outbox, "outbox").await, 1);
        let told = prune(&["--success", "7"]).await.misused();
        assert!(told.contains("a time with its unit, as 7d, or never"), "{told}");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn a_poller_removes_what_is_old_while_it_delivers_and_shows_how_much() {
    outbox_adapters::ensure_crypto_provider();
    for outbox in outboxes::each().await {
        insert(&outbox, 3 * STRETCH, "SUCCESS", 3, &[]).await;
        insert(&outbox, 7, "DEAD", 3, &[]).await;
        insert(&outbox, 1, "SUCCESS", 1, &[]).await;
        let program = Program::new(&outbox.test.url, &format!("{HTTP}[retention]\nsuccess = \"2h\"\ndead = \"2h\"\n"));
        let mut replica = program.start();
        let listener = replica.listener().await;
        let said = replica.says("retention.pruned").await;
        assert!(said.contains(&format!("success={} dead=7", 3 * STRETCH)), "{said}");
        assert_eq!(count(&outbox, "outbox").await, 1);
        let shown = async || {
            let metrics = reqwest::get(format!("{listener}/metrics")).await.unwrap().text().await.unwrap();
            let lines = [
                format!("outbox_pruned_total{{status=\"SUCCESS\"}} {}", 3 * STRETCH),
                "outbox_pruned_total{status=\"DEAD\"} 7".to_owned(),
                "outbox_retention_lag_seconds ".to_owned(),
                "outbox_ready 1".to_owned(),
            ];
            lines.iter().all(|line| metrics.contains(line)).then_some(())
        };
        eventually("the metrics say what was removed", PATIENCE, shown).await;
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn a_poller_goes_on_removing_what_becomes_old() {
    let [outbox, ..] = outboxes::migrated().await;
    insert(&outbox, 1, "SUCCESS", 0, &[]).await;
    let program =
        Program::new(&outbox.test.url, &format!("{HTTP}[retention]\nsuccess = \"2s\"\n[lease]\nterm = \"1s\"\n"));
    let replica = program.start();
    let gone = async |id: MessageId| {
        let left = async || (count(&outbox, &format!("outbox WHERE id = {id}")).await == 0).then_some(());
        eventually("it is removed", PATIENCE, left).await;
    };
    gone(MessageId(1)).await;
    // In a later pass, and a later term.
    insert(&outbox, 1, "SUCCESS", 0, &[]).await;
    gone(MessageId(2)).await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}
