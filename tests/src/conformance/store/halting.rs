//! What a dead letter means for those behind it in its ordering key.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::changes::Unfollowed;
use outbox_desk::{Author, ByHand, Cancelled, Edited, Pace, Revised, Selection};
use outbox_schema::MessageId;
use outbox_store::{ChannelTerms, DeadReason, InDoubtPolicy, OnDeadOrdered, TermId, Verdict};

use super::ordering::deliver_all;
use super::{Ask, Outbox, dead, http, ids, mark, once};

/// The channel `halting`.
fn halting() -> ChannelTerms {
    ChannelTerms { name: "halting".to_owned(), on_dead_ordered: OnDeadOrdered::Halt, ..http() }
}

fn ada() -> Author {
    Author { who: "ada".to_owned(), why: "a test".to_owned() }
}

/// So many messages of one ordering key.
async fn insert(outbox: &Outbox, channel: &str, key: &str, messages: usize) -> Vec<MessageId> {
    let (channel, key) = (format!("'{channel}'"), format!("'{key}'"));
    let mut inserted = Vec::new();
    for _ in 0..messages {
        inserted.push(outbox.insert(&[("channel", &channel), ("ordering_key", &key)]).await);
    }
    inserted
}

async fn claimable(outbox: &Outbox, term: &TermId, channels: &[ChannelTerms]) -> Vec<i64> {
    let mut claimed = ids(&outbox.claim_all(term, channels).await.1);
    claimed.sort_unstable();
    claimed
}

/// The default.
pub async fn the_next_of_a_key_goes_when_its_head_is_dead(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let of_key = insert(outbox, "http", "k", 2).await;
    dead(outbox, &term, &channels).await;
    assert_eq!(deliver_all(outbox, &term, &channels).await, [of_key[1].0]);
}

/// Whatever it died of; other keys, other channels and messages without a key go on.
pub async fn a_dead_letter_halts_its_ordering_key_where_the_channel_says_so(outbox: &Outbox) {
    let channels = [halting(), http()];
    let term = outbox.term(&channels).await;
    for reason in [DeadReason::Permanent, DeadReason::Exhausted, DeadReason::Expired, DeadReason::InDoubt] {
        insert(outbox, "halting", reason.as_str(), 2).await;
    }
    let (claim, heads) = outbox.claim_all(&term, &channels).await;
    assert_eq!(heads.len(), 4);
    let killed = |head: &outbox_store::Message| {
        let named = |reason: &DeadReason| Some(reason.as_str()) == head.ordering_key.as_deref();
        let reason = DeadReason::ALL.into_iter().find(named).unwrap();
        mark(&term, claim, head, Verdict::Dead { reason, attempted: true, invalid_target: false }, "dead")
    };
    let marks: Vec<_> = heads.iter().map(killed).collect();
    outbox.store.mark(&marks, &[claim]).await.unwrap();

    let mut others = insert(outbox, "halting", "other", 1).await;
    others.extend(insert(outbox, "http", "permanent", 1).await);
    others.push(outbox.insert(&[("channel", "'halting'")]).await);
    others.sort_unstable();
    assert_eq!(claimable(outbox, &term, &channels).await, others.iter().map(|id| id.0).collect::<Vec<_>>());

    // The channel's word counts now, not that of the time when it died.
    let continuing = [ChannelTerms { on_dead_ordered: OnDeadOrdered::Continue, ..halting() }, http()];
    assert_eq!(claimable(outbox, &term, &continuing).await.len(), others.len() + 4);
}

/// Settled by the next poller, where the channel is at most once.
pub async fn a_message_that_is_dead_because_it_was_in_doubt_halts_its_key(outbox: &Outbox) {
    let channels = [ChannelTerms { on_dead_ordered: OnDeadOrdered::Halt, ..once() }];
    assert_eq!(channels[0].in_doubt, InDoubtPolicy::DeadLetter);
    let earlier = outbox.term(&channels).await;
    insert(outbox, "once", "k", 2).await;
    assert_eq!(claimable(outbox, &earlier, &channels).await.len(), 1);
    let term = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    assert!(!outbox.store.settle(&term, &channels, &[]).await.unwrap().decided[0].resend);
    assert!(claimable(outbox, &term, &channels).await.is_empty());
}

