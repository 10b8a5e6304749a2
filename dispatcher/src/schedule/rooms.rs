//! What the schedule may hold, and what it asks about destinations.

use tokio::time::Instant;

/// How much there may be of what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Messages in flight.
    pub slots: usize,
    /// The bytes of these messages.
    pub bytes: u64,
    /// Headers that wait here.
    pub headers: usize,
}

/// What a destination may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// So many more messages.
    Room(usize),
    /// Nothing until it answers.
    Full,
    /// Nothing for now.
    Closed {
        /// When it takes messages again by itself.
        until: Option<Instant>,
    },
}

/// What the schedule asks about destinations and channels.
pub trait Rooms {
    /// What the destination may get of this channel, beside what was admitted and has not been answered.
    fn standing(&mut self, channel: &str, destination: &str, now: Instant) -> Standing;

    /// Whether the destination has never answered.
    fn in_slow_start(&mut self, destination: &str) -> bool;

    /// The most messages that destinations in slow start have in flight, all together, while others want slots.
    fn budget_of_slow_start(&mut self) -> usize;

    /// How many messages may be claimed unseen, whichever their destination is: they may come on top of its room. 0 where one
    /// takes nothing for now, or is kept to a number or a rate that the settings say.
    fn room_for_anyone(&mut self, now: Instant) -> usize;

    /// The largest message that may be claimed unseen, in bytes.
    fn largest(&self) -> u64;

    /// `max_message_bytes` of a channel: a larger message is claimed without being read. None: nobody has configured the channel.
    fn most_bytes(&self, channel: &str) -> Option<u64>;

    /// Whether the tenants of a channel take turns. It is asked when the channel is met first.
    fn fair(&self, channel: &str) -> bool;
}
