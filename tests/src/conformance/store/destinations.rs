//! What a poller keeps of destinations.

use std::time::Duration;

use outbox_desk::{Author, ByHand};
use outbox_schema::MessageId;
use outbox_store::destination::{Aside, DestinationState, DestinationStore, Look, MOST_TOLD, Ramp};
use outbox_store::{Epoch, Holder, Mark, Pause, PauseKind, Shard, StoreError, TermId, Verdict};

use super::{Outbox, http, ids, mark, once, pause};

const SLOW: &str = "https://slow.example:443";

/// From ten seconds from now, one in each second, five minutes from now at most.
fn aside(destination: &str) -> Aside {
    Aside {
        destination: destination.to_owned(),
        whole_channel: false,
        from: Duration::from_secs(10),
        step: Duration::from_secs(1),
        most: Duration::from_mins(5),
        reason: Some("it is slow".to_owned()),
    }
}

async fn slow_rows(outbox: &Outbox, count: usize) -> Vec<MessageId> {
    let mut rows = Vec::new();
    for _ in 0..count {
        let due = outbox.moment(-60_000);
        rows.push(outbox.insert(&[("target", "'https://slow.example/x'"), ("available_at", &due)]).await);
    }
    rows
}

async fn due_in(outbox: &Outbox, id: MessageId) -> i64 {
    outbox.message(id).await.available_in
}

async fn left_behind(outbox: &Outbox, nonce: &str) -> Vec<DestinationState> {
    let holder = Holder::new("later", nonce);
    let opened = outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
    let term = TermId { shard: Shard(0), epoch: opened.epoch, holder };
    outbox.database().bring_back_configured(&term, &["http", "once"], 100).await.unwrap();
    let mut left = opened.destinations;
    left.sort_by(|a, b| a.destination.cmp(&b.destination));
    left
}

/// They count as late from when they were first due, and no attempt is counted.
pub async fn rows_that_are_put_aside_come_back_one_after_the_other(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    let rows = slow_rows(outbox, 3).await;
    let free = outbox.insert(&[]).await;
    let database = outbox.database();
    assert_eq!(database.put_aside(&term, &[aside(SLOW)], &[], &mut Look::of(100)).await.unwrap(), [3]);
    let mut due = Vec::new();
    for id in &rows {
        let row = outbox.message(*id).await;
        assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 0, 0));
        assert!(row.deferred_from.is_some_and(|from| from <= -60_000), "{row:?}");
        due.push(row.available_in);
    }
    for (place, due) in (0_i64..).zip(&due) {
        assert!((place * 1_000 + 5_000..=place * 1_000 + 10_000).contains(due), "{place}: {due}");
    }
    assert!(due_in(outbox, free).await <= 0);

    // However many there are, none waits longer than the most.
    slow_rows(outbox, 1).await;
    let far = Aside { from: Duration::from_hours(1), ..aside(SLOW) };
    let far = Aside { step: Duration::from_mins(10), from: Duration::from_secs(1), ..far };
    let late = slow_rows(outbox, 1).await[0];
    assert_eq!(database.put_aside(&term, &[far], &[], &mut Look::of(100)).await.unwrap(), [2]);
    assert!((290_000..=300_000).contains(&due_in(outbox, late).await));
    let kept = outbox.strings(&["destination", "reason"], "outbox_destination").await;
    assert_eq!(kept, [[SLOW, "it is slow"].map(|text| Some(text.to_owned()))]);
}

/// Not what waits for its retry, not what is in flight, not what has an ordering key; and no more than asked for at once.
pub async fn only_due_rows_that_nobody_has_in_hand_are_put_aside(outbox: &Outbox) {
    let term = outbox.term(&[http(), once()]).await;
    let rows = slow_rows(outbox, 4).await;
    let later = outbox.moment(1_000);
    let target = ("target", "'https://slow.example/x'");
    let waiting = outbox.insert(&[target, ("available_at", &later)]).await;
    let ordered = outbox.insert(&[target, ("ordering_key", "'k'")]).await;
    let channel = outbox.insert(&[("channel", "'once'"), ("priority", "3")]).await;
    let database = outbox.database();
    let hour = Duration::from_hours(1);
    let asked = [aside(SLOW), Aside { whole_channel: true, from: hour, step: Duration::ZERO, ..aside("once") }];
    let excluded = [rows[0]];
    let (mut moved, mut look) = ([0, 0], Look::of(2));
    for _ in 0..3 {
        let now = database.put_aside(&term, &asked, &excluded, &mut look).await.unwrap();
        assert!(now.iter().sum::<u64>() <= 2);
        moved = [moved[0] + now[0], moved[1] + now[1]];
    }
    assert_eq!(moved, [3, 1]);
    assert!(due_in(outbox, rows[0]).await <= 0 && due_in(outbox, ordered).await <= 0);
    assert!(due_in(outbox, waiting).await <= 1_000);
    assert!((3_590_000..=3_600_000).contains(&due_in(outbox, channel).await));
}