/// A person decided that one.
pub async fn a_cancelled_message_halts_nothing(outbox: &Outbox) {
    let channels = [halting()];
    let term = outbox.term(&channels).await;
    let of_key = insert(outbox, "halting", "k", 2).await;
    let cancelled = outbox.database().cancel(of_key[0], &ada()).await.unwrap();
    assert_eq!(cancelled, Cancelled::Done { id: of_key[0] });
    assert_eq!(claimable(outbox, &term, &channels).await, [of_key[1].0]);
}

/// It goes first then, and the others after it in order; edited or as it is.
pub async fn a_redrive_sets_the_key_going_again_from_the_dead_letter_on(outbox: &Outbox) {
    let channels = [halting()];
    let term = outbox.term(&channels).await;
    for edited in [false, true] {
        let of_key = insert(outbox, "halting", "k", 3).await;
        dead(outbox, &term, &channels).await;
        if edited {
            let revised = Revised::new("halting", "/mended", "{}", BTreeMap::new()).unwrap();
            let answer = outbox.database().edit(of_key[0], 1, &revised, &ada()).await.unwrap();
            assert!(matches!(answer, Edited::Done { .. }), "{answer:?}");
            assert!(claimable(outbox, &term, &channels).await.is_empty(), "an edit alone sets nothing going");
        }
        outbox.database().redrive(&Selection::Ids(vec![of_key[0]]), Pace::default(), &ada()).await.unwrap();
        assert_eq!(deliver_all(outbox, &term, &channels).await, of_key.iter().map(|id| id.0).collect::<Vec<_>>());
    }
}

/// It is gone, so nothing is left to wait for.
pub async fn a_purge_of_the_dead_letter_sets_the_rest_of_its_key_going(outbox: &Outbox) {
    let channels = [halting()];
    let term = outbox.term(&channels).await;
    let of_key = insert(outbox, "halting", "k", 2).await;
    dead(outbox, &term, &channels).await;
    assert!(claimable(outbox, &term, &channels).await.is_empty());
    outbox.database().purge(&Selection::Ids(vec![of_key[0]]), &ada()).await.unwrap();
    assert_eq!(deliver_all(outbox, &term, &channels).await, [of_key[1].0]);
}

/// Those before it in its key were never behind it: as after a redrive of the first of several.
pub async fn a_dead_letter_halts_only_those_behind_it(outbox: &Outbox) {
    let channels = [halting()];
    let term = outbox.term(&channels).await;
    let of_key = insert(outbox, "halting", "k", 4).await;
    let [first, second, third, fourth] = of_key[..] else { unreachable!() };
    outbox
        .execute(&format!(
            "UPDATE outbox SET status = 'DEAD', dead_reason = 'permanent', revision = revision + 1 WHERE id IN ({second}, {third})"
        ))
        .await;
    assert_eq!(deliver_all(outbox, &term, &channels).await, [first.0]);
    outbox.database().redrive(&Selection::Ids(vec![second]), Pace::default(), &ada()).await.unwrap();
    assert_eq!(deliver_all(outbox, &term, &channels).await, [second.0]);
    outbox.database().redrive(&Selection::Ids(vec![third]), Pace::default(), &ada()).await.unwrap();
    assert_eq!(deliver_all(outbox, &term, &channels).await, [third.0, fourth.0]);
}

/// A claim of one finds the one key that is free behind many that are halted.
pub async fn halted_keys_do_not_stand_in_the_way_of_others(outbox: &Outbox) {
    let channels = [halting()];
    let term = outbox.term(&channels).await;
    for key in 0..20 {
        insert(outbox, "halting", &format!("a{key}"), 2).await;
    }
    dead(outbox, &term, &channels).await;
    let free = insert(outbox, "halting", "z", 1).await;
    let ask = Ask { limit: 1, ..Ask::of(&channels) };
    assert_eq!(ids(&outbox.claim(&term, &ask).await), [free[0].0]);
}
