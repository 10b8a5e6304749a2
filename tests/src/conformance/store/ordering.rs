//! Which message goes next: priorities, ages, and the turns of an ordering key.

use std::time::Duration;

use outbox_schema::desk::{Author, Pace};
use outbox_schema::store::{OpenedTerm, TermCounts};
use outbox_schema::{
    ByHand, ChannelTerms, ClaimId, ClaimRequest, Holder, KeyStretch, MessageId, OnDeadOrdered, OrderingKey, Selection,
    Shard, TermEnd, TermId, Turns, Verdict,
};

use super::{Outbox, dead, delivered, http, ids, mark, once, request};

/// With one ordering key of its own for each, and without.
pub async fn priorities_are_strict_with_and_without_ordering_keys(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut expected = Vec::new();
    // The lowest priority is the oldest, and keys and ages say the opposite of each other.
    for (priority, age) in [("0", 400), ("1", 300), ("2", 200), ("3", 100)] {
        let (older, younger) = (outbox.moment(-age * 1_000), outbox.moment(-(age - 50) * 1_000));
        let (last, first) = (format!("'z{priority}'"), format!("'a{priority}'"));
        let young = outbox.insert(&[("priority", priority), ("available_at", &younger)]).await.0;
        let young_keyed =
            outbox.insert(&[("priority", priority), ("available_at", &younger), ("ordering_key", &first)]).await.0;
        let old_keyed =
            outbox.insert(&[("priority", priority), ("available_at", &older), ("ordering_key", &last)]).await.0;
        expected.splice(0..0, [old_keyed, young, young_keyed]);
    }
    for limit in [1, 2, 5, 8, 100] {
        let ask = ClaimRequest { limit, ..request(&channels) };
        let claimed = ids(&outbox.store.claim(&term, &ask).await.unwrap().messages);
        let some = claimed.len();
        assert_eq!(some, expected.len().min(limit as usize));
        // Those inserted in the same moment may change places, so the ages are compared in pairs.
        let priority = |id: &i64| expected.iter().position(|known| known == id).unwrap() / 3;
        assert!(claimed.is_sorted_by_key(priority), "{claimed:?} of {expected:?}");
        assert_eq!(claimed[0], expected[0], "the oldest of the highest priority, though its key comes last");
    }
}

/// No key is served before another because of its name, and none of them before older messages without a key.
pub async fn the_longest_due_goes_first_whatever_its_ordering_key(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut expected = Vec::new();
    for (age, key) in [(10, "'a'"), (20, "NULL"), (30, "'m'"), (40, "NULL"), (50, "'z'")] {
        let due = outbox.moment(-age * 1_000);
        expected.insert(0, outbox.insert(&[("ordering_key", key), ("available_at", &due)]).await.0);
    }
    for limit in 1..=5 {
        let ask = ClaimRequest { limit, ..request(&channels) };
        let claimed = ids(&outbox.store.claim(&term, &ask).await.unwrap().messages);
        assert_eq!(claimed, expected[..limit as usize]);
    }
}

/// Within a key the order of ids counts, whatever the priorities and the times say.
pub async fn the_order_of_ids_wins_over_priority_and_age_within_a_key(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let past = outbox.moment(-60_000);
    let mut in_order = Vec::new();
    for (priority, due) in [("0", outbox.moment(-1_000)), ("3", past.clone()), ("1", past)] {
        let row = [("ordering_key", "'k'"), ("priority", priority), ("available_at", &*due)];
        in_order.push(outbox.insert(&row).await.0);
    }
    assert_eq!(deliver_all(outbox, &term, &channels).await, in_order);
}