/// However many there are that are for others. And it begins anew, for what has become due meanwhile.
pub async fn a_look_for_rows_to_put_aside_goes_on_where_its_last_step_ended(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    let database = outbox.database();
    let due = outbox.moment(-90_000);
    for _ in 0..5 {
        outbox.insert(&[("available_at", &due), ("priority", "1")]).await;
    }
    let same =
        outbox.insert(&[("available_at", &due), ("priority", "1"), ("target", "'https://slow.example/x'")]).await;
    let rows = slow_rows(outbox, 3).await;
    let mut look = Look { rows: 2, ..Look::of(2) };
    let mut moved = Vec::new();
    for _ in 0..5 {
        moved.push(database.put_aside(&term, &[aside(SLOW)], &[], &mut look).await.unwrap()[0]);
    }
    assert_eq!((moved, &look.from), (vec![0, 0, 1, 2, 1], &None));
    for id in rows.into_iter().chain([same]) {
        assert!(due_in(outbox, id).await > 0);
    }
    slow_rows(outbox, 1).await;
    while database.put_aside(&term, &[aside(SLOW)], &[], &mut look).await.unwrap() == [0] {
        assert!(look.from.is_some(), "it came to the end");
    }
}

/// Messages of the highest go first, and their part of the step is gone for those of the others.
pub async fn a_step_of_a_look_is_bounded_over_all_priorities(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    for priority in ["3", "1"] {
        outbox.insert(&[("priority", priority)]).await;
    }
    slow_rows(outbox, 3).await;
    let mut look = Look { rows: 3, ..Look::of(10) };
    let mut moved = Vec::new();
    for _ in 0..2 {
        moved.push(outbox.database().put_aside(&term, &[aside(SLOW)], &[], &mut look).await.unwrap()[0]);
    }
    assert_eq!((moved, look.from), (vec![1, 2], None));
}

/// A server behind the `base_url` of a channel that is down holds up what names no URL.
pub async fn rows_that_go_elsewhere_stay_where_a_destination_that_bears_their_channels_name_is_put_aside(
    outbox: &Outbox,
) {
    let term = outbox.term(&[http()]).await;
    let path = outbox.insert(&[("target", "'/path'")]).await;
    let elsewhere = outbox.insert(&[("target", "'https://shop.example/'")]).await;
    let database = outbox.database();
    assert_eq!(database.put_aside(&term, &[aside("http")], &[], &mut Look::of(100)).await.unwrap(), [1]);
    assert!(due_in(outbox, path).await > 0 && due_in(outbox, elsewhere).await <= 0);
    let all = Aside { whole_channel: true, ..aside("http") };
    assert_eq!(database.put_aside(&term, &[all], &[], &mut Look::of(100)).await.unwrap(), [1]);
    assert!(due_in(outbox, elsewhere).await > 0);
}

/// A row may be put aside while a claim takes it. If it is not sent, the end of the pause is to find it.
pub async fn a_row_that_was_put_aside_and_then_not_sent_is_brought_back(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let row = slow_rows(outbox, 1).await[0];
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let database = outbox.database();
    assert_eq!(database.put_aside(&term, &[aside(SLOW)], &[], &mut Look::of(100)).await.unwrap(), [1]);
    let unsent = mark(&term, claim, &claimed[0], Verdict::Unsent, "unsent");
    outbox.store.mark(&[unsent], &[claim]).await.unwrap();
    assert!(due_in(outbox, row).await > 0);
    assert_eq!(database.bring_back(&term, SLOW, 100).await.unwrap().rows, 1);
    assert!(due_in(outbox, row).await <= -59_000);
}

