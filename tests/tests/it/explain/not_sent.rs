//! Why a message has not been sent.

use std::time::Duration;

use outbox_console::configured::Configured;
use outbox_console::configured::ConfiguredChannel;
use outbox_console::explain::{NotSent, explain};
use outbox_desk::{Author, ByHand, Cancelled, Counted, Heartbeat, Pace, Replica, RunsBy, Selection};
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_schema::MessageId;
use outbox_store::{DeadReason, Mark, Verdict};
use outbox_tests::changes::Unfollowed;
use outbox_tests::conformance::store::{Dialect, mark, on_every_database};

use super::{Leader, configured, decisive, explained, explained_with, insert, names, why};

fn dead(reason: DeadReason) -> Verdict {
    Verdict::Dead { reason, attempted: true, invalid_target: false }
}

#[tokio::test]
async fn a_message_that_timed_out_says_how_long_its_next_attempt_waits_and_why() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        for (deadline, until) in [(30, "30.0s"), (60, "1m 0s"), (3_600, "1m 0s")] {
            outbox.execute(&format!("UPDATE outbox SET available_at = {}", outbox.moment(-1_000))).await;
            let (claim, message) = leader.claim_one().await;
            let again = Verdict::Retry { after: Duration::from_hours(1) };
            let deadline = Some(Duration::from_secs(deadline));
            leader.write(Mark { deadline, ..mark(&leader.term, claim, &message, again, "in_doubt") }).await;
            assert_eq!(why(outbox, id).await, ["next_attempt", "longer_deadline"]);
            let said = explained(outbox, id).await.not_sent.remove(1).sentence;
            let begin = format!("Its next attempt waits up to {until} for an answer: one before it timed out, ");
            assert!(said.starts_with(&begin) && said.ends_with("doubles that time, up to a minute."), "{said}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_that_nobody_has_written_is_not_explained() {
    on_every_database(async |outbox| {
        assert_eq!(
            explain(outbox.database(), &configured(), &ScheduleNow::default(), MessageId(4_711)).await.unwrap(),
            None
        );
    })
    .await;
}

#[tokio::test]
async fn a_due_message_that_nothing_keeps_goes_with_the_next_poll() {
    on_every_database(async |outbox| {
        Leader::begin(outbox).await;
        let id = insert(outbox, &[("available_at", &outbox.moment(-5_000))]).await;
        assert_eq!(why(outbox, id).await, ["due"]);
        let (NotSent::Due { for_ms, .. }, said) = decisive(outbox, id).await else { panic!("it is due") };
        assert!(for_ms.is_some_and(|ms| (5_000..60_000).contains(&ms)), "{for_ms:?}");
        assert!(said.starts_with("It is due since 2") && said.ends_with("the next poll takes it."), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_delivered_message_was_sent_and_says_when_and_under_which_receipt() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.deliver().await;
        assert_eq!(why(outbox, id).await, ["delivered"]);
        let (_, said) = decisive(outbox, id).await;
        assert!(
            said.contains("accepted at 2") && said.contains("on attempt 1 with status 200, receipt r-1."),
            "{said}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_says_why_and_the_command_that_mends_it() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        for (reason, remedy) in [
            (DeadReason::Permanent, "outbox dead-letters edit"),
            (DeadReason::Exhausted, "Once the other side takes messages again"),
            (DeadReason::Expired, "without the expiry that has passed"),
            (DeadReason::InDoubt, "outbox dead-letters purge"),
        ] {
            let id = insert(outbox, &[]).await;
            leader.attempt(dead(reason), "dead", Some(400), "the hook is gone.").await;
            assert_eq!(why(outbox, id).await, ["dead"]);
            let (_, said) = decisive(outbox, id).await;
            assert!(said.contains(&format!("`{}`, after 1 attempt: the hook is gone.", reason.as_str())), "{said}");
            assert!(said.contains(remedy) && said.contains(&format!("`outbox dead-letters redrive {id}`")), "{said}");
        }
        let nameless = insert(outbox, &[("status", "'DEAD'"), ("finished_at", &outbox.moment(0))]).await;
        assert!(decisive(outbox, nameless).await.1.contains("without a reason"));
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_message_says_by_whom_and_why() {
    on_every_database(async |outbox| {
        Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let ada = Author { who: "ada".to_owned(), why: "sent by mistake".to_owned() };
        assert_eq!(outbox.database().cancel(id, &ada).await.unwrap(), Cancelled::Done { id });
        let (_, said) = decisive(outbox, id).await;
        assert!(said.contains("cancelled by ada: sent by mistake."), "{said}");

        let finished = outbox.moment(0);
        let columns = [("status", "'DEAD'"), ("dead_reason", "'cancelled'"), ("finished_at", finished.as_str())];
        let by_hand = insert(outbox, &columns).await;
        assert!(decisive(outbox, by_hand).await.1.contains("somebody whom the audit does not name"));
    })
    .await;
}

#[tokio::test]
async fn a_status_that_no_one_knows_is_named() {
    on_every_database(async |outbox| {
        let id = insert(outbox, &[]).await;
        let update = format!("UPDATE outbox SET status = 'SENT', revision = 1 WHERE id = {id}");
        let script = match outbox.dialect {
            Dialect::Postgres | Dialect::MySql => format!("ALTER TABLE outbox DROP CONSTRAINT outbox_status; {update}"),
            Dialect::Sqlite => {
                format!("PRAGMA ignore_check_constraints = ON; {update}; PRAGMA ignore_check_constraints = OFF")
            }
        };
        outbox.execute(&script).await;
        assert_eq!(why(outbox, id).await, ["unknown_status"]);
        assert!(decisive(outbox, id).await.1.contains("\"SENT\""));
    })
    .await;
}

#[tokio::test]
async fn a_message_in_flight_says_since_when_by_whom_and_under_which_epoch() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.claim_one().await;
        assert_eq!(why(outbox, id).await, ["in_flight"]);
        let (_, said) = decisive(outbox, id).await;
        let by = format!("claimed by {} in epoch {}.", leader.term.holder, leader.term.epoch);
        assert!(said.starts_with("It is in flight since 2") && said.ends_with(&by), "{said}");

        leader.hand_over().await;
        assert_eq!(why(outbox, id).await, ["in_flight", "not_polled"]);
        let (NotSent::InFlight { gate_closed_at: Some(_), .. }, said) = decisive(outbox, id).await else {
            panic!("its gate is closed")
        };
        assert!(said.contains("whose term ended at"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_message_of_an_earlier_terms_claim_says_until_when_it_is_being_settled() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.claim_one().await;
        Leader::begin(outbox).await;
        assert_eq!(why(outbox, id).await, ["being_settled"]);
        let (NotSent::BeingSettled { until: Some(until), epoch, .. }, said) = decisive(outbox, id).await else {
            panic!("it is being settled")
        };
        assert_eq!(epoch, leader.term.epoch.0);
        assert!(said.contains("it is in doubt") && said.contains(&until[..19]), "{said}: {until}");
    })
    .await;
}

#[tokio::test]
async fn a_message_left_by_a_crash_may_be_held_back_as_a_suspect() {
    on_every_database(async |outbox| {
        let first = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        first.claim_one().await;
        let second = Leader::begin(outbox).await;
        second.settle().await;
        assert_eq!(why(outbox, id).await, ["suspect"]);
        let (_, said) = decisive(outbox, id).await;
        assert!(
            said.contains(&format!("its poller died, epoch {} on {}, and", first.term.epoch, first.term.holder)),
            "{said}"
        );

        // One whose poller handed over is no suspect.
        outbox.execute("DELETE FROM outbox").await;
        let id = insert(outbox, &[]).await;
        second.claim().await;
        second.hand_over().await;
        Leader::begin(outbox).await.settle().await;
        assert_eq!(why(outbox, id).await, ["due"]);
    })
    .await;
}

#[tokio::test]
async fn a_message_of_an_unknown_channel_names_what_to_configure() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[("channel", "'sms'")]).await;
        assert_eq!(why(outbox, id).await, ["channel_not_configured"]);
        assert!(decisive(outbox, id).await.1.contains("Add [channels.sms] to the settings"));

        // The poll meets it and puts it off.
        assert_eq!(leader.claim().await.1.len(), 0);
        assert_eq!(why(outbox, id).await, ["channel_not_configured"]);
        let (NotSent::ChannelNotConfigured { put_off_until: Some(until), .. }, said) = decisive(outbox, id).await
        else {
            panic!("it is put off")
        };
        assert!(said.contains(&format!("put off until {}", &until[..19])), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_message_of_an_ordering_key_says_behind_which_it_waits_and_what_that_one_waits_for() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let key = ("ordering_key", "'order-4711'");
        let first = insert(outbox, &[key]).await;
        let second = insert(outbox, &[key]).await;
        let third = insert(outbox, &[key]).await;
        insert(outbox, &[("ordering_key", "'another'")]).await;
        assert_eq!(why(outbox, first).await, ["due"], "nobody waits behind himself");
        leader.claim().await;
        assert_eq!(why(outbox, first).await, ["in_flight"]);
        assert_eq!(why(outbox, second).await, ["waits_behind"]);
        let (NotSent::WaitsBehind { behind, waiting, because, .. }, said) = decisive(outbox, third).await else {
            panic!("it waits")
        };
        assert_eq!((behind, waiting, names(&because)), (first, 2, vec!["in_flight".to_owned()]));
        assert!(said.contains("\"order-4711\", the first of 2 before it. Of message"), "{said}");
        assert!(said.contains(&format!("Of message {first}: It is in flight since")), "{said}");
        let (_, said) = decisive(outbox, second).await;
        assert!(said.contains("\"order-4711\". Of message"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_redriven_message_waits_for_a_later_one_of_its_ordering_key_that_is_in_flight() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let key = ("ordering_key", "'o'");
        let first = insert(outbox, &[key]).await;
        leader.attempt(dead(DeadReason::Exhausted), "retry", Some(503), "busy").await;
        let second = insert(outbox, &[key]).await;
        leader.claim_one().await;
        let pace = Pace { canary: None, rate: None };
        outbox.database().redrive(&Selection::Ids(vec![first]), pace, &Author::default()).await.unwrap();
        assert_eq!(why(outbox, first).await, ["key_in_flight"]);
        assert!(decisive(outbox, first).await.1.contains(&format!("It waits for message {second} of its")));
        assert_eq!(why(outbox, second).await, ["in_flight"]);
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_is_waited_for_where_its_channel_halts_and_only_there() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let halts = ConfiguredChannel { halts: true, ..configured().channels["http"] };
        let halting = Configured { channels: [("http".to_owned(), halts)].into(), ..configured() };
        let key = ("ordering_key", "'o'");
        let cancelled = insert(outbox, &[key, ("status", "'DEAD'"), ("dead_reason", "'cancelled'")]).await;
        let open = insert(outbox, &[key]).await;
        assert_eq!(names(&explained_with(outbox, open, &halting).await.not_sent), ["due"], "behind {cancelled}");

        leader.attempt(dead(DeadReason::Exhausted), "retry", Some(503), "busy").await;
        let waits = insert(outbox, &[key]).await;
        insert(outbox, &[("ordering_key", "'another'")]).await;
        assert_eq!(why(outbox, waits).await, ["due"]);
        let explanation = explained_with(outbox, waits, &halting).await;
        assert_eq!(names(&explanation.not_sent), ["halted"]);
        let said = explanation.in_short();
        assert!(
            said.contains(&format!("behind message {open}")) && said.contains("a dead letter (`exhausted`)"),
            "{said}"
        );
        assert!(said.contains(&format!("outbox dead-letters redrive {open}")), "{said}");
        let behind = insert(outbox, &[key]).await;
        assert_eq!(names(&explained_with(outbox, behind, &halting).await.not_sent), ["halted", "waits_behind"]);
    })
    .await;
}

#[tokio::test]
async fn a_failed_attempt_says_when_the_next_one_is_which_it_is_and_what_went_wrong() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let retry = Verdict::Retry { after: Duration::from_mins(10) };
        leader.attempt(retry.clone(), "retry", Some(503), "the receiver is busy").await;
        assert_eq!(why(outbox, id).await, ["next_attempt"]);
        let (_, said) = decisive(outbox, id).await;
        assert!(said.contains("waits for attempt 2 of 10 at 2") && said.contains("(in 9m 5"), "{said}");
        assert!(said.ends_with("The last one failed with status 503: the receiver is busy."), "{said}");

        let own = insert(outbox, &[("max_attempts", "3")]).await;
        leader.attempt(retry, "retry", None, "no connection").await;
        let (_, said) = decisive(outbox, own).await;
        assert!(said.contains("attempt 2 of 3") && said.ends_with("The last one failed: no connection."), "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_message_whose_time_has_not_come_says_when_it_will() {
    on_every_database(async |outbox| {
        Leader::begin(outbox).await;
        let id = insert(outbox, &[("available_at", &outbox.moment(7_200_000))]).await;
        assert_eq!(why(outbox, id).await, ["not_due"]);
        let (_, said) = decisive(outbox, id).await;
        assert!(said.starts_with("It is not due until 2") && said.contains("(in 1h 59m)"), "{said}");
        if outbox.dialect == Dialect::Postgres {
            let never = insert(outbox, &[("available_at", "'infinity'"), ("expires_at", "'infinity'")]).await;
            assert_eq!(why(outbox, never).await, ["not_due", "expires"]);
            assert_eq!(decisive(outbox, never).await.1, "It is not due until infinity.");
        }
    })
    .await;
}

#[tokio::test]
async fn an_expiry_is_told_before_and_after_it_has_passed() {
    on_every_database(async |outbox| {
        Leader::begin(outbox).await;
        let expired = insert(outbox, &[("expires_at", &outbox.moment(-1_000))]).await;
        assert_eq!(why(outbox, expired).await, ["expired"]);
        assert!(decisive(outbox, expired).await.1.contains("a dead letter, `expired`"));
        outbox.execute("DELETE FROM outbox").await;

        // Less than ten minutes also where it is looked at within the same millisecond.
        let in_time = insert(outbox, &[("expires_at", &outbox.moment(599_500))]).await;
        let explanation = explained(outbox, in_time).await;
        assert_eq!(names(&explanation.not_sent), ["due", "expires"]);
        assert!(explanation.not_sent[1].sentence.contains("(in 9m 5"), "{explanation:?}");
        let columns = [("expires_at", outbox.moment(600_000)), ("available_at", outbox.moment(900_000))];
        let columns = [("expires_at", columns[0].1.as_str()), ("available_at", columns[1].1.as_str())];
        let in_vain = explained(outbox, insert(outbox, &columns).await).await;
        assert_eq!(names(&in_vain.not_sent), ["not_due", "expires"]);
        assert!(in_vain.not_sent[1].sentence.ends_with("before it is due: it will not be sent."), "{in_vain:?}");
    })
    .await;
}

#[tokio::test]
async fn attempts_that_are_used_up_and_budgets_that_are_none_are_told() {
    on_every_database(async |outbox| {
        Leader::begin(outbox).await;
        let used_up = insert(outbox, &[("attempts", "10")]).await;
        assert_eq!(why(outbox, used_up).await, ["attempts_used_up"]);
        assert!(decisive(outbox, used_up).await.1.contains("10 of 10 attempts"));
        outbox.execute("DELETE FROM outbox").await;
        let long_ago = outbox.moment(-73 * 3_600_000);
        let too_old = insert(outbox, &[("attempts", "1"), ("first_attempt_at", &long_ago)]).await;
        assert_eq!(why(outbox, too_old).await, ["too_old"]);
        assert!(
            decisive(outbox, too_old).await.1.contains("is 3d 1h ago, and its channel retries for 3d 0h (max_age)")
        );
        outbox.execute("DELETE FROM outbox").await;
        let wrong = insert(outbox, &[("max_attempts", "-1"), ("revision", "1")]).await;
        assert_eq!(why(outbox, wrong).await, ["wrong_max_attempts"]);
        assert!(decisive(outbox, wrong).await.1.contains("Its max_attempts is -1"));
    })
    .await;
}

#[tokio::test]
async fn a_shard_that_nobody_polls_says_since_when() {
    on_every_database(async |outbox| {
        let id = insert(outbox, &[]).await;
        assert_eq!(why(outbox, id).await, ["never_polled"]);
        let (_, said) = decisive(outbox, id).await;
        assert!(said.starts_with("No replica has ever polled shard 0. Is one running"), "{said}");
        for (name, trouble) in [("r1", Some("the lease store does not answer.")), ("r2", None)] {
            let replica = Replica { id: name.to_owned(), name: name.to_owned(), ..Replica::default() };
            let (runs_by, counted) = (RunsBy::default(), Counted::default());
            let beat = Heartbeat { replica: &replica, runs_by: &runs_by, counted, trouble, began: None };
            outbox_desk::heartbeat(outbox.database(), &beat).await.unwrap();
        }
        let (_, said) = decisive(outbox, id).await;
        assert!(said.ends_with("shard 0. 2 replicas run; r1 says: the lease store does not answer."), "{said}");

        let leader = Leader::begin(outbox).await;
        assert_eq!(why(outbox, id).await, ["due"]);
        leader.hand_over().await;
        assert_eq!(why(outbox, id).await, ["not_polled"]);
        let (NotSent::NotPolled { ended: Some(_), .. }, said) = decisive(outbox, id).await else {
            panic!("its term has ended")
        };
        let ended = format!("the term of {}, epoch {}, ended then (shutdown)", leader.term.holder, leader.term.epoch);
        assert!(said.starts_with("Nobody polls shard 0 since 2") && said.contains(&ended), "{said}");

        // A term of 20 s, a ttl of 10 s and three campaigns of a second later, somebody else should have begun.
        let killed = Leader::begin(outbox).await;
        for (age, expected) in [(30_000, "due"), (33_500, "not_polled")] {
            outbox.execute(&format!("UPDATE outbox_term SET started_at = {}", outbox.moment(-age))).await;
            assert_eq!(why(outbox, id).await, [expected], "{age} ms");
        }
        let (_, said) = decisive(outbox, id).await;
        let last = format!("the last term, epoch {} of {}, began at 2", killed.term.epoch, killed.term.holder);
        assert!(said.contains(&last) && said.contains("longer than a term lasts"), "{said}");
        let other = insert(outbox, &[("shard", "3")]).await;
        assert_eq!(why(outbox, other).await, ["never_polled"]);
    })
    .await;
}

#[tokio::test]
async fn a_backlog_counts_what_the_poll_meets_first() {
    on_every_database(async |outbox| {
        Leader::begin(outbox).await;
        let (long, short) = (outbox.moment(-60_000), outbox.moment(-1_000));
        let (long, short) = (("available_at", long.as_str()), ("available_at", short.as_str()));
        let id = insert(outbox, &[("priority", "1"), short]).await;
        assert_eq!(why(outbox, id).await, ["due"]);
        insert(outbox, &[("priority", "1"), long]).await;
        insert(outbox, &[("priority", "3")]).await;
        insert(outbox, &[("priority", "2")]).await;
        // None of these is before it.
        insert(outbox, &[("priority", "1")]).await;
        insert(outbox, &[("priority", "0"), long]).await;
        insert(outbox, &[("priority", "3"), ("available_at", &outbox.moment(60_000))]).await;
        insert(outbox, &[("priority", "3"), ("shard", "1")]).await;
        let keyed = insert(outbox, &[("priority", "2"), ("ordering_key", "'o'"), short]).await;

        assert_eq!(why(outbox, id).await, ["backlog"]);
        insert(outbox, &[("priority", "1"), ("tenant", "'another'"), long]).await;
        let (NotSent::Backlog { ahead, oldest_ms, of_tenant, .. }, said) = decisive(outbox, id).await else {
            panic!("a backlog")
        };
        assert_eq!((ahead, of_tenant), (4, 3));
        assert!(oldest_ms.is_some_and(|ms| (60_000..120_000).contains(&ms)), "{oldest_ms:?}");
        assert!(
            said.contains("4 due messages without an ordering key are before it")
                && said.contains("has been due for 1m ")
                && said.contains(" has 3 of these, and takes turns with the others."),
            "{said}"
        );
        let (NotSent::Backlog { ahead, .. }, _) = decisive(outbox, keyed).await else { panic!("a backlog") };
        assert_eq!(ahead, 1, "what comes after it by time does not count");
    })
    .await;
}
