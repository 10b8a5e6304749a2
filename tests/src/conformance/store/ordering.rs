//! Ordering keys: which of their messages goes next, and the ring of all of them.

use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::store::due::RingPlace;
use outbox_store::store::{OpenedTerm, TermCounts};
use outbox_store::{ChannelTerms, Epoch, Holder, Shard, TermEnd, TermId, Verdict};

use super::due::{SHARD, shown};
use super::{Ask, Outbox, delivered, http, ids, mark};

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
        let (claim, claimed) = outbox.claim_all(&term, &channels).await;
        assert_eq!(ids(&claimed), [first.0]);
        let retry = Verdict::Retry { after: Duration::from_mins(1) };
        outbox.store.mark(&[mark(&term, claim, &claimed[0], retry, "retry")], &[claim]).await.unwrap();
        assert!(outbox.claim_all(&term, &channels).await.1.is_empty());
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
        let (_, claimed) = outbox.claim_all(&earlier, &channels).await;
        assert_eq!(ids(&claimed), [first.0]);
        if orderly {
            outbox.store.end_term(&earlier, TermEnd::Interval, TermCounts::default()).await.unwrap();
        }
        let (term, opened) = begin(outbox).await;
        assert_eq!(opened.unsettled, [first]);
        let ask = Ask { excluded: &opened.unsettled, ..Ask::of(&channels) };
        assert!(outbox.claim(&term, &ask).await.is_empty());

        outbox.age_claims(Duration::from_hours(1)).await;
        let settled = outbox.store.settle(&term, &channels, &[]).await.unwrap();
        assert_eq!(settled.decided.len(), 1);
        assert_eq!(deliver_all(outbox, &term, &channels).await, [first.0, second.0]);
    }
}

/// Claims and delivers until nothing is due any more: the ids in that order.
pub(super) async fn deliver_all(outbox: &Outbox, term: &TermId, channels: &[ChannelTerms]) -> Vec<i64> {
    let mut sent = Vec::new();
    loop {
        let (claim, claimed) = outbox.claim_all(term, channels).await;
        if claimed.is_empty() {
            return sent;
        }
        let marks: Vec<_> = claimed.iter().map(|message| delivered(term, claim, message)).collect();
        assert_eq!(outbox.store.mark(&marks, &[claim]).await.unwrap().fenced, Vec::<MessageId>::new());
        sent.extend(ids(&claimed));
    }
}

async fn begin(outbox: &Outbox) -> (TermId, OpenedTerm) {
    let holder = Holder::new("test", &uuid::Uuid::new_v4().to_string());
    let opened = outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
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

/// Inserts a message for each of these ordering keys. Returns its rows.
async fn insert_keys(outbox: &Outbox, channel: &str, keys: &[String]) -> Vec<i64> {
    let channel = format!("'{channel}'");
    let mut inserted = Vec::new();
    for key in keys {
        inserted.push(outbox.insert(&[("channel", &channel), ("ordering_key", key)]).await.0);
    }
    inserted
}

/// Whatever their names are, and also in two channels.
pub async fn each_ordering_key_is_met_once(outbox: &Outbox) {
    let keys = many_keys();
    let mut heads = insert_keys(outbox, "http", &keys).await;
    heads.extend(insert_keys(outbox, "once", &keys).await);
    for channel in ["http", "once"] {
        insert_keys(outbox, channel, &keys).await;
    }
    for keys in [1, 3, 100] {
        let (mut met, mut from) = (Vec::new(), None);
        loop {
            let step = outbox.due().next_keys(SHARD, from.as_ref(), keys, 1, &[]).await.unwrap();
            met.extend(shown(&step.headers));
            from = step.next;
            if from.is_none() {
                break;
            }
        }
        met.sort_unstable();
        assert_eq!(met, heads, "{keys} keys a step");
    }
}

/// Those that are halted count too: a step takes its time for each.
pub async fn a_step_along_halted_keys_is_bounded(outbox: &Outbox) {
    let keys: Vec<_> = (0..12).map(|number| format!("'{number}'")).collect();
    insert_keys(outbox, "http", &keys).await;
    outbox.execute("UPDATE outbox SET status = 'DEAD', dead_reason = 'permanent', revision = 1").await;
    insert_keys(outbox, "http", &keys).await;
    let (mut from, mut steps) = (None, 0);
    loop {
        let step = outbox.due().next_keys(SHARD, from.as_ref(), 5, 1, &["http".to_owned()]).await.unwrap();
        assert!(step.headers.is_empty(), "{step:?}");
        (from, steps) = (step.next, steps + 1);
        if from.is_none() {
            break;
        }
    }
    assert_eq!(steps, 3);
}

/// A step goes on where the last one ended, though that key is gone by then.
pub async fn a_step_goes_on_where_a_key_was(outbox: &Outbox) {
    let keys: Vec<_> = (0..9).map(|number| format!("'order-{number}'")).collect();
    let heads = insert_keys(outbox, "http", &keys).await;
    let step = async |from: Option<&RingPlace>, keys| outbox.due().next_keys(SHARD, from, keys, 1, &[]).await.unwrap();
    let first = step(None, 4).await;
    let next = step(first.next.as_ref(), 1).await;
    let gone = [shown(&first.headers)[3], shown(&next.headers)[0]];
    outbox.execute(&format!("DELETE FROM outbox WHERE id IN ({}, {})", gone[0], gone[1])).await;
    let mut met =
        [shown(&first.headers), gone[1..].to_vec(), shown(&step(first.next.as_ref(), 100).await.headers)].concat();
    met.sort_unstable();
    assert_eq!(met, heads);
}
