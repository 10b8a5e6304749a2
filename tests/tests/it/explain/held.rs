//! Why a message has not been sent whose destination takes nothing now: pauses, breakers, rows put aside, targets that are gone.

use std::time::Duration;

use outbox_console::explain::NotSent;
use outbox_desk::{Author, ByHand};
use outbox_store::destination::{Aside, DestinationStore, Look};
use outbox_store::{DeadReason, Mark, Pause, PauseKind, Verdict};
use outbox_tests::conformance::store::{mark, on_every_database, pause};

use super::{Leader, decisive, explained, insert, why};

#[tokio::test]
async fn a_pause_says_until_when_by_whom_and_why() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[("target", "'https://busy.example/'")]).await;
        let (claim, message) = leader.claim_one().await;
        let verdict = Verdict::Deferred { after: Duration::from_hours(1) };
        let pause = pause(&verdict, &message.destination);
        let error = Some("too many requests".to_owned());
        leader.write(Mark { pause, error, ..mark(&leader.term, claim, &message, verdict, "deferred") }).await;
        assert_eq!(why(outbox, id).await, ["paused"]);
        let (NotSent::Paused { remaining_ms: Some(left), .. }, said) = decisive(outbox, id).await else {
            panic!("it is paused")
        };
        assert!((3_500_000..=3_600_000).contains(&left), "{left}");
        assert!(said.starts_with("https://busy.example:443 is paused until 2"), "{said}");
        assert!(said.ends_with(", by dispatcher: too many requests."), "{said}");

        // The whole channel, by a person; the poll has not met the message yet.
        let pause = "INSERT INTO outbox_destination (destination, paused_until, paused_by, reason) VALUES";
        outbox.execute(&format!("{pause} ('http', {}, 'ada', 'maintenance')", outbox.moment(60_000))).await;
        let due = insert(outbox, &[]).await;
        assert_eq!(why(outbox, due).await, ["paused"]);
        assert!(decisive(outbox, due).await.1.ends_with(", by ada: maintenance."));
        assert_eq!(why(outbox, id).await, ["paused", "paused"]);

        outbox.execute("DELETE FROM outbox_destination").await;
        assert_eq!(why(outbox, id).await, ["put_off"]);
        assert_eq!(why(outbox, due).await, ["due"]);
    })
    .await;
}

/// It bears the channel's name, and what names a URL does not go there.
#[tokio::test]
async fn a_server_behind_base_url_that_asks_to_be_left_alone_explains_only_what_goes_there() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let there = insert(outbox, &[("target", "'/orders'")]).await;
        let (claim, message) = leader.claim_one().await;
        let verdict = Verdict::Retry { after: Duration::from_hours(1) };
        let (destination, remaining) = (message.destination.clone(), Duration::from_hours(1));
        let pause = Some(Pause { destination, remaining, kind: PauseKind::RetryAfter });
        leader.write(Mark { pause, ..mark(&leader.term, claim, &message, verdict, "retry") }).await;
        let elsewhere = insert(outbox, &[("target", "'https://shop.example/'")]).await;
        assert_eq!(why(outbox, there).await[0], "paused");
        assert_eq!(why(outbox, elsewhere).await, ["due"]);

        // What refuses its credential holds all of it.
        outbox.execute("UPDATE outbox_destination SET pause_kind = 'barred'").await;
        assert_eq!(why(outbox, elsewhere).await, ["paused"]);
    })
    .await;
}

