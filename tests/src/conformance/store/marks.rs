//! Marks.

use std::time::{Duration, Instant};

use outbox_store::DestinationStore as _;
use outbox_store::store::TermCounts;
use outbox_store::{ChannelTerms, ClaimId, DeadReason, Mark, Message, StoreError, TermEnd, TermId, Verdict};
use sqlx::{AssertSqlSafe, Connection};

use super::{Ask, Dialect, Outbox, delivered, http, mark, pause};

/// A term that has claimed one message.
struct Sent {
    channels: [ChannelTerms; 1],
    term: TermId,
    claim: ClaimId,
    message: Message,
}

impl Sent {
    async fn one(outbox: &Outbox, columns: &[(&str, &str)]) -> Self {
        let channels = [http()];
        let term = outbox.term(&channels).await;
        outbox.insert(columns).await;
        let (claim, mut messages) = outbox.claim_all(&term, &channels).await;
        Self { channels, term, claim, message: messages.remove(0) }
    }

    fn mark(&self, verdict: Verdict, outcome: &'static str) -> Mark {
        mark(&self.term, self.claim, &self.message, verdict, outcome)
    }

    fn delivered(&self) -> Mark {
        delivered(&self.term, self.claim, &self.message)
    }
}

/// A plain success needs no attempt row.
pub async fn a_success_ends_the_row_and_its_claim(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[("last_error", "'earlier'")]).await;
    let began = Instant::now().checked_sub(Duration::from_secs(3)).unwrap();
    let mut success = sent.mark(Verdict::Success { receipt: Some("r-1".to_owned()) }, "delivered");
    success.status_code = Some(202);
    success.attempt.started = began;
    let report = outbox.store.mark(&[success], &[sent.claim]).await.unwrap();
    assert!(report.fenced.is_empty());

    let row = outbox.message(sent.message.id()).await;
    assert_eq!((row.status.as_str(), row.revision, row.attempts), ("SUCCESS", 1, 1));
    assert_eq!((row.receipt.as_deref(), row.last_status_code.as_deref()), (Some("r-1"), Some("202")));
    assert_eq!((row.last_error, row.dead_reason, row.deferred_from), (None, None, None));
    assert!(row.finished.is_some_and(|ms| (-60_000..=1).contains(&ms)));
    assert!(row.first_attempt.is_some_and(|ms| (-60_000..=-2_900).contains(&ms)));
    assert!(outbox.attempts(sent.message.id()).await.is_empty());
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// A channel may keep its deliveries: an attempt of each, once, however often the mark is repeated.
pub async fn a_delivery_that_is_kept_leaves_its_attempt(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for _ in 0..3 {
        outbox.insert(&[]).await;
    }
    let (claim, messages) = outbox.claim_all(&term, &channels).await;
    let marks: Vec<_> = (0..3)
        .map(|place| {
            let mut mark = delivered(&term, claim, &messages[place]);
            mark.status_code = Some(200);
            mark.attempt.kept = place > 0;
            mark.attempt.excerpt = (place == 2).then(|| "thank you".to_owned());
            mark
        })
        .collect();
    for _ in 0..2 {
        assert_eq!(outbox.store.mark(&marks, &[]).await.unwrap().fenced, []);
    }
    for (message, excerpt) in messages.iter().zip([None, Some(None), Some(Some("thank you"))]) {
        assert_eq!(outbox.message(message.id()).await.status, "SUCCESS");
        let attempts = outbox.attempts(message.id()).await;
        let kept: Vec<_> =
            attempts.iter().map(|attempt| (attempt.outcome.as_str(), attempt.excerpt.as_deref())).collect();
        assert_eq!(kept, excerpt.map(|excerpt| ("delivered", excerpt)).into_iter().collect::<Vec<_>>());
    }
}

/// MySQL and MariaDB: a row that grew would have its page written anew.
pub async fn a_delivery_takes_the_room_that_its_row_keeps_for_it(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[]).await;
    let room = async || outbox.strings(&["OCTET_LENGTH(mark_room)"], "outbox").await.remove(0).remove(0);
    // DATETIME(6) takes 8 bytes each, and the status code 4.
    assert_eq!(room().await.as_deref(), Some("20"));
    let mut success = sent.delivered();
    success.status_code = Some(200);
    outbox.store.mark(&[success], &[sent.claim]).await.unwrap();
    assert_eq!(room().await, None);
}

