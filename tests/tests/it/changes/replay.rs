//! What was delivered is sent again: under the same key or a new one, once, at a pace, and taken back while it is unsent.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_desk::{
    Action, Author, ByHand, Desk, MessageFilter, MessageRecord, MessageSelection, Outcome, Pace, Refusal, ReplayManner,
    Revised, Skipped, Undoable,
};
use outbox_schema::{MessageId, NewMessage};
use outbox_store::{DeadReason, Dialect, Status, Verdict};
use outbox_tests::changes::{self, Unfollowed};

use crate::commands::command_line::enqueue;
use crate::database::grants::{SCHEMA, enqueue_as, granted, refused};
use crate::outboxes::{self, Outbox, connect};
use crate::poller::Poller;
use crate::program::{HTTP, Program};
use crate::sink::Sink;

const SAME_KEY: ReplayManner =
    ReplayManner { new_key: false, again: false, after: None, pace: Pace { canary: None, rate: None } };

fn ada() -> Author {
    Author { who: "ada".to_owned(), why: "they lost them".to_owned() }
}

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").idempotency_key(key).json(key)
}

fn all() -> MessageSelection {
    MessageSelection::Filter(MessageFilter { channel: Some("http".to_owned()), ..MessageFilter::default() })
}

/// Delivers all that is due.
async fn deliver(outbox: &Outbox, nonce: &str) -> Vec<outbox_store::Message> {
    let poller = Poller::begin(&outbox.database, nonce).await;
    let (claim, messages) = poller.claim().await;
    poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
    messages
}

async fn delivered(outbox: &Outbox, messages: &[NewMessage]) -> Vec<MessageId> {
    outbox.enqueue(messages).await;
    let mut ids: Vec<_> = deliver(outbox, "first").await.iter().map(outbox_store::Message::id).collect();
    ids.sort_unstable();
    ids
}

async fn record(outbox: &Outbox, id: i64) -> MessageRecord {
    outbox.database.message(MessageId(id)).await.unwrap().unwrap()
}

async fn replay(outbox: &Outbox, selection: &MessageSelection, manner: ReplayManner) -> Outcome {
    outbox.database.replay(selection, manner, &ada()).await.unwrap()
}

#[tokio::test]
async fn a_replay_is_a_row_of_its_own_with_the_content_of_the_first_which_stays_as_it_was() {
    for outbox in outboxes::each().await {
        let first = message("a").ordering_key("customer").tenant("shop").priority(2).header("X-Kind", "order");
        let ids = delivered(&outbox, &[first]).await;
        let before = record(&outbox, ids[0].0).await;
        let done = replay(&outbox, &MessageSelection::Ids(ids.clone()), SAME_KEY).await;
        assert_eq!((done.meant, done.changed, done.left.len()), (1, 1, 0), "{done:?}");
        assert_eq!(done.first[0].replay_of, Some(ids[0]));

        let after = record(&outbox, ids[0].0).await;
        assert_eq!(MessageRecord { audit: Vec::new(), ..after.clone() }, before);
        let actions: Vec<_> = after.audit.iter().map(|entry| (entry.action.as_str(), entry.who.as_str())).collect();
        assert_eq!(actions, [("replay", "ada")]);
        let again = record(&outbox, done.first[0].id.0).await;
        assert_eq!((again.status.as_str(), again.attempts, again.replay_of), ("PENDING", 0, Some(ids[0].0)));
        let content = |message: &MessageRecord| {
            let MessageRecord { channel, target, payload, headers, ordering_key, tenant, priority, .. } =
                message.clone();
            (channel, target, payload, headers, ordering_key, tenant, priority)
        };
        assert_eq!(content(&again), content(&before));
        assert_ne!(again.idempotency_key, before.idempotency_key);

        let sent = deliver(&outbox, "second").await;
        assert_eq!(sent.len(), 1);
        assert_eq!((sent[0].id().0, sent[0].idempotency_key.as_str()), (again.id, "a"), "as the receiver sees it");
    }
}

