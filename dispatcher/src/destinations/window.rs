//! How many messages one destination may have in flight, so that a slow one does not hold all slots.
//!
//! A destination that has never answered is in slow start: it gets [`SLOW_START`], and all destinations in slow start together an
//! eighth of the slots. Once it has answered it gets one more with each answer, as long as there are slots for it. One that the
//! settings name begins with [`FIRST`]. One that answers slowly may have a quarter of all slots, and all slow ones together a
//! half. Any other may have three quarters. Where only one destination is in use, it may have all slots, or half of them where it
//! is slow. A channel's own `max_in_flight` replaces these shares.
//!
//! Where slots are scarce, the schedule lets those with little in flight go first.

use std::time::Duration;

use tokio::time::Instant;

/// How many messages a destination may have in flight before it has answered.
pub(super) const SLOW_START: usize = 2;

/// How many messages a destination may have in flight at first where the settings name it, and no row.
pub(super) const FIRST: usize = 32;

/// A destination that takes longer than this to answer is slow.
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// A full destination that has not answered for this long lets others go first.
const SILENT: Duration = Duration::from_millis(250);

/// The slots of this process, and how they are shared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    /// `dispatch.max_in_flight`.
    pub(super) all: usize,
    /// Whether only one destination is in use.
    pub(super) alone: bool,
}

impl Slots {
    /// The most that a destination may have in flight.
    pub(super) fn share(self, own: Option<usize>, slow: bool) -> usize {
        let share = match (slow, self.alone) {
            (false, true) => self.all,
            (false, false) => self.all - self.all / 4,
            (true, true) => self.of_the_slow(),
            (true, false) => self.all / 4,
        };
        own.map_or(share, |own| own.min(self.all)).max(1)
    }

    /// The most that all slow destinations may have in flight together.
    pub(super) fn of_the_slow(self) -> usize {
        (self.all / 2).max(1)
    }
}