/// PostgreSQL: claims that are gone stay in their table for as long as a snapshot is open elsewhere; to the planner the
/// table is small all the same.
pub async fn a_mark_finds_its_claim_by_the_index(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[]).await;
    let (claim, id) = (sent.claim.0, sent.message.id);
    let delivered = format!(
        "SELECT outbox_mark_delivered(ARRAY['{claim}'::uuid], ARRAY['{claim}'::uuid], ARRAY['{claim}'::uuid],
                                      ARRAY[{id}], ARRAY[0], ARRAY[1], ARRAY[200], ARRAY[NULL::text])"
    );
    let any = format!("SELECT outbox_mark_free('[]', ARRAY['{claim}'::uuid], ARRAY['{claim}'::uuid])");
    for call in [any, delivered] {
        // Counted for each connection, until it reports to the server: a new one has counted nothing.
        let mut connection = sqlx::PgConnection::connect(outbox.url()).await.unwrap();
        let mut tx = connection.begin().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(call.clone())).execute(&mut *tx).await.unwrap();
        let scans = "SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'outbox_claim'";
        let (all, by_index): (i64, i64) = sqlx::query_as(scans).fetch_one(&mut *tx).await.unwrap();
        assert!(all == 0 && by_index > 0, "{call}: {all} scans of all claims, {by_index} by the index");
        tx.rollback().await.unwrap();
    }
}

/// Its claim stays as long as other rows of it are out.
pub async fn a_retry_keeps_the_row_pending_until_its_time(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[]).await;
    let mut retry = sent.mark(Verdict::Retry { after: Duration::from_secs(100) }, "retry");
    retry.status_code = Some(503);
    retry.error = Some("503 \"Service\" \\ unavailable\n😀".to_owned());
    retry.attempt.excerpt = Some("<html>".to_owned());
    outbox.store.mark(&[retry], &[]).await.unwrap();

    let row = outbox.message(sent.message.id()).await;
    assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 1, 1));
    assert!((95_000..=100_000).contains(&row.available_in), "{row:?}");
    assert_eq!(row.last_error.as_deref(), Some("503 \"Service\" \\ unavailable\n😀"));
    assert_eq!((row.last_status_code.as_deref(), row.finished), (Some("503"), None));
    assert!(row.first_attempt.is_some());

    let attempts = outbox.attempts(sent.message.id()).await;
    let attempt = &attempts[0];
    assert_eq!((attempts.len(), attempt.number, attempt.epoch), (1, 1, sent.term.epoch.0));
    assert_eq!((attempt.holder.as_str(), attempt.outcome.as_str()), (sent.term.holder.as_str(), "retry"));
    assert_eq!((attempt.status_code.as_deref(), attempt.duration_ms.as_deref()), (Some("503"), Some("7")));
    assert_eq!((&attempt.error, attempt.excerpt.as_deref()), (&row.last_error, Some("<html>")));
    assert!(attempt.claimed.is_some() && attempt.started.is_some());
    assert_eq!(outbox.count("outbox_claim").await, 1);
}

/// A target that is gone is recorded once, however many messages find it so.
pub async fn a_dead_letter_keeps_its_reason_and_a_gone_target_is_recorded(outbox: &Outbox) {
    for (attempted, counted) in [(true, 1), (false, 0)] {
        let sent = Sent::one(outbox, &[("target", "'https://gone.example/hook'")]).await;
        let verdict = Verdict::Dead { reason: DeadReason::Permanent, attempted, invalid_target: true };
        let mut dead = sent.mark(verdict, "dead_target");
        dead.error = Some("410 gone".to_owned());
        outbox.store.mark(&[dead], &[sent.claim]).await.unwrap();

        let row = outbox.message(sent.message.id()).await;
        assert_eq!((row.status.as_str(), row.revision, row.attempts), ("DEAD", 1, counted));
        assert_eq!((row.dead_reason.as_deref(), row.last_error.as_deref()), (Some("permanent"), Some("410 gone")));
        assert!(row.finished.is_some());
        assert_eq!(outbox.attempts(sent.message.id()).await[0].outcome, "dead_target");
    }
    let gone = outbox.strings(&["channel", "target", "reason"], "outbox_invalid_target").await;
    let expected = ["http", "https://gone.example/hook", "410 gone"].map(|text| Some(text.to_owned()));
    assert_eq!(gone, [expected]);
}