#[tokio::test]
async fn a_replay_of_a_replay_goes_under_the_first_key_and_one_with_a_new_key_under_its_own() {
    for outbox in outboxes::each().await {
        let ids = delivered(&outbox, &[message("a")]).await;
        let first = replay(&outbox, &MessageSelection::Ids(ids), SAME_KEY).await.first[0];
        deliver(&outbox, "second").await;
        let second = replay(&outbox, &MessageSelection::Ids(vec![first.id]), SAME_KEY).await.first[0];
        assert_eq!(second.replay_of, Some(first.id));
        let sent = deliver(&outbox, "third").await;
        assert_eq!((sent[0].id().0, sent[0].idempotency_key.as_str()), (second.id.0, "a"));

        let new_key = ReplayManner { new_key: true, ..SAME_KEY };
        let third = replay(&outbox, &MessageSelection::Ids(vec![second.id]), new_key).await.first[0];
        let sent = deliver(&outbox, "fourth").await;
        let key = record(&outbox, third.id.0).await.idempotency_key;
        assert_eq!((sent[0].id().0, sent[0].idempotency_key.as_str()), (third.id.0, key.as_str()));
    }
}

#[tokio::test]
async fn the_same_replay_asked_for_twice_sends_nothing_twice_and_a_canary_is_not_repeated() {
    for outbox in outboxes::each().await {
        let keys: Vec<_> = (0..5).map(|n| message(&format!("key-{n}"))).collect();
        let ids = delivered(&outbox, &keys).await;
        let canary = ReplayManner { pace: Pace { canary: NonZeroU32::new(2), rate: None }, ..SAME_KEY };
        let tried = replay(&outbox, &all(), canary).await;
        assert_eq!((tried.meant, tried.changed), (5, 2));
        // What the canary has delivered is none of the delivered messages that are meant.
        assert_eq!(deliver(&outbox, "canary").await.len(), 2);
        let rest = replay(&outbox, &all(), SAME_KEY).await;
        assert_eq!((rest.meant, rest.changed), (5, 3), "{rest:?}");
        let replayed = |id: MessageId| Skipped { id, because: Refusal::Replayed };
        assert_eq!(changes::skipped(&rest), [replayed(ids[0]), replayed(ids[1])]);
        assert_eq!(replay(&outbox, &all(), SAME_KEY).await.changed, 0);
        let counted = outbox.database.message_groups(Action::Replay, &all(), None).await.unwrap();
        assert_eq!((counted[0].count, counted[0].replayed), (5, 5));
        let again = ReplayManner { again: true, ..canary };
        let tried = replay(&outbox, &all(), again).await;
        assert_eq!((tried.meant, tried.changed, tried.last), (5, 2, Some(ids[1])));
        let counted = outbox.database.message_groups(Action::Replay, &all(), tried.last).await.unwrap();
        assert_eq!((counted[0].count, counted[0].replayed), (3, 3), "what comes after the canary");
        let rest = ReplayManner { again: true, after: tried.last, ..SAME_KEY };
        let rest = replay(&outbox, &all(), rest).await;
        assert_eq!((rest.meant, rest.changed), (3, 3));
    }
}

#[tokio::test]
async fn who_waits_for_a_count_of_very_many_messages_is_told_that_there_are_at_least_so_many() {
    for outbox in outboxes::each().await {
        let (now, numbers) = match outbox.dialect() {
            Dialect::Postgres => ("now()", "generate_series(1, 6000) AS n (i)"),
            Dialect::MySql => (
                "UTC_TIMESTAMP(6)",
                "JSON_TABLE(CONCAT('[0', REPEAT(',0', 5999), ']'), '$[*]' COLUMNS (i FOR ORDINALITY)) AS n",
            ),
            Dialect::Sqlite => {
                ("unixepoch() * 1000", "json_each('[0' || replace(hex(zeroblob(5999)), '00', ',0') || ']')")
            }
        };
        let columns = "channel, target, payload, revision, status, finished_at";
        let row = format!("'http', 'https://shop.example/hook', '{{}}', 1, 'SUCCESS', {now}");
        outbox.sql(&format!("INSERT INTO outbox ({columns}) SELECT {row} FROM {numbers}")).await;
        let within = async |time| {
            let counted =
                outbox_desk::message_groups_within(&outbox.database, time, Action::Replay, &all()).await.unwrap();
            (counted.groups.iter().map(|group| group.count).sum::<u64>(), counted.more)
        };
        assert_eq!(within(Duration::ZERO).await, (5_000, true), "one page");
        assert_eq!(within(Duration::from_mins(1)).await, (6_000, false));
        assert_eq!(outbox.database.message_groups(Action::Replay, &all(), None).await.unwrap()[0].count, 6_000);
    }
}

