//! The deferred rows of a destination: for how long they wait, and when they come back.

use std::time::Duration;

use outbox_store::PauseKind;
use outbox_store::destination::Aside;
use tokio::time::Instant;

use super::{Closed, Destination, Situation, Standing};
use crate::destinations::FAR;
use crate::destinations::rate::Bucket;
use crate::destinations::window::SLOW;

/// The time between rows that come due again after a pause, so that the probes find few of them due.
const AFTER_A_PAUSE: Duration = Duration::from_millis(1);

/// How long rows of a destination that is being probed are deferred.
const WHILE_PROBED: Duration = Duration::from_secs(1);

/// Rows are deferred only for a rate of one message in this time, or a slower one. Rows of a quicker destination are
/// soon gone.
const SLOW_RATE: Duration = Duration::from_millis(10);

impl Destination {
    /// How the destination's rows are to be deferred, if they are.
    pub(in crate::destinations) fn aside(&mut self, name: &str, at: &Situation) -> Option<Aside> {
        let Standing::Closed(closed) = self.standing(at) else { return None };
        let whole_channel = closed.holds_a_channel();
        let (from, step, reason) = match closed {
            Closed::Paused { kind: PauseKind::Manual, remaining } => (remaining, Duration::ZERO, None),
            Closed::Paused { remaining, .. } | Closed::Broken { remaining } => (remaining, AFTER_A_PAUSE, None),
            Closed::Probing => (WHILE_PROBED, AFTER_A_PAUSE, None),
            Closed::OverRate { step } if step < SLOW_RATE => return None,
            Closed::OverRate { step } => (step, step, self.bucket.as_ref().map(Bucket::describe)),
            // A destination that is merely silent may answer at any moment.
            Closed::Slow { pace, .. } if pace < SLOW => return None,
            Closed::Slow { pace, share } => {
                let reason =
                    format!("it takes {:.1} s to answer, and has {share} messages in flight", pace.as_secs_f64());
                (pace, pace / u32::try_from(share).unwrap_or(u32::MAX), Some(reason))
            }
        };
        let behind_the_last = self.aside_until.saturating_duration_since(at.now);
        let from = if step.is_zero() { from } else { from.max(behind_the_last) };
        Some(Aside { destination: name.to_owned(), whole_channel, from, step, most: FAR, reason })
    }

    pub(in crate::destinations) fn put_aside(&mut self, aside: &Aside, moved: u64, now: Instant) {
        if !aside.step.is_zero() && moved > 0 {
            let moved = u32::try_from(moved).unwrap_or(u32::MAX);
            let last = aside.from.saturating_add(aside.step.saturating_mul(moved));
            self.aside_until = self.aside_until.max(now + last.min(aside.most.max(aside.from)));
        }
    }

    /// Whether deferred rows have no reason to wait any longer, as far as the database knows too.
    pub(in crate::destinations) fn has_recovered(&mut self, at: &Situation) -> bool {
        if self.has_unwritten() {
            return false;
        }
        let closed = matches!(self.standing(at), Standing::Closed(_));
        let works = !closed && self.breaker.probes_left().is_none() && !self.window.is_slow(at.now);
        let wait_for_their_turn = self.bucket.as_ref().is_some_and(|bucket| bucket.step() >= SLOW_RATE);
        self.comes_back_now(at.now) || (works && self.aside_until > at.now && !wait_for_their_turn)
    }

    /// Whether deferred rows are to be brought back at once. Bringing rows back deletes the reason in the database. So
    /// rows stay while such a reason holds again.
    pub(in crate::destinations) fn comes_back_now(&self, now: Instant) -> bool {
        self.comes_back && !self.has_unwritten() && self.paused.on(now).is_none() && self.breaker.is_closed()
    }

    pub(in crate::destinations) fn brought_back(&mut self) {
        self.comes_back = false;
        self.aside_until = Instant::now();
    }

    /// Whether rows of the destination wait for their turn.
    pub(in crate::destinations) fn holds_back(&mut self, at: &Situation) -> bool {
        match self.standing(at) {
            Standing::Closed(Closed::Paused { .. } | Closed::Broken { .. }) => false,
            Standing::Closed(Closed::Probing | Closed::OverRate { .. } | Closed::Slow { .. }) | Standing::Full => true,
            Standing::Room(_) => self.aside_until > at.now || self.comes_back,
        }
    }
}