/// Of that channel, and exactly that one; what was claimed before is told so when it is claimed again.
pub async fn a_message_to_a_target_that_is_gone_is_claimed_as_one(outbox: &Outbox) {
    let gone = [("channel", "'http'"), ("target", "'https://gone.example/hook'")];
    outbox
        .execute("INSERT INTO outbox_invalid_target (channel, target) VALUES ('http', 'https://gone.example/hook')")
        .await;
    let sent = Sent::one(outbox, &gone).await;
    assert!(sent.message.target_is_gone);
    let ask = Ask { claim: sent.claim, ..Ask::of(&sent.channels) };
    assert!(outbox.claim(&sent.term, &ask).await[0].target_is_gone);
    outbox.store.mark(&[sent.delivered()], &[sent.claim]).await.unwrap();
    for other in ["'https://gone.example/hook2'", "'https://gone.example/'"] {
        let other = Sent::one(outbox, &[("target", other)]).await;
        assert!(!other.message.target_is_gone);
        outbox.store.mark(&[other.delivered()], &[other.claim]).await.unwrap();
    }
}

/// And the pause outlives the term.
pub async fn a_deferral_counts_no_attempt_and_pauses_the_destination(outbox: &Outbox) {
    for _ in 0..2 {
        let sent = Sent::one(outbox, &[("target", "'https://busy.example/'")]).await;
        let mut deferred = sent.mark(Verdict::Deferred { after: Duration::from_mins(10) }, "deferred");
        deferred.pause = pause(&deferred.verdict, "https://busy.example:443");
        deferred.error = Some("429".to_owned());
        outbox.store.mark(&[deferred], &[sent.claim]).await.unwrap();

        let row = outbox.message(sent.message.id()).await;
        assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 1, 0));
        assert!((590_000..=600_000).contains(&row.available_in), "{row:?}");
        assert!(row.deferred_from.is_some_and(|ms| ms <= 0) && row.first_attempt.is_none(), "{row:?}");
        let pause = outbox.strings(&["destination", "paused_by", "reason", "failures"], "outbox_destination").await;
        let expected = ["https://busy.example:443", "dispatcher", "429", "0"].map(|text| Some(text.to_owned()));
        assert_eq!(pause, [expected]);
        assert_eq!(outbox.attempts(sent.message.id()).await[0].outcome, "deferred");
    }
}

/// Its age counts from then all the same, and what it was asked to wait holds when the destination comes back before that.
pub async fn an_attempt_that_is_spared_is_not_counted_and_begins_the_age(outbox: &Outbox) {
    for (at_least, due_again) in [(0, -60_000..=0), (10, 5_000..=10_000)] {
        let sent = Sent::one(outbox, &[("target", "'https://down.example/'")]).await;
        let spared = Verdict::Spared { after: Duration::from_mins(10), at_least: Duration::from_secs(at_least) };
        outbox.store.mark(&[sent.mark(spared, "deferred")], &[sent.claim]).await.unwrap();

        let row = outbox.message(sent.message.id()).await;
        assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 1, 0));
        assert!((590_000..=600_000).contains(&row.available_in), "{row:?}");
        assert!(row.first_attempt.is_some_and(|ms| (-60_000..=0).contains(&ms)), "{row:?}");
        assert!(row.deferred_from.is_some_and(|ms| due_again.contains(&ms)), "{row:?}");

        outbox.database().bring_back(&sent.term, "https://down.example:443", 10).await.unwrap();
        let row = outbox.message(sent.message.id()).await;
        assert!(due_again.contains(&row.available_in) && row.deferred_from.is_none(), "{row:?}");
        outbox.execute("DELETE FROM outbox").await;
    }
}