#[tokio::test]
async fn replays_come_due_at_the_rate_asked_for_behind_what_their_ordering_key_has_now() {
    for outbox in outboxes::each().await {
        let keys: Vec<_> = (0..3).map(|n| message(&format!("key-{n}"))).collect();
        delivered(&outbox, &keys).await;
        let slowly = ReplayManner { pace: Pace { canary: None, rate: NonZeroU32::new(1) }, ..SAME_KEY };
        let done = replay(&outbox, &all(), slowly).await;
        let mut due = Vec::new();
        for row in &done.first {
            due.push(humantime::parse_rfc3339(&record(&outbox, row.id.0).await.available_at).unwrap());
        }
        // The first is due as it is written, which is a little after the time from which the others are counted.
        assert_eq!(due[2].duration_since(due[1]).unwrap(), Duration::from_secs(1));
        assert!(due[1] > due[0]);
        let originals: Vec<_> = done.first.iter().map(|row| row.replay_of).collect();
        assert!(originals.is_sorted() && done.first.is_sorted_by_key(|row| row.id), "{done:?}");
    }
}

#[tokio::test]
async fn only_what_was_delivered_is_replayed_and_a_filter_must_say_which() {
    for outbox in outboxes::each().await {
        let ids = delivered(&outbox, &[message("a")]).await;
        outbox.enqueue(&[message("b")]).await;
        Poller::begin(&outbox.database, "killer").await.kill_all().await;
        outbox.enqueue(&[message("c")]).await;
        let newest = outbox.number("SELECT max(id) FROM outbox").await;
        let named = MessageSelection::Ids(vec![MessageId(newest), MessageId(newest - 1), MessageId(4_711), ids[0]]);
        let done = replay(&outbox, &named, SAME_KEY).await;
        assert_eq!((done.meant, done.changed), (4, 1));
        let refused: Vec<_> = changes::skipped(&done).iter().map(|skipped| skipped.because).collect();
        assert_eq!(refused, [Refusal::NotDelivered, Refusal::NotDelivered, Refusal::NotThere]);
    }
    let filter = |status| MessageSelection::Filter(MessageFilter { status, ..MessageFilter::default() });
    assert!(filter(None).check(Action::Replay).unwrap_err().contains("every message"));
    assert!(filter(Some(Status::Success)).check(Action::Replay).unwrap_err().contains("every message"));
    assert!(filter(Some(Status::Dead)).check(Action::Replay).unwrap_err().contains("only delivered"));
    assert!(MessageSelection::Ids(Vec::new()).check(Action::Replay).is_err());
    assert!(all().check(Action::Replay).is_ok());
}

#[tokio::test]
async fn an_undo_removes_what_is_unsent_and_says_what_was_sent() {
    for outbox in outboxes::each().await {
        let ids = delivered(&outbox, &[message("a"), message("b")]).await;
        let done = replay(&outbox, &all(), SAME_KEY).await;
        let audit_id = done.audit_id.unwrap();
        // The first is delivered meanwhile, and the second waits.
        let later = format!("UPDATE outbox SET priority = 3 WHERE id = {}", done.first[0].id);
        outbox.sql(&later).await;
        let poller = Poller::begin(&outbox.database, "second").await;
        let (claim, messages) = poller.claim().await;
        let (sent, unsent): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| message.id() == done.first[0].id);
        poller.mark_some(claim, &sent, &Verdict::Success { receipt: None }, &[]).await;
        let in_flight = outbox.database.undo(audit_id, &ada()).await.unwrap();
        assert_eq!(
            (in_flight.changed, in_flight.count("under_way"), in_flight.count("delivered")),
            (0, 1, 1),
            "{in_flight:?}"
        );
        poller.mark(claim, &unsent, &Verdict::Unsent).await;

        let undone = outbox.database.undo(audit_id, &ada()).await.unwrap();
        assert_eq!((undone.undone, undone.changed, undone.count("delivered")), (Undoable::Replay, 1, 1), "{undone:?}");
        assert_eq!(outbox.database.message(done.first[1].id).await.unwrap(), None);
        let audit = record(&outbox, ids[1].0).await.audit;
        assert_eq!(audit.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(), ["replay", "undo"]);
        // What was taken back can be replayed, and what was sent cannot without saying so.
        let rest = replay(&outbox, &all(), SAME_KEY).await;
        assert_eq!((rest.changed, rest.first[0].replay_of), (1, Some(ids[1])), "{rest:?}");
    }
}

