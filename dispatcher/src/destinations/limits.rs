//! The limits of a channel for its destinations.

use super::window::{self, Slots};
use crate::channels::{Limits, RateLimit};

impl Limits {
    /// How many messages a destination that a row names gets before anything is known of it.
    pub(super) fn first_room(&self, slots: usize) -> usize {
        self.room_of(window::SLOW_START, slots)
    }

    /// The same of the destination that the settings of the channel name.
    pub(super) fn own_room(&self, slots: usize) -> usize {
        self.room_of(window::FIRST, slots)
    }

    fn room_of(&self, first: usize, slots: usize) -> usize {
        let burst = self.rate.map_or(usize::MAX, |rate| rate.burst());
        first.min(Slots { all: slots, alone: false }.share(self.max_in_flight, false)).min(burst)
    }

    /// The most messages that a channel sends at once to a destination, however many more other channels may send there.
    pub(super) fn most(&self) -> usize {
        let burst = self.rate.map_or(usize::MAX, |rate| rate.burst_at_most());
        self.max_in_flight.unwrap_or(usize::MAX).min(burst)
    }

    /// Takes the stricter of each pair of limits.
    pub(super) fn tighten(&mut self, other: &Self) {
        self.max_in_flight = match (self.max_in_flight, other.max_in_flight) {
            (Some(one), Some(another)) => Some(one.min(another)),
            (one, another) => one.or(another),
        };
        let slower =
            |one: RateLimit, another: RateLimit| if one.per_second <= another.per_second { one } else { another };
        self.rate = match (self.rate, other.rate) {
            (Some(one), Some(another)) => Some(slower(one, another)),
            (one, another) => one.or(another),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_takes_its_own_limit_at_most_and_no_more_than_a_second_of_its_rate() {
        let most = |max_in_flight, per_second: Option<f64>| {
            let rate = per_second.map(|per_second| RateLimit { per_second, rise: None });
            Limits { max_in_flight, rate }.most()
        };
        assert_eq!(most(None, None), usize::MAX);
        assert_eq!(most(Some(2), None), 2);
        assert_eq!(most(None, Some(0.1)), 1);
        assert_eq!(most(Some(1_000), Some(50.0)), 50);
    }
}