/// However often it fails, those behind it wait, also for the time between two attempts.
pub async fn a_retry_keeps_those_behind_it_waiting(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let first = outbox.insert(&[("ordering_key", "'k'")]).await;
    let second = outbox.insert(&[("ordering_key", "'k'")]).await;
    let due = outbox.moment(-1);
    for _attempt in 1..=3 {
        let ask = request(&channels);
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        assert_eq!(ids(&claimed), [first.0]);
        let retry = Verdict::Retry { after: Duration::from_mins(1) };
        outbox.store.mark(&[mark(&term, ask.claim, &claimed[0], retry, "retry")], &[ask.claim]).await.unwrap();
        assert!(outbox.store.claim(&term, &request(&channels)).await.unwrap().messages.is_empty());
        outbox.execute(&format!("UPDATE outbox SET available_at = {due} WHERE id = {first}")).await;
    }
    assert_eq!(deliver_all(outbox, &term, &channels).await, [first.0, second.0]);
}

/// What an earlier poller had in flight is excluded until it is settled; nothing of its key overtakes it meanwhile.
pub async fn those_behind_a_message_in_doubt_wait_until_it_is_settled(outbox: &Outbox) {
    let channels = [http()];
    for orderly in [true, false] {
        outbox.execute("DELETE FROM outbox").await;
        let first = outbox.insert(&[("ordering_key", "'k'")]).await;
        let second = outbox.insert(&[("ordering_key", "'k'")]).await;
        let earlier = outbox.term(&channels).await;
        let claimed = outbox.store.claim(&earlier, &request(&channels)).await.unwrap().messages;
        assert_eq!(ids(&claimed), [first.0]);
        if orderly {
            outbox.store.end_term(&earlier, TermEnd::Interval, TermCounts::default()).await.unwrap();
        }
        let (term, opened) = begin(outbox).await;
        assert_eq!(opened.unsettled, [first]);
        let ask = ClaimRequest { excluded: &opened.unsettled, ..request(&channels) };
        assert!(outbox.store.claim(&term, &ask).await.unwrap().messages.is_empty());

        outbox.age_claims(Duration::from_hours(1)).await;
        let settled = outbox.store.settle(&term, &channels, &[]).await.unwrap();
        assert_eq!(settled.decided.len(), 1);
        assert_eq!(deliver_all(outbox, &term, &channels).await, [first.0, second.0]);
    }
}

/// It is the head of its key again, but one at a time means that the one on its way comes first.
pub async fn a_redriven_message_waits_for_the_one_of_its_key_that_is_in_flight(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let first = outbox.insert(&[("ordering_key", "'k'")]).await;
    let second = outbox.insert(&[("ordering_key", "'k'")]).await;
    dead(outbox, &term, &channels).await;
    let in_flight = request(&channels);
    let claimed = outbox.store.claim(&term, &in_flight).await.unwrap().messages;
    assert_eq!(ids(&claimed), [second.0]);

    let author = Author { who: "ada".to_owned(), why: String::new() };
    outbox.database().redrive(&Selection::Ids(vec![first]), Pace::default(), &author).await.unwrap();
    let excluded = [second];
    let ask = ClaimRequest { excluded: &excluded, ..request(&channels) };
    assert!(outbox.store.claim(&term, &ask).await.unwrap().messages.is_empty());
    let done = delivered(&term, in_flight.claim, &claimed[0]);
    outbox.store.mark(&[done], &[in_flight.claim]).await.unwrap();
    assert_eq!(deliver_all(outbox, &term, &channels).await, [first.0]);
}

/// Claims and delivers until nothing is due any more: the ids in that order.
pub(super) async fn deliver_all(outbox: &Outbox, term: &TermId, channels: &[ChannelTerms]) -> Vec<i64> {
    let mut sent = Vec::new();
    loop {
        let ask = request(channels);
        let claimed = outbox.store.claim(term, &ask).await.unwrap().messages;
        if claimed.is_empty() {
            return sent;
        }
        let marks: Vec<_> = claimed.iter().map(|message| delivered(term, ask.claim, message)).collect();
        assert_eq!(outbox.store.mark(&marks, &[ask.claim]).await.unwrap().fenced, Vec::<MessageId>::new());
        sent.extend(ids(&claimed));
    }
}