#[tokio::test]
async fn a_replay_that_died_is_edited_under_a_key_of_its_own_or_keeps_the_first_one() {
    for outbox in outboxes::each().await {
        let ids = delivered(&outbox, &[message("a"), message("b")]).await;
        let done = replay(&outbox, &MessageSelection::Ids(ids), SAME_KEY).await;
        Poller::begin(&outbox.database, "killer").await.kill_all().await;
        for (replay, keeps) in done.first.iter().zip([true, false]) {
            let dead = record(&outbox, replay.id.0).await;
            let first_key = dead.sent_key.clone().unwrap();
            assert_eq!(dead.dead_reason.as_deref(), Some(DeadReason::Permanent.as_str()));
            let revised = Revised::new(
                "http",
                "https://other.example/",
                &dead.payload.unwrap(),
                std::collections::BTreeMap::new(),
            );
            let revised = revised.unwrap().keeping_key(keeps);
            outbox.database.edit(MessageId(dead.id), dead.revision, &revised, &ada()).await.unwrap();
            let edited = record(&outbox, dead.id).await;
            let sent = edited.sent_key.as_deref();
            assert_eq!(sent, keeps.then_some(first_key.as_str()), "keeps: {keeps}");
            assert_eq!(edited.idempotency_key == dead.idempotency_key, keeps);
        }
    }
}

#[tokio::test]
async fn an_operator_replays_with_the_right_to_and_not_without() {
    for granted in granted().await {
        let schema = (granted.owner.dialect() == Dialect::Postgres).then_some(SCHEMA);
        enqueue_as(&granted.owner).await;
        let ids = vec![deliver(&granted.owner, "first").await[0].id()];
        let operator = connect(&granted.operator, schema).await;
        let denied = operator.replay(&MessageSelection::Ids(ids.clone()), SAME_KEY, &ada()).await.unwrap_err();
        assert!(denied.lacks_rights(), "{denied}");
        let settings = schema.map_or_else(String::new, |schema| format!("[database]\nschema = \"{schema}\""));
        let program = Program::new(&granted.operator, &settings);
        let said = program.run(&["messages", "replay", &ids[0].to_string(), "--by", "ada"]).await.failed();
        assert!(said.contains("grants/postgres_replay.sql or grants/mysql_replay.sql"), "{said}");
        // The role may not write the row of an operation, so that there is none to go on with.
        assert!(!said.contains("the poller may go on"), "{said}");
        let role = &granted.operator_role;
        granted.owner.run_client(&match granted.owner.dialect() {
            Dialect::Postgres => format!(
                "\\set schema {SCHEMA}\n\\set operator {role}\n{}",
                include_str!("../../../../outbox-schema/grants/postgres_replay.sql")
            ),
            Dialect::MySql | Dialect::Sqlite => include_str!("../../../../outbox-schema/grants/mysql_replay.sql")
                .replace("OPERATOR", &format!("'{role}'@'%'")),
        });
        let operator = connect(&granted.operator, schema).await;
        let done = operator.replay(&MessageSelection::Ids(ids), SAME_KEY, &ada()).await.unwrap();
        assert_eq!(operator.undo(done.audit_id.unwrap(), &ada()).await.unwrap().changed, 1);
        refused(&granted.operator, granted.owner.dialect(), "UPDATE outbox SET replay_of = 1").await;
    }
}