/// And the pause that put them there is over, for good.
pub async fn rows_that_are_brought_back_are_due_when_they_were(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let rows = slow_rows(outbox, 5).await;
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let mut failed = mark(&term, claim, &claimed[0], Verdict::Deferred { after: Duration::from_mins(1) }, "retry");
    failed.pause = pause(&failed.verdict, SLOW).map(|pause| outbox_store::Pause { kind: PauseKind::Breaker, ..pause });
    outbox.store.mark(&[failed], &[]).await.unwrap();
    let database = outbox.database();
    let rest: Vec<_> = ids(&claimed[1..]);
    assert_eq!(database.put_aside(&term, &[aside(SLOW)], &[], &mut Look::of(100)).await.unwrap(), [rest.len() as u64]);

    assert_eq!(database.bring_back(&term, SLOW, 3).await.unwrap().rows, 3);
    assert_eq!(database.bring_back(&term, SLOW, 3).await.unwrap().rows, 2);
    assert_eq!(database.bring_back(&term, SLOW, 3).await.unwrap().rows, 0);
    for id in rows {
        let row = outbox.message(id).await;
        assert!(row.available_in <= -59_000 && row.deferred_from.is_none(), "{row:?}");
    }
    assert_eq!(
        outbox.count("outbox_destination WHERE failures = 0 AND paused_until IS NULL AND reason IS NULL").await,
        1
    );
    assert_eq!(left_behind(outbox, "two").await, []);
}

/// What it believes of destinations may long be wrong.
pub async fn a_term_that_is_over_moves_no_row(outbox: &Outbox) {
    let old = outbox.term(&[http()]).await;
    let rows = slow_rows(outbox, 1).await;
    let new = outbox.term(&[http()]).await;
    let database = outbox.database();
    let refused = database.put_aside(&old, &[aside(SLOW)], &[], &mut Look::of(100)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    database.put_aside(&new, &[aside(SLOW)], &[], &mut Look::of(100)).await.unwrap();
    for wrong in [old, TermId { holder: Holder::new("some", "body"), ..new }] {
        let refused = database.bring_back(&wrong, SLOW, 100).await;
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    }
    assert!(due_in(outbox, rows[0]).await > 0);
}

/// Rows stay put aside, a breaker is not closed by a change of poller, and a rate goes on rising.
pub async fn a_later_term_is_told_what_matters_of_destinations(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let rows = slow_rows(outbox, 2).await;
    let database = outbox.database();
    database.put_aside(&term, &[aside(SLOW)], &[], &mut Look::of(100)).await.unwrap();
    database.remember_ramp("fcm", Duration::from_secs(30)).await.unwrap();
    outbox
        .execute(
            "INSERT INTO outbox_destination (destination, pause_kind, failures) VALUES ('broken', 'breaker', 4), ('was', 'asked', 9)",
        )
        .await;
    let left = left_behind(outbox, "two").await;
    let [broken, fcm, slow] = &left[..] else { panic!("{left:?}") };
    assert_eq!((broken.destination.as_str(), broken.failures), ("broken", 4));
    assert_eq!(broken.pause, Some((PauseKind::Breaker, Duration::ZERO)));
    let Some(Ramp { rising_for, unused_for }) = fcm.ramp else { panic!("{fcm:?}") };
    assert!((30..=60).contains(&rising_for.as_secs()) && unused_for < Duration::from_secs(30), "{fcm:?}");
    assert!((1..=11).contains(&slow.aside.as_secs()) && slow.pause.is_none(), "{slow:?}");
    assert!(due_in(outbox, rows[0]).await > 0, "they stay where they were put");
}

/// Of channels first: claims ask about destinations, and not about them.
pub async fn a_later_term_is_told_of_so_many_destinations_at_most_and_asks_about_the_others(outbox: &Outbox) {
    outbox.term(&[http()]).await;
    let paused = |name: &str, until: i64| format!("('{name}', {}, 'asked')", outbox.moment(3_600_000 + until * 1_000));
    let mut rows: Vec<_> = (0..1_030).map(|host| paused(&format!("https://{host}.example:443"), host)).collect();
    rows.push(paused("http", 9_999));
    let columns = "destination, paused_until, pause_kind";
    outbox.execute(&format!("INSERT INTO outbox_destination ({columns}) VALUES {}", rows.join(", "))).await;
    let told = left_behind(outbox, "two").await;
    assert_eq!(i64::try_from(told.len()), Ok(MOST_TOLD));
    let is_told = |name: &str| told.iter().any(|state| state.destination == name);
    assert!(is_told("http") && is_told("https://0.example:443") && !is_told("https://1029.example:443"));

    let met = ["https://1029.example:443", "https://new.example:443"].map(str::to_owned);
    let [state] = &outbox.store.destinations(&met).await.unwrap()[..] else { panic!("one of them is paused") };
    assert_eq!(state.destination, met[0]);
    assert!(state.pause.is_some_and(|(kind, left)| kind == PauseKind::RetryAfter && left > Duration::from_hours(1)));
}

/// What a later term is told once a failure with this error has paused it: kind, whole minutes and failures; and the reason.
async fn paused(outbox: &Outbox, kind: PauseKind, secs: u64, error: &str) -> (PauseKind, u64, u32, String) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    slow_rows(outbox, 1).await;
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let later = Verdict::Deferred { after: Duration::from_hours(1) };
    let mut failed = mark(&term, claim, &claimed[0], later, "retry");
    failed.pause = Some(Pause { destination: SLOW.to_owned(), remaining: Duration::from_secs(secs), kind });
    failed.error = Some(error.to_owned());
    outbox.store.mark(&[failed], &[claim]).await.unwrap();
    let told = left_behind(outbox, error).await.remove(0);
    let (kind, remaining) = told.pause.unwrap();
    let reason = outbox.strings(&["reason"], "outbox_destination").await.remove(0).remove(0).unwrap();
    (kind, remaining.as_secs().div_ceil(60), told.failures, reason)
}

