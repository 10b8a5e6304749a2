//! Settling.

use std::time::Duration;

use outbox_store::store::due::{ClaimTerms, LookAndClaim};
use outbox_store::store::{Decided, TermCounts};
use outbox_store::{ChannelTerms, Dialect, Epoch, Holder, InDoubtPolicy, Mark, Shard, StoreError, TermEnd, Verdict};

use super::claims::idle;
use super::{Ask, Outbox, delivered, http, ids, mark, once, terms};

/// A claim whose rows settle after these times and that of a request.
fn settling(channels: &[ChannelTerms], lease_ttl: Duration, margin: Duration) -> Ask<'_> {
    Ask { terms: ClaimTerms { lease_ttl, margin, ..terms(channels) }, ..Ask::of(channels) }
}

/// The rows stay out of the polls meanwhile; what was marked does not wait.
pub async fn rows_of_an_earlier_term_wait_for_their_settling_time(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let marked = outbox.insert(&[]).await;
    let out = outbox.insert(&[]).await;
    let ask = settling(&channels, Duration::from_secs(10), Duration::from_secs(2));
    let messages = outbox.claim(&term, &ask).await;
    let done = messages.iter().find(|message| message.id() == marked).unwrap();
    outbox.store.mark(&[delivered(&term, ask.claim, done)], &[]).await.unwrap();

    let holder = Holder::new("test", "later");
    let opened = outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
    assert_eq!(opened.unsettled, [out]);
    let later = outbox_store::TermId { shard: Shard(0), epoch: opened.epoch, holder };
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert!(settlement.decided.is_empty());
    assert_eq!(settlement.unsettled, [out]);
    // ttl 10 s, longest request 1 s, margin 2 s.
    assert!((11_000..=13_000).contains(&settlement.next.unwrap().as_millis()), "{settlement:?}");

    outbox.age_claims(Duration::from_millis(13_001)).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert_eq!(settlement.decided.iter().map(|row| row.id).collect::<Vec<_>>(), [out]);
    assert!(settlement.unsettled.is_empty() && settlement.next.is_none());
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// So may its request: no earlier settling may call it in doubt. However the claim came by the row; and no longer than a minute,
/// whatever the row says.
pub async fn a_claim_with_a_row_that_timed_out_settles_after_the_longer_deadline_of_that_row(outbox: &Outbox) {
    let channels = [http()];
    for (deadline, unseen, longest) in
        [(4_000, false, 4_000), (4_000, true, 4_000), (500, true, 1_000), (i32::MAX, false, 60_000)]
    {
        let term = outbox.term(&channels).await;
        let row = outbox.insert(&[]).await;
        let (claim, messages) = outbox.claim_all(&term, &channels).await;
        assert_eq!(messages[0].deadline_ms, None);
        let retry = Verdict::Retry { after: Duration::ZERO };
        let deadline = Some(Duration::from_millis(deadline.unsigned_abs().into()));
        let timed_out = Mark { deadline, ..mark(&term, claim, &messages[0], retry, "in_doubt") };
        outbox.store.mark(&[timed_out], &[claim]).await.unwrap();
        outbox.insert(&[]).await;

        let ttl = Duration::from_mins(5);
        let second = settling(&channels, ttl, Duration::from_secs(2));
        let looks = LookAndClaim { claim: second.claim, ..idle(&second.terms) };
        let messages = if unseen {
            outbox.due().look_and_claim(&term, &looks).await.unwrap().messages
        } else {
            outbox.claim(&term, &second).await
        };
        assert_eq!(messages.len(), 2);
        let again = messages.iter().find(|message| message.id() == row).unwrap();
        assert_eq!(again.deadline(Duration::from_secs(1)).as_millis(), longest, "{deadline:?}");
        let kept = outbox.strings(&["settling_closed_ms", "settling_ms"], "outbox_claim").await.remove(0);
        assert_eq!(
            kept,
            [longest + 2_000, longest + 2_000 + ttl.as_millis()].map(|ms| Some(ms.to_string())),
            "{deadline:?}"
        );

        // A mark that says nothing of it leaves it.
        let retry = Verdict::Retry { after: Duration::from_hours(1) };
        outbox.store.mark(&[mark(&term, second.claim, again, retry, "retry")], &[]).await.unwrap();
        let kept = outbox.strings(&["deadline_ms"], &format!("outbox WHERE id = {row}")).await.remove(0);
        assert_eq!(kept, [deadline.map(|deadline| deadline.as_millis().to_string())]);
        for table in ["outbox_claim", "outbox"] {
            outbox.execute(&format!("DELETE FROM {table}")).await;
        }
    }
}

/// Its answer never came, so that nothing of it was sent.
pub async fn a_claim_that_is_released_costs_its_messages_no_attempt(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let row = outbox.insert(&[]).await;
    let ask = Ask::of(&channels);
    outbox.claim(&term, &ask).await;
    for _ in 0..2 {
        outbox.store.release(Shard(0), ask.claim).await.unwrap();
    }
    let again = Ask::of(&channels);
    assert_eq!(ids(&outbox.claim(&term, &again).await), [row.0]);
    outbox.store.release(Shard(0), again.claim).await.unwrap();

    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert!(settlement.decided.is_empty() && settlement.unsettled.is_empty(), "{settlement:?}");
    assert_eq!(outbox.message(row).await.attempts, 0);
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// The statement of a claim that was given up may still be under way.
pub async fn nothing_is_claimed_any_more_under_the_id_of_a_released_claim(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let row = outbox.insert(&[]).await;
    let ask = Ask::of(&channels);
    for _ in 0..2 {
        outbox.store.release(Shard(0), ask.claim).await.unwrap();
    }
    let claimed = outbox.try_claim(&term, &ask).await;
    assert!(claimed.is_err() || claimed.is_ok_and(|claimed| claimed.is_empty()));
    assert_eq!(ids(&outbox.claim_all(&term, &channels).await.1), [row.0]);

    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert_eq!(settlement.decided.len(), 1, "that of the other claim");
    assert_eq!(outbox.count("outbox_claim").await, 0, "whoever settles removes what bars the id");
}

/// Nothing of it can be in doubt, so nobody waits for it, nor sees it as being settled.
pub async fn a_claim_of_an_earlier_term_ends_at_once_when_nothing_of_it_is_pending_any_more(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let delivered_row = outbox.insert(&[]).await;
    let retried_row = outbox.insert(&[]).await;
    let over = Ask::of(&channels);
    let messages = outbox.claim(&term, &over).await;
    assert_eq!(ids(&messages), [delivered_row.0, retried_row.0]);
    let out = outbox.insert(&[]).await;
    let excluded = [delivered_row, retried_row];
    let open = Ask { excluded: &excluded, ..Ask::of(&channels) };
    assert_eq!(ids(&outbox.claim(&term, &open).await), [out.0]);
    let retry = Verdict::Retry { after: Duration::from_hours(1) };
    let marks = [delivered(&term, over.claim, &messages[0]), mark(&term, over.claim, &messages[1], retry, "retry")];
    outbox.store.mark(&marks, &[]).await.unwrap();

    let later = outbox.term(&channels).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert!(settlement.decided.is_empty(), "{settlement:?}");
    assert_eq!((settlement.unsettled.as_slice(), settlement.next.is_some()), (&[out][..], true));
    let left = outbox.strings(&["id"], "outbox_claim").await;
    assert_eq!(left, [[Some(open.claim.0.to_string())]]);
    assert!(outbox.attempts(delivered_row).await.is_empty());
    assert_eq!((outbox.message(retried_row).await.revision, outbox.attempts(retried_row).await.len()), (1, 1));
}

/// A holder whose gate is closed starts no send, so its ttl need not be waited for.
pub async fn a_closed_gate_saves_the_ttl(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    let ask = settling(&channels, Duration::from_mins(5), Duration::from_secs(2));
    outbox.claim(&term, &ask).await;
    outbox.store.end_term(&term, TermEnd::Interval, TermCounts::default()).await.unwrap();
    let later = outbox.term(&channels).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert!((1_000..=3_000).contains(&settlement.next.unwrap().as_millis()), "{settlement:?}");
    outbox.age_claims(Duration::from_millis(3_001)).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert!(!settlement.decided[0].crashed, "{settlement:?}");
}

/// Or a fleet that changes its poller often would never settle anything.
pub async fn later_terms_do_not_start_the_settling_time_anew(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    outbox.claim_all(&term, &channels).await;
    outbox.term(&channels).await;
    outbox.age_claims(Duration::from_mins(9)).await;
    let last = outbox.term(&channels).await;
    let settlement = outbox.store.settle(&last, &channels, &[]).await.unwrap();
    assert!(settlement.next.is_some_and(|next| next < Duration::from_secs(100)), "{settlement:?}");
}

/// As by a trigger that the application added. It is in no poll meanwhile, and is settled once the database lets it be.
pub async fn a_row_that_the_database_itself_refuses_to_settle_keeps_no_other_waiting(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut others = Vec::new();
    others.push(outbox.insert(&[]).await);
    let refused = outbox.insert(&[("idempotency_key", "'refused'")]).await;
    others.push(outbox.insert(&[]).await);
    outbox.claim_all(&term, &channels).await;
    others.push(outbox.insert(&[]).await);
    let own_excluded: Vec<_> = others[..2].iter().copied().chain([refused]).collect();
    outbox.claim(&term, &Ask { excluded: &own_excluded, ..Ask::of(&channels) }).await;
    outbox.execute(refusing(outbox.database().dialect())).await;

    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    for decided in [&others[..], &[]] {
        let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
        let mut ids: Vec<_> = settlement.decided.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        assert_eq!((&ids[..], &settlement.unsettled[..]), (decided, &[refused][..]), "{settlement:?}");
    }
    assert_eq!((outbox.attempts(refused).await.len(), outbox.count("outbox_claim").await), (0, 1));
    let claimed = outbox.claim(&later, &Ask { excluded: &[refused], ..Ask::of(&channels) }).await;
    assert_eq!(claimed.len(), 3);

    let drop = if outbox.database().dialect() == Dialect::Postgres {
        "DROP TRIGGER refuse ON outbox"
    } else {
        "DROP TRIGGER refuse"
    };
    outbox.execute(drop).await;
    let settlement = outbox.store.settle(&later, &channels, &[]).await.unwrap();
    assert_eq!(settlement.decided.iter().map(|row| row.id).collect::<Vec<_>>(), [refused]);
    assert_eq!(outbox.message(refused).await.attempts, 1);
}

/// Its rows must not all leave quarantine at once for that.
pub async fn what_was_decided_is_told_again_to_whoever_never_heard_the_answer(outbox: &Outbox) {
    let channels = [http(), once()];
    let ended = outbox.term(&channels).await;
    let unsent = outbox.insert(&[]).await;
    outbox.claim_all(&ended, &channels).await;
    outbox.store.end_term(&ended, TermEnd::Interval, TermCounts::default()).await.unwrap();
    let crashed = outbox.term(&channels).await;
    let resent = outbox.insert(&[("target", "'https://a.example/'")]).await;
    let dead = outbox.insert(&[("channel", "'once'")]).await;
    let marked = outbox.insert(&[]).await;
    let ask = Ask { excluded: &[unsent], ..Ask::of(&channels) };
    let claimed = outbox.claim(&crashed, &ask).await;
    let settler = outbox.term(&channels).await;
    let done = claimed.iter().find(|message| message.id() == marked).unwrap();
    outbox.store.mark(&[delivered(&crashed, ask.claim, done)], &[]).await.unwrap();
    outbox.age_claims(Duration::from_hours(1)).await;

    let of = [unsent, resent, dead, marked];
    let mut heard = outbox.store.settle(&settler, &channels, &[]).await.unwrap().decided;
    heard.sort_unstable_by_key(|row| row.id);
    assert_eq!(
        heard.iter().map(|row| (row.crashed, row.resend)).collect::<Vec<_>>(),
        [(false, true), (true, true), (true, false)]
    );
    assert_eq!(outbox.store.settle(&settler, &channels, &of).await.unwrap().decided, heard);
    let left = outbox.strings(&["in_doubt"], "outbox_term_log ORDER BY epoch").await.concat();
    assert_eq!(
        left,
        ["1", "2", "0"].map(|count| Some(count.to_owned())),
        "the log of each term has what it left in doubt"
    );

    let ask = Ask::of(&channels);
    let claimed = outbox.claim(&settler, &ask).await;
    assert_eq!(ids(&claimed), [unsent.0, resent.0]);
    let next = outbox.term(&channels).await;
    let told = outbox.store.settle(&next, &channels, &of).await.unwrap();
    assert_eq!(told.decided, heard[2..], "two of them are in flight again: {told:?}");
    let marks: Vec<_> = claimed.iter().map(|row| delivered(&settler, ask.claim, row)).collect();
    outbox.store.mark(&marks, &[]).await.unwrap();
    assert_eq!(outbox.store.settle(&next, &channels, &of).await.unwrap().decided, heard[2..]);
}

/// A trigger that refuses each change of one row.
fn refusing(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$BEGIN RAISE EXCEPTION 'the bookkeeping says no'; END$$;
             CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW
                 WHEN (NEW.idempotency_key = 'refused') EXECUTE FUNCTION refuse()"
        }
        Dialect::MySql => {
            "CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW
             IF NEW.idempotency_key = 'refused' THEN
                 SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the bookkeeping says no';
             END IF"
        }
        Dialect::Sqlite => {
            "CREATE TRIGGER refuse BEFORE UPDATE ON outbox WHEN NEW.idempotency_key = 'refused'
             BEGIN SELECT RAISE(ABORT, 'the bookkeeping says no'); END"
        }
    }
}