/// Only the revision rises: whoever claims it next is not who claimed it before.
pub async fn an_unsent_row_is_due_again_at_once(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[("last_error", "'earlier'")]).await;
    outbox.store.mark(&[sent.mark(Verdict::Unsent, "unsent")], &[sent.claim]).await.unwrap();
    let row = outbox.message(sent.message.id()).await;
    assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 1, 0));
    assert!(row.available_in <= 0 && row.first_attempt.is_none() && row.finished.is_none());
    assert_eq!(row.last_error.as_deref(), Some("earlier"));
    assert!(outbox.attempts(sent.message.id()).await.is_empty());
    let (_, claimed) = outbox.claim_all(&sent.term, &sent.channels).await;
    assert_eq!(claimed[0].revision, 1);
}

/// The first attempt's time is the first's, whatever comes after.
pub async fn the_first_attempt_stays_the_first(outbox: &Outbox) {
    let begun = outbox.moment(-50_000);
    let sent = Sent::one(outbox, &[("first_attempt_at", &begun), ("attempts", "1")]).await;
    outbox.store.mark(&[sent.mark(Verdict::Retry { after: Duration::ZERO }, "retry")], &[]).await.unwrap();
    let row = outbox.message(sent.message.id()).await;
    assert_eq!(row.attempts, 2);
    assert!(row.first_attempt.is_some_and(|ms| ms <= -50_000), "{row:?}");
}

/// Its answer may be lost; the repetition changes nothing and is not called fenced.
pub async fn a_repeated_mark_is_harmless(outbox: &Outbox) {
    let verdicts = [
        (Verdict::Success { receipt: None }, "delivered"),
        (Verdict::Retry { after: Duration::from_mins(1) }, "retry"),
        (Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false }, "dead"),
        (Verdict::Unsent, "unsent"),
    ];
    for (verdict, outcome) in verdicts {
        let sent = Sent::one(outbox, &[]).await;
        let id = sent.message.id();
        let marks = [sent.mark(verdict, outcome)];
        outbox.store.mark(&marks, &[sent.claim]).await.unwrap();
        let (row, attempts) = (outbox.message(id).await, outbox.attempts(id).await.len());
        let again = outbox.store.mark(&marks, &[sent.claim]).await.unwrap();
        assert!(again.fenced.is_empty(), "{outcome}");
        let after = outbox.message(id).await;
        assert_eq!((after.revision, after.status, after.attempts), (row.revision, row.status, row.attempts));
        assert_eq!(outbox.attempts(id).await.len(), attempts, "{outcome}");
        outbox.execute(&format!("DELETE FROM outbox WHERE id = {id}")).await;
    }
}

/// What was delivered after all is recorded, once: it explains the duplicate.
pub async fn a_mark_that_comes_after_settling_is_fenced(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[]).await;
    let later = outbox.term(&sent.channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    outbox.store.settle(&later, &sent.channels, &[]).await.unwrap();
    for _ in 0..2 {
        let report = outbox.store.mark(&[sent.delivered()], &[sent.claim]).await.unwrap();
        assert_eq!(report.fenced, [sent.message.id()]);
    }
    let row = outbox.message(sent.message.id()).await;
    assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 1, 1));
    let attempts = outbox.attempts(sent.message.id()).await;
    let outcomes: Vec<_> = attempts.iter().map(|attempt| (attempt.outcome.as_str(), attempt.epoch)).collect();
    let epoch = sent.term.epoch.0;
    assert_eq!(outcomes, [("in_doubt", epoch), ("delivered_fenced", epoch)]);

    let retry = sent.mark(Verdict::Retry { after: Duration::ZERO }, "retry");
    let report = outbox.store.mark(&[retry], &[]).await.unwrap();
    assert_eq!(report.fenced, [sent.message.id()], "settled to the state that the mark would have left, but not by it");
    assert_eq!(outbox.attempts(sent.message.id()).await.len(), 2);
}