#[tokio::test]
async fn what_was_delivered_is_sent_again_by_the_command_line_and_both_messages_tell_of_it() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        for key in ["a", "b"] {
            enqueue(&program, key, &sink.url("/"), &[]).await.done();
        }
        program.deliver().await;
        let would =
            program.run(&["messages", "replay", "--channel", "http", "--dry-run", "--rate", "1/s"]).await.done();
        assert!(would.contains("2 would be replayed, 1 a second for 2s; nothing was changed"), "{would}");
        let canary =
            ["messages", "replay", "--channel", "http", "--canary", "1", "--by", "me", "--why", "they lost it"];
        let said = program.run(&canary).await.done();
        for line in ["1 of 2 replayed", "look at one:", "the same command without --canary", "outbox messages undo 1"] {
            assert!(said.contains(line), "{line}: {said}");
        }
        program.deliver().await;
        let mut keys: Vec<_> =
            sink.requests().iter().map(|got| got.headers["idempotency-key"].to_str().unwrap().to_owned()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!((sink.requests().len(), keys.len()), (3, 2), "{keys:?}");

        let replay = outbox.number("SELECT id FROM outbox WHERE replay_of IS NOT NULL").await;
        let first = outbox.number("SELECT replay_of FROM outbox WHERE replay_of IS NOT NULL").await;
        let of_first = program.run(&["messages", "explain", &first.to_string()]).await.done();
        assert!(of_first.contains("An operator had it sent again."), "{of_first}");
        assert!(
            of_first.contains("me replayed it at ") && of_first.contains(&format!("message {replay} sends it again")),
            "{of_first}"
        );
        let of_replay = program.run(&["messages", "explain", &replay.to_string()]).await.done();
        assert!(of_replay.contains(&format!("It repeats message {first}, under the idempotency key")), "{of_replay}");
        let shown = program.run(&["messages", "show", &replay.to_string()]).await.done();
        assert!(shown.contains("replay of") && shown.contains("key sent"), "{shown}");

        let rest = program.run(&["messages", "replay", "--channel", "http", "--new-key", "--rate", "1/s"]).await.done();
        assert!(
            rest.contains("1 of 2 replayed") && rest.contains("it has been replayed before (--again sends"),
            "{rest}"
        );
        let would = program.run(&["messages", "replay", "--channel", "http", "--dry-run"]).await.done();
        assert!(would.contains("0 would be replayed, and 2 that were replayed before left out (--again)"), "{would}");
        let after = ["messages", "replay", "--channel", "http", "--again", "--after", &first.to_string(), "--dry-run"];
        let would = program.run(&after).await.done();
        assert!(would.contains("1 would be replayed; nothing was changed"), "{would}");
        let once_more = ["messages", "replay", "--channel", "http", "--again", "--canary", "1"];
        let said = program.run(&once_more).await.done();
        assert!(said.contains(&format!("the same command with --after {first}, without --canary")), "{said}");
        let undone = program.run(&["messages", "undo", "3"]).await;
        assert!(undone.code == Some(0) || undone.stderr.contains("no redrive or replay"), "{undone:?}");
        let vague = program.run(&["messages", "replay"]).await.misused();
        assert!(vague.contains("--channel"), "{vague}");
        let unknown = program.run(&["messages", "replay", "--channel", "htp"]).await;
        assert_eq!(unknown.code, Some(3), "{unknown:?}");
        assert!(unknown.stderr.contains("did you mean http?"), "{unknown:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_knew_the_key_is_believed_about_a_replay_and_about_a_resend_in_doubt() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, &format!("{HTTP}timeout = \"1s\"\nbase = \"1ms\"\n"));
        enqueue(&program, "a", &sink.url("/knows"), &[]).await.done();
        enqueue(&program, "b", &sink.url("/knows/hangs-once"), &[]).await.done();
        program.deliver().await;
        let once = program.run(&["messages", "explain", "a"]).await.done();
        assert!(once.contains("Nothing says that it was sent more than once."), "{once}");
        let doubt = program.run(&["messages", "explain", "b"]).await.done();
        assert!(
            doubt.contains("It was sent more than once, and the receiver recognised it: it did it once."),
            "{doubt}"
        );
        assert!(doubt.contains("which the receiver said it knew already"), "{doubt}");

        program.run(&["messages", "replay", "a"]).await.done();
        program.deliver().await;
        let replay = outbox.number("SELECT id FROM outbox WHERE replay_of IS NOT NULL").await;
        let known = program.run(&["messages", "explain", &replay.to_string()]).await.done();
        assert!(known.contains("It repeats message") && known.contains("said it knew already"), "{known}");
        let attempts = "SELECT count(*) FROM outbox_attempt WHERE outcome = 'known_already'";
        assert_eq!(outbox.number(attempts).await, 2);
    }
}