/// At least once, at most once, and the budget before both.
pub async fn rows_in_doubt_go_by_the_policy_of_their_channel(outbox: &Outbox) {
    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    let resent = outbox.insert(&[("target", "'https://a.example/'")]).await;
    let dead = outbox.insert(&[("channel", "'once'")]).await;
    let own_budget = outbox.insert(&[("max_attempts", "1")]).await;
    let budget = outbox.insert(&[("attempts", "9")]).await;
    let ask = Ask::of(&channels);
    assert_eq!(outbox.claim(&term, &ask).await.len(), 4);
    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    let mut decided = outbox.store.settle(&later, &channels, &[]).await.unwrap().decided;
    decided.sort_unstable_by_key(|row| row.id);
    let decision =
        |id, destination: &str, resend| Decided { id, destination: destination.to_owned(), crashed: true, resend };
    let expected = [
        decision(resent, "https://a.example:443", true),
        decision(dead, "once", false),
        decision(own_budget, "http", false),
        decision(budget, "http", false),
    ];
    assert_eq!(decided, expected);

    for (id, status, reason, attempts) in [
        (resent, "PENDING", None, 1),
        (dead, "DEAD", Some("in_doubt"), 1),
        (own_budget, "DEAD", Some("exhausted"), 1),
        (budget, "DEAD", Some("exhausted"), 10),
    ] {
        let row = outbox.message(id).await;
        assert_eq!((row.status.as_str(), row.dead_reason.as_deref(), row.attempts), (status, reason, attempts));
        assert_eq!((row.revision, row.finished.is_some()), (1, status == "DEAD"));
        assert!(row.available_in <= 0 && row.first_attempt.is_some(), "{row:?}");
        let error = format!("in doubt: claimed by {} in epoch {} and never marked", term.holder, term.epoch);
        assert_eq!(row.last_error, Some(error));
        let recorded = outbox.attempts(id).await;
        assert_eq!((recorded.len(), recorded[0].number, recorded[0].epoch), (1, attempts, term.epoch.0));
        assert_eq!((recorded[0].holder.as_str(), recorded[0].outcome.as_str()), (term.holder.as_str(), "in_doubt"));
        assert!(recorded[0].claimed.is_some() && recorded[0].error.as_ref().unwrap().contains("died"));
    }
    let (_, claimed) = outbox.claim_all(&later, &channels).await;
    assert_eq!(ids(&claimed), [resent.0]);
}

