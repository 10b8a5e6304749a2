//! A claim that gets no answer.

use std::collections::HashSet;

use outbox_schema::MessageId;
use outbox_store::{Lane, Revision, TermEnd};

use super::*;
use crate::fixtures::{SteppedClock, TermStore, term_of};
use crate::term::clock::Clock;

const TTL: Duration = Duration::from_secs(10);

fn header(id: i64) -> Header {
    let name: Arc<str> = "hook".into();
    Header {
        id: MessageId(id),
        revision: Revision(0),
        priority: 0,
        at: id,
        lane: Lane { channel: name.clone(), tenant: name.clone() },
        destination: name,
        key: None,
        bytes: 2,
    }
}

fn claim(store: &Arc<TermStore>, term: &Arc<Term>, size: &Arc<Measure>, rows: i64) -> ClaimTask {
    ClaimTask {
        store: store.clone(),
        term: term.clone(),
        size: size.clone(),
        lease_ttl: TTL,
        channels: Arc::default(),
        chosen: (0..rows).map(header).collect(),
    }
}

fn store() -> (Arc<TermStore>, Arc<Term>, Arc<Measure>) {
    let clock = SteppedClock::new();
    let term = term_of(&clock, clock.now().after(Duration::from_mins(1)));
    (TermStore::new(&clock, vec![Duration::ZERO]), term, Arc::new(Measure::new(TTL)))
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_too_long_is_released_and_the_next_asks_for_half_of_it() {
    let (store, term, size) = store();
    store.answer_none_of(1);
    let given_up = claim(&store, &term, &size, 8).run().await;
    assert!(given_up.made.is_none() && given_up.chosen.len() == 8);
    assert_eq!(store.released(), [store.claims()[0].0]);
    assert_eq!(size.of(8), 4);
    let made = claim(&store, &term, &size, 4).run().await.made;
    let Some((id, messages)) = made else { panic!("{made:?}") };
    assert_eq!((id, messages.len()), (store.claims()[1].0, 4));
    assert_eq!(store.claims().iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), 2, "each has an id of its own");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_given_up_with_its_term_is_released() {
    let (store, term, size) = store();
    store.answer_none_of(1);
    let ends = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        term.end(TermEnd::Wedged);
    };
    let (given_up, ()) = tokio::join!(claim(&store, &term, &size, 8).run(), ends);
    assert!(given_up.made.is_none());
    while store.released().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.released(), [store.claims()[0].0]);
}