async fn begin(outbox: &Outbox) -> (TermId, OpenedTerm) {
    let holder = Holder::new("test", &uuid::Uuid::new_v4().to_string());
    let opened = outbox.store.begin_term(Shard(0), &holder).await.unwrap();
    (TermId { shard: Shard(0), epoch: opened.epoch, holder }, opened)
}

/// Keys as SQL has them, whatever their order is: one lower than the empty one to who fills up with spaces, one that begins with
/// a space, the longest, in both cases, beyond ASCII.
fn many_keys() -> Vec<String> {
    let plain = (0..10).map(|number| format!("order-{number}"));
    let odd = [" A", "\t", "A", "a", "ä", "\u{10ffff}", "%"].map(str::to_owned);
    let longest = ["z", "\u{10ffff}"].map(|character| character.repeat(255));
    plain.chain(odd).chain(longest).map(|key| format!("'{key}'")).collect()
}

/// Inserts a message for each of these ordering keys, due now or in an hour.
async fn insert_keys(outbox: &Outbox, channel: &str, keys: &[String], due: bool) {
    let at = outbox.moment(if due { -1 } else { 3_600_000 });
    for some in keys.chunks(500) {
        let rows: Vec<_> =
            some.iter().map(|key| format!("('{channel}', 'http://a.test/', '{{}}', {key}, {at})")).collect();
        let columns = "channel, target, payload, ordering_key, available_at";
        outbox.execute(&format!("INSERT INTO outbox ({columns}) VALUES {}", rows.join(","))).await;
    }
}

/// Makes all messages such that were tried before: what is new is looked at in each look.
const TRIED: &str = "UPDATE outbox SET first_attempt_at = created_at";

/// More keys than three looks show, of any form, as SQL has them.
fn very_many_keys() -> Vec<String> {
    let plain = (0..3 * KeyStretch::MOST).map(|number| format!("'{number}'"));
    plain.chain(many_keys()).collect()
}

/// What looks at these keys find, each behind the one before, and where they stopped.
async fn looks(outbox: &Outbox, term: &TermId, stretch: KeyStretch<'_>) -> (Vec<Vec<i64>>, Vec<OrderingKey>) {
    let channels = [http(), once()];
    let (mut found, mut left): (Vec<Vec<i64>>, Vec<OrderingKey>) = (Vec::new(), Vec::new());
    loop {
        let keys = KeyStretch { from: left.last().or(stretch.from), ..stretch };
        let ask = ClaimRequest { keys, limit: 10_000, ..request(&channels) };
        let claimed = outbox.store.claim(term, &ask).await.unwrap();
        found.push(ids(&claimed.messages));
        match claimed.keys_left {
            Some(next) => left.push(next),
            None => return (found, left),
        }
    }
}

/// However many keys wait, and also in two channels: a look shows a bounded number of them, and says where it stopped.
pub async fn each_ordering_key_is_in_one_stretch(outbox: &Outbox) {
    let term = outbox.term(&[http(), once()]).await;
    for channel in ["http", "once"] {
        for _ in 0..2 {
            insert_keys(outbox, channel, &very_many_keys(), true).await;
        }
    }
    let (found, left) = looks(outbox, &term, KeyStretch::default()).await;
    assert!(found.iter().rev().skip(1).all(|heads| heads.len() == KeyStretch::MOST), "{left:?}");
    let mut all = found.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 2 * very_many_keys().len());
    assert_eq!(found.concat().len(), all.len(), "{left:?}");

    // Wherever a round begins, it shows the others up to there.
    for first in &left {
        let mut found = looks(outbox, &term, KeyStretch { from: Some(first), until: None }).await.0.concat();
        found.extend(looks(outbox, &term, KeyStretch { from: None, until: Some(first) }).await.0.concat());
        found.sort_unstable();
        assert_eq!(found, all, "{first:?}");
    }
}