/// As while a release that adds a channel is rolled out, or once one was taken away.
pub async fn rows_in_doubt_of_a_channel_that_is_not_known_here_go_by_the_policy_of_their_claimer(outbox: &Outbox) {
    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    let dead = outbox.insert(&[("channel", "'once'")]).await;
    let own_budget = outbox.insert(&[("max_attempts", "1")]).await;
    let budget = outbox.insert(&[("attempts", "99"), ("max_attempts", "NULL")]).await;
    outbox.claim(&term, &Ask { limit: 3, ..Ask::of(&channels) }).await;
    let later = outbox.term(&[]).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    outbox.store.settle(&later, &[], &[]).await.unwrap();
    for (id, status, reason) in [
        (dead, "DEAD", Some("in_doubt")),
        (own_budget, "DEAD", Some("exhausted")),
        // Whoever knows the channel knows whether these were too many.
        (budget, "PENDING", None),
    ] {
        let row = outbox.message(id).await;
        assert_eq!((row.status.as_str(), row.dead_reason.as_deref()), (status, reason), "{row:?}");
    }
}

/// As while new settings are taken up by one replica after the other, in either direction.
pub async fn rows_in_doubt_of_a_channel_whose_policy_was_changed_go_by_the_stricter(outbox: &Outbox) {
    let resending = ChannelTerms { in_doubt: InDoubtPolicy::Resend, ..once() };
    for (claimer, settler) in [(once(), resending.clone()), (resending, once())] {
        let term = outbox.term(std::slice::from_ref(&claimer)).await;
        let row = outbox.insert(&[("channel", "'once'")]).await;
        let (_, claimed) = outbox.claim_all(&term, std::slice::from_ref(&claimer)).await;
        assert_eq!(ids(&claimed), [row.0]);
        let later = outbox.term(std::slice::from_ref(&settler)).await;
        outbox.age_claims(Duration::from_hours(1)).await;
        let settlement = outbox.store.settle(&later, std::slice::from_ref(&settler), &[]).await.unwrap();
        assert!(!settlement.decided[0].resend, "{settlement:?}");
        assert_eq!(outbox.message(row).await.dead_reason.as_deref(), Some("in_doubt"));
    }
}

/// Two terms must not both decide.
pub async fn an_older_term_settles_nothing(outbox: &Outbox) {
    let channels = [http()];
    let first = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    outbox.claim_all(&first, &channels).await;
    let older = outbox.term(&channels).await;
    outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    let refused = outbox.store.settle(&older, &channels, &[]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Fenced { .. }), "{refused}");
    assert_eq!(outbox.count("outbox_claim").await, 1);
}

/// Its own rows are in flight, not in doubt.
pub async fn a_term_does_not_settle_its_own_claims(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    let ask = settling(&channels, Duration::ZERO, Duration::ZERO);
    outbox.claim(&term, &ask).await;
    outbox.store.begin_term(Shard(0), &term.holder, Epoch(0)).await.unwrap();
    let settlement = outbox.store.settle(&term, &channels, &[]).await.unwrap();
    assert!(settlement.decided.is_empty() && settlement.unsettled.is_empty());
    assert_eq!(outbox.count("outbox_claim").await, 1);
}