/// The window of one destination.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    pub(super) in_flight: usize,
    /// The bytes of those messages.
    pub(super) bytes: u64,
    /// Whether the destination has ever answered.
    pub(super) has_answered: bool,
    /// A moving average of the time that answers take.
    pace: Option<Duration>,
    /// When the destination last answered, or was first sent to after a rest.
    heard: Instant,
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        Self { size: SLOW_START, in_flight: 0, bytes: 0, has_answered: false, pace: None, heard: now }
    }

    /// The window of a destination that the settings name: it is not in slow start.
    pub(super) fn of_the_settings(&mut self) {
        self.has_answered = true;
        self.size = self.size.max(FIRST);
    }

    /// Notes that messages are on their way to the destination.
    pub(super) fn admitted(&mut self, messages: usize, bytes: u64, now: Instant) {
        if self.in_flight == 0 {
            self.heard = now;
        }
        self.in_flight += messages;
        self.bytes += bytes;
    }

    /// A new term begins. What an earlier one of this process left on its way says nothing of how the destination answers now.
    pub(super) fn forget_silence(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Notes that one of its messages, of so many bytes, is no longer in flight.
    pub(super) fn released(&mut self, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Learns from an answer after `took`, or from the end of the time for one.
    pub(super) fn answered(&mut self, took: Duration, most: usize, now: Instant) {
        /// The weight of the past: about the last eight answers count.
        const MEMORY: u32 = 7;
        self.heard = now;
        self.pace = Some(self.pace.map_or(took, |pace| (pace * MEMORY + took) / (MEMORY + 1)));
        if self.has_answered {
            self.size = (self.size + 1).min(most);
        }
    }

    /// Whether the destination answers slowly, or has not yet answered what it was sent long ago.
    pub(super) fn is_slow(&self, now: Instant) -> bool {
        self.pace(now) >= SLOW
    }

    /// The time until the destination counts as silent.
    pub(super) fn silent_in(&self, now: Instant) -> Duration {
        SILENT.saturating_sub(self.waiting(now))
    }

    /// How many messages the destination may have in flight, where `most` is its share.
    pub(super) fn size(&self, most: usize) -> usize {
        self.size.min(most)
    }

    /// How many more messages the destination may get, where `most` is its share.
    pub(super) fn room(&self, most: usize) -> usize {
        self.size(most).saturating_sub(self.in_flight)
    }

    /// How many more messages like those in flight have so many bytes.
    pub(super) fn messages_of(&self, bytes: u64) -> usize {
        let each = self.bytes / u64::try_from(self.in_flight.max(1)).unwrap_or(u64::MAX);
        usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX)
    }

    /// How long the destination takes to answer, as far as is known.
    pub(super) fn pace(&self, now: Instant) -> Duration {
        self.pace.unwrap_or_default().max(self.waiting(now))
    }

    /// How long the destination has answered none of its messages.
    fn waiting(&self, now: Instant) -> Duration {
        if self.in_flight > 0 { now - self.heard } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: Slots = Slots { all: 512, alone: false };
    const ALONE: Slots = Slots { alone: true, ..SLOTS };
    const QUICK: Duration = Duration::from_millis(2);

    #[test]
    fn a_quick_destination_soon_has_three_quarters_of_the_slots_and_no_more() {
        let now = Instant::now();
        let mut window = Window::new(now);
        assert_eq!(window.room(SLOTS.share(None, false)), SLOW_START);
        window.answered(QUICK, SLOTS.share(None, false), now);
        assert_eq!(window.room(SLOTS.share(None, false)), SLOW_START, "that was no answer");
        window.has_answered = true;
        window.answered(QUICK, SLOTS.share(None, false), now);
        assert_eq!(window.room(SLOTS.share(None, false)), SLOW_START + 1);
        window.of_the_settings();
        assert_eq!(window.room(SLOTS.share(None, false)), FIRST);
        for _ in 0..1_000 {
            window.answered(QUICK, SLOTS.share(None, false), now);
        }
        assert_eq!(window.room(SLOTS.share(None, false)), 384);
        window.admitted(384, 0, now);
        assert_eq!(window.room(SLOTS.share(None, false)), 0);
    }

    #[test]
    fn a_destination_that_becomes_slow_falls_back_to_a_quarter_and_recovers() {
        let now = Instant::now();
        let mut window = Window::new(now);
        window.has_answered = true;
        for _ in 0..1_000 {
            window.answered(QUICK, SLOTS.share(None, false), now);
        }
        window.answered(Duration::from_secs(10), SLOTS.share(None, false), now);
        assert!(window.is_slow(now));
        assert_eq!(window.room(SLOTS.share(None, window.is_slow(now))), 128);
        for _ in 0..30 {
            window.answered(QUICK, SLOTS.share(None, true), now);
        }
        assert!(!window.is_slow(now));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_does_not_answer_is_silent_and_then_slow() {
        let mut window = Window::new(Instant::now());
        window.admitted(1, 0, Instant::now());
        assert!(!window.silent_in(Instant::now()).is_zero());
        tokio::time::advance(SILENT).await;
        assert!(window.silent_in(Instant::now()).is_zero() && !window.is_slow(Instant::now()));
        tokio::time::advance(SLOW).await;
        assert!(window.is_slow(Instant::now()));
        window.released(0);
        assert!(!window.is_slow(Instant::now()), "nothing is waited for");
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_earlier_term_waits_for_makes_no_destination_slow_in_the_next() {
        let mut window = Window::new(Instant::now());
        window.admitted(1, 0, Instant::now());
        tokio::time::advance(SLOW * 2).await;
        window.forget_silence(Instant::now());
        window.admitted(1, 0, Instant::now());
        assert!(!window.is_slow(Instant::now()));
        tokio::time::advance(SLOW).await;
        assert!(window.is_slow(Instant::now()), "it is silent in this term too");
    }

    #[test]
    fn the_own_limit_of_a_channel_goes_before_the_shares_but_not_before_the_slots() {
        for slow in [false, true] {
            assert_eq!(SLOTS.share(Some(500), slow), 500);
            assert_eq!(SLOTS.share(Some(10_000), slow), 512);
        }
        let one = Slots { all: 1, alone: false };
        assert_eq!((one.share(None, true), one.share(None, false), one.of_the_slow()), (1, 1, 1));
    }

    #[test]
    fn the_only_one_has_all_slots_or_half_of_them_where_it_is_slow() {
        assert_eq!((ALONE.share(None, false), ALONE.share(None, true)), (512, 256));
    }
}