/// Those that are not due count too, and those that nothing can be claimed of: a look takes its time for each.
pub async fn a_look_is_bounded_whatever_becomes_of_the_keys(outbox: &Outbox) {
    let halting = [ChannelTerms { on_dead_ordered: OnDeadOrdered::Halt, ..http() }];
    let term = outbox.term(&halting).await;
    let keys: Vec<_> = (0..=KeyStretch::MOST).map(|number| format!("'{number}'")).collect();
    insert_keys(outbox, "http", &keys, true).await;
    outbox.execute("UPDATE outbox SET status = 'DEAD', dead_reason = 'permanent', revision = 1").await;
    insert_keys(outbox, "http", &keys, true).await;
    let closed: Vec<String> =
        outbox.strings(&["destination"], "outbox LIMIT 1").await.into_iter().flatten().flatten().collect();
    for ask in [
        request(&halting),
        ClaimRequest { turns: Some(Turns { from: 0, tenants: 8, served: &[], glance: true }), ..request(&halting) },
        ClaimRequest { closed: &closed, ..request(&[http()]) },
    ] {
        let claimed = outbox.store.claim(&term, &ask).await.unwrap();
        assert!(claimed.messages.is_empty());
        let left = claimed.keys_left.expect("there is one more");
        let behind = KeyStretch { from: Some(&left), until: None };
        let behind = outbox.store.claim(&term, &ClaimRequest { claim: ClaimId::mint(), keys: behind, ..ask }).await;
        assert_eq!(behind.unwrap().keys_left, None);
    }
}

/// Of a key that has been settled since, a stretch still begins where it was.
pub async fn a_stretch_begins_where_its_first_key_was(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    let keys: Vec<String> = (0..KeyStretch::MOST + 3).map(|number| format!("'order-{number}'")).collect();
    insert_keys(outbox, "http", &keys, true).await;
    outbox.execute(TRIED).await;
    let (found, left) = looks(outbox, &term, KeyStretch::default()).await;
    let [first] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [KeyStretch::MOST, 3]);
    let behind = async || looks(outbox, &term, KeyStretch { from: Some(first), until: None }).await.0.concat();
    let before = looks(outbox, &term, KeyStretch { from: None, until: Some(first) }).await.0.concat();
    assert_eq!((before.len(), behind().await.len()), (KeyStretch::MOST, 3));

    outbox.execute(&format!("DELETE FROM outbox WHERE ordering_key = '{}'", first.ordering_key)).await;
    assert_eq!(behind().await.len(), 2);
    let again = outbox.insert(&[("ordering_key", &format!("'{}'", first.ordering_key))]).await.0;
    let behind = behind().await;
    assert!(behind.contains(&again) && behind.len() == 3, "{behind:?}");
}

/// Whoever writes for a new key does not wait until all others had their looks. Of a key that has waited for long, its newest row says
/// nothing.
pub async fn a_look_that_leaves_keys_shows_those_of_the_newest_rows_too(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    insert_keys(outbox, "http", &very_many_keys(), false).await;
    outbox.execute(TRIED).await;
    let mut new = Vec::new();
    for key in ["'new'", "'newer'", "'newest'"] {
        new.push(outbox.insert(&[("ordering_key", key)]).await.0);
        outbox.insert(&[("ordering_key", key)]).await;
    }
    outbox.insert(&[("ordering_key", "'7'")]).await;
    let channels = [http()];
    let ask = ClaimRequest { limit: 10_000, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert!(claimed.keys_left.is_some());
    let mut found = ids(&claimed.messages);
    found.sort_unstable();
    assert_eq!(found, new);
}

/// They have no place among the keys.
pub async fn a_row_without_an_ordering_key_is_found_with_each_stretch(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    let plain = outbox.insert(&[]).await.0;
    insert_keys(outbox, "http", &very_many_keys(), false).await;
    let (found, left) = looks(outbox, &term, KeyStretch::default()).await;
    assert_eq!(found.len(), left.len() + 1);
    assert!(left.len() >= 3 && found.iter().all(|found| *found == [plain]), "{found:?}");
}
