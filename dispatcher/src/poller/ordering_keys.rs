//! Which ordering keys the next claim looks at.
//!
//! A claim looks at each ordering key with waiting messages, due or not, and each takes some microseconds. With very
//! many keys a claim would look at little else. A destination that is down would slow all others down by the keys that
//! wait for it. So the keys are divided into stretches, and claims take turns over these.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::{KeyStretch, OrderingKey, Shard, Store, StoreError};
use tokio::time::Instant;

use crate::in_force::InForce;
use crate::term::Term;

/// Keys of a stretch. Where there are no more keys, each claim looks at all of them.
const STRETCH: u32 = 512;

/// The rest after a division of the keys: at least this time, and this many times as long as the division took.
const REST: Duration = Duration::from_secs(20);
const RESTS: u32 = 20;

/// The ordering keys with waiting messages, as they were at the last division. Stretches grow and shrink until the next
/// one, but each key is in exactly one of them.
#[derive(Debug)]
pub struct OrderingKeys {
    divider: Divider,
    /// How often a stretch was given.
    turns: usize,
}

/// Divides the ordering keys, beside the loop.
#[derive(Debug, Clone)]
struct Divider {
    store: Arc<dyn Store>,
    division: InForce<Division>,
}

/// A division of all ordering keys into stretches: the first key of each stretch, except the first one.
#[derive(Debug, Default)]
pub struct Division(Vec<OrderingKey>);

impl Division {
    /// The number of stretches: at least one.
    pub fn stretches(&self) -> usize {
        self.0.len() + 1
    }

    fn stretch(&self, number: usize) -> KeyStretch<'_> {
        KeyStretch { from: number.checked_sub(1).and_then(|before| self.0.get(before)), until: self.0.get(number) }
    }
}

impl OrderingKeys {
    /// The keys of the outbox behind `store`, not divided yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { divider: Divider { store, division: InForce::new(Division::default()) }, turns: 0 }
    }

    /// Divides them now and then, in a task of its own, while `term` lasts.
    pub fn begin(&self, term: &Arc<Term>) {
        let (divider, term) = (self.divider.clone(), term.clone());
        tokio::spawn(async move {
            term.first_claim().await;
            divider.keep_divided(&term).await;
        });
    }

    /// The present division.
    pub fn division(&self) -> Arc<Division> {
        self.divider.division.current()
    }

    /// The stretch whose turn it is.
    pub fn next<'a>(&mut self, division: &'a Division) -> KeyStretch<'a> {
        let stretch = division.stretch(self.turns % division.stretches());
        self.turns = self.turns.wrapping_add(1);
        stretch
    }
}

impl Divider {
    async fn keep_divided(&self, term: &Term) {
        while term.is_on() {
            let began = Instant::now();
            match self.divide(term.id.shard, term).await {
                Ok(division) => self.division.replace(division),
                Err(error) => tracing::warn!(%error, "ordering_keys.failed: they stay divided as they were"),
            }
            tokio::select! {
                () = tokio::time::sleep(REST.max(began.elapsed() * RESTS)) => {}
                () = term.ended() => {}
            }
        }
    }

    /// Steps from stretch to stretch. Each step is a short query, so a claim beside it does not wait.
    async fn divide(&self, shard: Shard, term: &Term) -> Result<Division, StoreError> {
        let mut division = Division::default();
        while let Some(first) = self.store.key_behind(shard, division.0.last(), STRETCH).await? {
            division.0.push(first);
            if !term.is_on() {
                break;
            }
        }
        Ok(division)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ordering_key: &str) -> OrderingKey {
        OrderingKey { channel: "http".to_owned(), ordering_key: ordering_key.to_owned() }
    }

    #[test]
    fn the_stretches_of_a_division_lie_side_by_side_and_leave_nothing_out() {
        let division = Division(["b", "m", "t"].map(key).to_vec());
        let stretches: Vec<_> = (0..division.stretches()).map(|number| division.stretch(number)).collect();
        assert_eq!(stretches.first().map(|first| first.from), Some(None));
        assert_eq!(stretches.last().map(|last| last.until), Some(None));
        assert!(stretches.windows(2).all(|pair| pair[0].until.is_some() && pair[0].until == pair[1].from));
    }
}