/// A pause says whether it holds all of a channel. A short pause of its breaker does not shorten what it asked for. Nothing
/// that it asks for hides that its breaker is open: it would get all at once when the pause is over. And only what opens the
/// breaker is counted.
pub async fn of_two_pauses_the_later_end_counts_and_a_breaker_stays_one(outbox: &Outbox) {
    const ASKED: PauseKind = PauseKind::RetryAfter;
    const BARRED: PauseKind = PauseKind::Credential;
    const BREAKER: PauseKind = PauseKind::Breaker;
    for (kind, secs, error, expected) in [
        (BARRED, 300, "refused", (BARRED, 5, 0, "refused")),
        (ASKED, 60, "busy as well", (BARRED, 5, 0, "refused")),
        (ASKED, 600, "busy", (ASKED, 10, 0, "busy")),
        (ASKED, 60, "busy again", (ASKED, 10, 0, "busy")),
        (BREAKER, 60, "down", (BREAKER, 10, 1, "busy")),
        (ASKED, 1_200, "busier", (BREAKER, 20, 1, "busier")),
        (BREAKER, 1_800, "still down", (BREAKER, 30, 2, "still down")),
    ] {
        let (told, minutes, failures, reason) = expected;
        let expected = (told, minutes, failures, reason.to_owned());
        assert_eq!(paused(outbox, kind, secs, error).await, expected, "after {error}");
    }
}