#[tokio::test]
async fn a_breaker_that_is_open_says_when_it_is_tried_again_and_a_pause_for_good_says_who_ends_it() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[("target", "'https://down.example/'")]).await;
        let (claim, message) = leader.claim_one().await;
        let verdict = Verdict::Deferred { after: Duration::from_mins(5) };
        let pause = pause(&verdict, &message.destination).map(|pause| Pause { kind: PauseKind::Breaker, ..pause });
        let error = Some("it answered 503.".to_owned());
        leader.write(Mark { pause, error, ..mark(&leader.term, claim, &message, verdict, "retry") }).await;
        assert_eq!(why(outbox, id).await, ["breaker_open"]);
        let (NotSent::BreakerOpen { remaining_ms: Some(1..=300_000), failures: 1, .. }, said) =
            decisive(outbox, id).await
        else {
            panic!("its breaker is open")
        };
        assert!(
            said.starts_with("The breaker of https://down.example:443 is open: too many attempts failed"),
            "{said}"
        );
        assert!(said.contains(", the last with it answered 503. It is tried again at 2"), "{said}");

        outbox.execute("UPDATE outbox_destination SET failures = 3").await;
        assert!(decisive(outbox, id).await.1.contains("is open, for the third time in a row:"));
        let author = Author { who: "ada".to_owned(), why: "they move".to_owned() };
        outbox.database().pause("https://down.example:443", None, &author).await.unwrap();
        let said = decisive(outbox, id).await.1;
        assert!(
            said.contains("is paused until somebody resumes it (`outbox destinations resume https://down"),
            "{said}"
        );
        assert!(said.ends_with(", by ada: they move."), "{said}");
    })
    .await;
}

#[tokio::test]
async fn rows_that_were_put_aside_say_why_how_many_they_are_and_until_when() {
    on_every_database(async |outbox| {
        const SLOW: &str = "https://slow.example:443";
        let leader = Leader::begin(outbox).await;
        let due = outbox.moment(-60_000);
        let slow = [("target", "'https://slow.example/'"), ("available_at", due.as_str())];
        let first = insert(outbox, &slow).await;
        insert(outbox, &slow).await;
        let free = insert(outbox, &[]).await;
        let reason = Some("it takes 2.0 s to answer".to_owned());
        let (from, step, most) = (Duration::from_mins(1), Duration::from_mins(2), Duration::from_mins(5));
        let aside = Aside { destination: SLOW.to_owned(), whole_channel: false, from, step, most, reason };
        assert_eq!(outbox.database().put_aside(&leader.term, &[aside], &[], &mut Look::of(9)).await.unwrap(), [2]);
        assert_eq!(why(outbox, first).await, ["put_aside"]);
        assert_eq!(why(outbox, free).await, ["due"]);
        let (NotSent::PutAside { waiting: 2, in_ms: Some(1..=60_000), .. }, said) = decisive(outbox, first).await
        else {
            panic!("it is put aside")
        };
        let begins = "2 rows of https://slow.example:443 are put aside: it takes 2.0 s to answer. Due from 2";
        assert!(said.starts_with(begins) && said.contains(" on, it is met again at 2"), "{said}");

        outbox.execute("DELETE FROM outbox_destination").await;
        assert_eq!(why(outbox, first).await, ["put_off"]);
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_whose_target_is_known_to_be_gone_says_since_when_and_how_to_forget_it() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let [gone, refused] = [
            insert(outbox, &[("target", "'it''s/gone'")]).await,
            insert(outbox, &[("target", "'/here'"), ("available_at", &outbox.moment(3_600_000))]).await,
        ];
        let verdict = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: true };
        leader.attempt(verdict, "dead_target", Some(410), "it answered 410").await;
        outbox
            .execute(
                "UPDATE outbox SET status = 'DEAD', dead_reason = 'cancelled', revision = 1 WHERE status = 'PENDING'",
            )
            .await;
        assert_eq!(why(outbox, gone).await, ["dead", "invalid_target"]);
        let said = explained(outbox, gone).await.not_sent.remove(1).sentence;
        assert!(said.starts_with("Its target is known to be gone since 2"), "{said}");
        let command = r"`outbox invalid-targets clear --channel http -- 'it'\''s/gone'`.";
        assert!(said.contains(": it answered 410. ") && said.ends_with(command), "{said}");
        assert_eq!(outbox.count("outbox WHERE status = 'DEAD'").await, 2);
        outbox.execute(&format!("UPDATE outbox SET finished_at = {}", outbox.moment(0))).await;
        assert_eq!(why(outbox, refused).await, ["dead"]);
    })
    .await;
}