/// A row can be gone, or decided by hand.
pub async fn a_mark_of_a_row_that_has_moved_on_is_fenced_and_its_neighbours_are_not(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for _ in 0..3 {
        outbox.insert(&[]).await;
    }
    let (claim, messages) = outbox.claim_all(&term, &channels).await;
    outbox.execute(&format!("DELETE FROM outbox WHERE id = {}", messages[0].id)).await;
    outbox.execute(&format!("UPDATE outbox SET revision = revision + 1 WHERE id = {}", messages[1].id)).await;
    let marks: Vec<_> = messages.iter().map(|message| delivered(&term, claim, message)).collect();
    let mut fenced = outbox.store.mark(&marks, &[claim]).await.unwrap().fenced;
    fenced.sort_unstable();
    assert_eq!(fenced, [messages[0].id(), messages[1].id()]);
    assert_eq!(outbox.message(messages[1].id()).await.status, "PENDING");
    assert_eq!(outbox.message(messages[2].id()).await.status, "SUCCESS");
    for message in &messages[..2] {
        assert_eq!(outbox.attempts(message.id()).await[0].outcome, "delivered_fenced");
    }
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// A delivery that happened is a fact.
pub async fn a_success_counts_after_its_term_as_long_as_its_claim_stands(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[]).await;
    outbox.store.end_term(&sent.term, TermEnd::Interval, TermCounts::default()).await.unwrap();
    let later = outbox.term(&sent.channels).await;
    let report = outbox.store.mark(&[sent.delivered()], &[sent.claim]).await.unwrap();
    assert!(report.fenced.is_empty());
    assert_eq!(outbox.message(sent.message.id()).await.status, "SUCCESS");
    assert_eq!(outbox.count("outbox_claim").await, 0);
    assert!(outbox.store.settle(&later, &sent.channels, &[]).await.unwrap().unsettled.is_empty());
}

/// Receivers answer what they like.
pub async fn texts_from_outside_are_made_fit_to_store(outbox: &Outbox) {
    let sent = Sent::one(outbox, &[]).await;
    let mut retry = sent.mark(Verdict::Retry { after: Duration::MAX }, "retry");
    retry.error = Some(format!("a\0b\u{1b}[31m{}", "ü".repeat(100_000)));
    retry.attempt.excerpt = Some("\0".repeat(10));
    outbox.store.mark(&[retry], &[sent.claim]).await.unwrap();
    let row = outbox.message(sent.message.id()).await;
    assert!(row.last_error.is_some_and(|error| error.starts_with("a\u{fffd}b\u{fffd}[31mü") && error.len() <= 4096));
    assert!(row.available_in > 0);
}

/// The caller splits it. SQLite's columns take any value that a mark can have.
pub async fn a_group_that_the_database_refuses_for_its_data_is_written_not_at_all(outbox: &Outbox) {
    if outbox.dialect == Dialect::Sqlite {
        return;
    }
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let plain = outbox.insert(&[]).await;
    let full = outbox.insert(&[("attempts", "32767")]).await;
    let (claim, messages) = outbox.claim_all(&term, &channels).await;
    let marks: Vec<_> = messages.iter().map(|message| delivered(&term, claim, message)).collect();
    let refused = outbox.store.mark(&marks, &[claim]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    for id in [plain, full] {
        assert_eq!(outbox.message(id).await.revision, 0);
    }
    assert_eq!(outbox.count("outbox_claim").await, 1);
    let alone = marks.iter().filter(|mark| mark.id == plain).cloned().collect::<Vec<_>>();
    assert!(outbox.store.mark(&alone, &[]).await.unwrap().fenced.is_empty());
}

/// Groups of many claims, written at the same time from several tasks. A writer of SQLite waits for its turn.
pub async fn groups_written_at_the_same_time_all_land(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut marks = Vec::new();
    for _ in 0..4 {
        for _ in 0..10 {
            outbox.insert(&[]).await;
        }
        let claimed: Vec<_> = marks.iter().map(|mark: &Mark| mark.id).collect();
        let ask = Ask { excluded: &claimed, ..Ask::of(&channels) };
        let messages = outbox.claim(&term, &ask).await;
        marks.extend(messages.iter().map(|message| delivered(&term, ask.claim, message)));
    }
    // Each group holds rows of every claim, in opposite orders.
    let forth: Vec<_> = marks.iter().step_by(2).cloned().collect();
    let back: Vec<_> = marks.iter().skip(1).step_by(2).rev().cloned().collect();
    let write = async |group: Vec<Mark>| outbox.store.mark(&group, &[]).await.unwrap().fenced;
    let (one, other) = tokio::join!(write(forth), write(back));
    assert!(one.is_empty() && other.is_empty());
    assert_eq!(outbox.count("outbox WHERE status = 'SUCCESS' AND revision = 1").await, 40);
}