/// Of two others, what lasts longest; and what holds all of a channel, where they last as long.
pub async fn of_pauses_that_are_marked_together_a_breaker_is_what_counts(outbox: &Outbox) {
    use PauseKind::{Breaker, Credential, RetryAfter};
    for (marked, expected) in [
        (vec![(RetryAfter, 60), (Breaker, 60), (RetryAfter, 60)], (Breaker, 60)),
        (vec![(Credential, 1), (Breaker, 5)], (Breaker, 5)),
        (vec![(Breaker, 1), (RetryAfter, 60)], (Breaker, 60)),
        (vec![(Credential, 60), (RetryAfter, 60)], (Credential, 60)),
        (vec![(RetryAfter, 60), (Credential, 60)], (Credential, 60)),
        (vec![(Credential, 1), (RetryAfter, 60)], (RetryAfter, 60)),
        (vec![(RetryAfter, 1), (Credential, 60), (RetryAfter, 1)], (Credential, 60)),
    ] {
        outbox.execute("DELETE FROM outbox_destination").await;
        let channels = [http()];
        let term = outbox.term(&channels).await;
        slow_rows(outbox, marked.len()).await;
        let (claim, claimed) = outbox.claim_all(&term, &channels).await;
        let marks = claimed.iter().zip(&marked).map(|(message, (kind, minutes))| {
            let remaining = Duration::from_mins(*minutes);
            let failed = mark(&term, claim, message, Verdict::Deferred { after: remaining }, "deferred");
            Mark { pause: Some(Pause { destination: SLOW.to_owned(), remaining, kind: *kind }), ..failed }
        });
        let marks: Vec<_> = marks.collect();
        assert_eq!(marks.len(), marked.len());
        outbox.store.mark(&marks, &[claim]).await.unwrap();
        let told = left_behind(outbox, &format!("{marked:?}")).await.remove(0);
        let pause = told.pause.map(|(kind, left)| (kind, (left.as_secs() + 30) / 60));
        assert_eq!((pause, told.failures), (Some(expected), u32::from(expected.0 == Breaker)), "of {marked:?}");
    }
}

/// Who asks for a pause while it is being tried has not shown that it works.
pub async fn a_breaker_whose_pause_is_over_stays_one_until_it_closes(outbox: &Outbox) {
    let tried = paused(outbox, PauseKind::Breaker, 0, "down").await;
    assert_eq!(tried, (PauseKind::Breaker, 0, 1, "down".to_owned()));
    let asked = paused(outbox, PauseKind::RetryAfter, 600, "busy").await;
    assert_eq!(asked, (PauseKind::Breaker, 10, 1, "busy".to_owned()));
}

/// Neither by what a destination asks for, nor by its recovery.
pub async fn a_pause_by_hand_is_ended_by_nobody_else(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let until = outbox.moment(3_600_000);
    let (now, long_ago) = (outbox.moment(0), outbox.moment(-120_000));
    outbox
        .execute(&format!(
            "INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
             VALUES ('{SLOW}', {until}, 'ada', 'hand', 'maintenance', {now}), ('free', NULL, NULL, NULL, NULL, {now}),
                    ('before', {until}, 'ada', 'hand', NULL, {long_ago})"
        ))
        .await;
    slow_rows(outbox, 1).await;
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let mut busy = mark(&term, claim, &claimed[0], Verdict::Deferred { after: Duration::from_secs(1) }, "deferred");
    busy.pause = pause(&busy.verdict, SLOW);
    outbox.store.mark(&[busy], &[claim]).await.unwrap();
    let database = outbox.database();
    database.bring_back(&term, SLOW, 100).await.unwrap();
    let kept =
        outbox.strings(&["paused_by", "pause_kind", "reason"], "outbox_destination WHERE reason IS NOT NULL").await;
    assert_eq!(kept, [["ada", "hand", "maintenance"].map(|text| Some(text.to_owned()))]);

    let mut changes = database.changes_by_hand().await.unwrap();
    changes.sort_by(|a, b| a.destination.cmp(&b.destination));
    let [free, slow] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((free.destination.as_str(), free.pause), ("free", None));
    let (kind, left) = slow.pause.expect("it is paused");
    assert!(kind == PauseKind::Manual && (3_500..=3_600).contains(&left.as_secs()), "{slow:?}");
    assert!(free.stamp > 0 && slow.stamp > 0);
}

/// A poller that hears of the resumption later must not take it for the last word.
pub async fn a_resumption_by_hand_is_told_with_what_paused_the_destination_since(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let database = outbox.database();
    let ada = Author { who: "ada".to_owned(), why: String::new() };
    database.pause(SLOW, None, &ada).await.unwrap();
    database.resume(SLOW, &ada).await.unwrap();
    slow_rows(outbox, 1).await;
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let mut busy = mark(&term, claim, &claimed[0], Verdict::Deferred { after: Duration::from_secs(1) }, "deferred");
    busy.pause = pause(&busy.verdict, SLOW);
    let asked = busy.pause.as_ref().map(|pause| pause.kind);
    outbox.store.mark(&[busy], &[claim]).await.unwrap();
    let changes = database.changes_by_hand().await.unwrap();
    let [change] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((change.destination.as_str(), change.pause.map(|(kind, _)| kind)), (SLOW, asked));
}
