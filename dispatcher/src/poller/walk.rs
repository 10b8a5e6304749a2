//! Where the next claim's walk over the due rows begins.
//!
//! While there is more than one claim takes, the next walk begins behind the last claimed row. So a backlog is walked
//! once, and not once per claim, even where an open snapshot keeps the index entries of finished rows. Walks from the
//! beginning find rows that became due behind that start. Only such a walk proves that no row is due.

use std::time::Duration;

use outbox_schema::{Claimed, Epoch, WalkStart};
use tokio::time::Instant;

/// How long a row that became due behind the start waits at most, where walks from the beginning are cheap.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// After a walk from the beginning, this many times its duration passes before the next one.
const REST: u32 = 20;

/// What the poller remembers about its walks.
#[derive(Debug)]
pub struct Start {
    /// The epoch of the term of these walks.
    epoch: Option<Epoch>,
    behind: WalkStart,
    /// Whether the last claim took as many rows as it could.
    backlog: bool,
    /// Whether rows before the start may be claimed again.
    opened: bool,
    /// When the last walk from the beginning ended, and how long it took.
    looked: Instant,
    took: Duration,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            epoch: None,
            behind: WalkStart::default(),
            backlog: false,
            opened: false,
            looked: Instant::now(),
            took: Duration::ZERO,
        }
    }
}

/// Whether it is proven that nothing is due: a walk from the beginning must have found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// One of them began at the beginning.
    Given,
    /// The next walk begins at the beginning.
    ByNextWalk,
    /// Walks from the beginning rest for so long.
    After(Duration),
}

impl Start {
    /// The start for the next walk in the term of `epoch`. A new term walks from the beginning once.
    pub fn next(&self, epoch: Epoch) -> WalkStart {
        let since = self.looked.elapsed();
        let soon = self.opened || !self.backlog || since >= LOOK_AGAIN;
        let look = self.epoch != Some(epoch) || since >= self.rest() && soon;
        if look { WalkStart::default() } else { self.behind }
    }

    /// Learns from a claim for up to `limit` rows whose walk began at `from` and took so long.
    pub fn learn(&mut self, epoch: Epoch, from: WalkStart, claimed: &Claimed, limit: usize, took: Duration) {
        let earlier = if self.epoch == Some(epoch) { self.behind } else { WalkStart::default() };
        self.behind = claimed.reached.map_or(from, |reached| reached.or(earlier));
        self.backlog = claimed.messages.len() >= limit;
        if from.is_beginning() {
            (self.epoch, self.opened, self.looked, self.took) = (Some(epoch), false, Instant::now(), took);
        }
    }

    /// The start behind what was claimed last.
    pub fn behind(&self) -> WalkStart {
        self.behind
    }

    /// Learns from a claim without a walk, of what an earlier one had found.
    pub fn went_on(&mut self, reached: Option<WalkStart>) {
        self.behind = reached.map_or(self.behind, |reached| reached.or(self.behind));
    }

    /// Rows that were left out of the walks may be claimed again: the next one begins at the beginning.
    pub fn forget(&mut self) {
        self.epoch = None;
    }

    /// A destination takes messages again, whose rows walks passed over. The next walk begins at the beginning, but no sooner than
    /// those rest: where very many destinations fail, one opens all the time.
    pub fn opened(&mut self) {
        self.opened = true;
    }

    /// Whether walks that found nothing prove it, of which one, or none, began at the beginning.
    pub fn proof(&self, from_the_beginning: bool) -> Proof {
        if from_the_beginning {
            return Proof::Given;
        }
        let left = self.rest().saturating_sub(self.looked.elapsed());
        if left.is_zero() { Proof::ByNextWalk } else { Proof::After(left) }
    }

    fn rest(&self) -> Duration {
        self.took.saturating_mul(REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::message;

    const EPOCH: Epoch = Epoch(7);

    fn claimed(messages: usize, reached: Option<WalkStart>) -> Claimed {
        let messages = (0..messages).map(|_| message(1)).collect();
        Claimed { messages, reached, ..Claimed::default() }
    }

    fn behind() -> WalkStart {
        WalkStart::behind(0, 1_000_000, 5)
    }

    /// A start that knows a backlog, after a walk from the beginning that lasted `took`.
    fn amid_a_backlog(took: Duration) -> Start {
        let mut start = Start::default();
        let from = start.next(EPOCH);
        start.learn(EPOCH, from, &claimed(2, Some(behind())), 2, took);
        start
    }

    #[tokio::test(start_paused = true)]
    async fn amid_a_backlog_the_walk_goes_on_behind_what_was_claimed_and_looks_back_every_second() {
        let start = amid_a_backlog(Duration::from_millis(1));
        assert_eq!(start.next(EPOCH), behind());
        tokio::time::advance(LOOK_AGAIN).await;
        assert!(start.next(EPOCH).is_beginning());
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_back_that_takes_long_is_not_taken_often() {
        let start = amid_a_backlog(Duration::from_millis(200));
        tokio::time::advance(Duration::from_millis(3999)).await;
        assert_eq!(start.next(EPOCH), behind());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(start.next(EPOCH).is_beginning());
    }

    #[tokio::test(start_paused = true)]
    async fn where_a_destination_opens_a_walk_looks_back_as_soon_as_those_have_rested() {
        let mut start = amid_a_backlog(Duration::from_millis(10));
        start.opened();
        assert_eq!(start.next(EPOCH), behind());
        tokio::time::advance(Duration::from_millis(200)).await;
        assert!(start.next(EPOCH).is_beginning());
        start.learn(EPOCH, WalkStart::default(), &claimed(2, Some(behind())), 2, Duration::ZERO);
        assert_eq!(start.next(EPOCH), behind());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_backlog_every_walk_begins_at_the_beginning() {
        let mut start = amid_a_backlog(Duration::ZERO);
        start.learn(EPOCH, behind(), &claimed(1, Some(behind())), 2, Duration::ZERO);
        assert!(start.next(EPOCH).is_beginning());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_term_and_rows_that_were_let_go_begin_at_the_beginning() {
        let mut start = amid_a_backlog(Duration::from_mins(1));
        assert!(start.next(Epoch(8)).is_beginning());
        start.forget();
        assert!(start.next(EPOCH).is_beginning());
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_left_rows_does_not_move_the_start() {
        let mut start = amid_a_backlog(Duration::ZERO);
        start.learn(EPOCH, WalkStart::default(), &claimed(2, None), 2, Duration::ZERO);
        assert!(start.next(EPOCH).is_beginning());
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_walk_from_the_beginning_proves_that_nothing_is_due() {
        let mut start = amid_a_backlog(Duration::from_millis(10));
        start.learn(EPOCH, behind(), &claimed(0, None), 2, Duration::ZERO);
        assert_eq!(start.proof(false), Proof::After(Duration::from_millis(200)));
        tokio::time::advance(Duration::from_millis(150)).await;
        assert_eq!(start.proof(false), Proof::After(Duration::from_millis(50)));
        assert_eq!(start.proof(true), Proof::Given);
        tokio::time::advance(Duration::from_millis(50)).await;
        assert_eq!(start.proof(false), Proof::ByNextWalk);
        assert!(start.next(EPOCH).is_beginning());
    }
}
