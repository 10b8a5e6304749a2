//! A promise that can be broken.

/// What the protocol promises. Each is judged after every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Promise {
    /// Epochs strictly increase, and no two terms share one.
    Epochs,
    /// No row is in two claims at one revision.
    Disjoint,
    /// Every send has a committed claim of that row, at that revision, under the sender's epoch.
    Claimed,
    /// Sends <= attempts counted <= budget, where the one that is under way is not counted yet.
    Counted,
    /// An attempt is counted once: none is taken from a message that was not made.
    CountedOnce,
    /// Deliveries of a row beyond the first <= its attempts in doubt; with `in_doubt = "dead_letter"`: none.
    Explained,
    /// A process has at most `max_in_flight` rows claimed and not yet marked: that is what its death leaves in doubt.
    Bound,
    /// A replica that is not, or may no longer be, the poller begins no send.
    Trusted,
    /// Sends of one ordering key neither overlap nor overtake; nor do the sends of one message.
    Turns,
    /// A hand-over leaves nothing in doubt, where nothing fails and sends end in time.
    NoDoubt,
}

impl Promise {
    /// Every promise.
    pub const ALL: [Self; 10] = [
        Self::Epochs,
        Self::Disjoint,
        Self::Claimed,
        Self::Counted,
        Self::CountedOnce,
        Self::Explained,
        Self::Bound,
        Self::Trusted,
        Self::Turns,
        Self::NoDoubt,
    ];

    /// The promise in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Epochs => "epochs strictly increase",
            Self::Disjoint => "no row is in two claims at one revision",
            Self::Claimed => "every send has a committed claim of the row as it is",
            Self::Counted => "every send is counted, within the budget",
            Self::CountedOnce => "no attempt is counted twice",
            Self::Explained => "every duplicate is explained by a doubt",
            Self::Bound => "a process has at most max_in_flight in flight",
            Self::Trusted => "only a trusted term begins a send",
            Self::Turns => "sends of one key neither overlap nor overtake",
            Self::NoDoubt => "a hand-over leaves nothing in doubt",
        }
    }
}
