//! For each guard a shortest way to what breaks without it. The tests search the model for its length, follow it with
//! and without the guard, and replay it on real databases, but for those of [`ROLLBACK`].

use super::guards::Guard;
use super::state::MESSAGES;
use super::steps::Step::{
    self, Accept, BeginTerm, Claim, ClaimUnanswered, Deliver, Edit, FailOver, Forget, Gate, HandOver, Lag, Look, Mark,
    MarkUnanswered, Mend, Refuse, Release, Select, SelectUnseen, Settle, Unseen,
};
use super::{Faults, Policy, Protocol};
use crate::promise::Promise;

/// Three terms, two rows at a time; only the lease fails.
pub const CALM: Protocol = Protocol {
    without: &[],
    terms: 3,
    max_in_flight: 2,
    in_doubt: Policy::Resend,
    messages: MESSAGES,
    ordered: false,
    faults: Faults::None,
    fails_over: false,
};

/// Three terms, two rows of one ordering key; processes die, and answers are lost.
pub const ORDERED: Protocol = Protocol { ordered: true, faults: Faults::Crashes, ..CALM };

/// Two terms, two rows at a time; processes also stand still between gate and write.
pub const TWO_AT_A_TIME: Protocol = Protocol { terms: 2, faults: Faults::Freezes, ..CALM };

/// Three terms, one row at a time, and none of them twice.
pub const AT_MOST_ONCE: Protocol =
    Protocol { terms: 3, max_in_flight: 1, in_doubt: Policy::DeadLetter, ..TWO_AT_A_TIME };

/// Three terms, one row; the database fails over to a standby that lags.
pub const ROLLBACK: Protocol = Protocol { messages: 1, fails_over: true, ..CALM };

/// The same, and answers are lost.
pub const LOSSY_ROLLBACK: Protocol = Protocol { faults: Faults::Crashes, ..ROLLBACK };

/// What happens without a guard.
#[derive(Debug, Clone, Copy)]
pub struct Trace {
    /// The circumstances.
    pub protocol: Protocol,
    /// The guard that is missing.
    pub without: &'static [Guard],
    /// What breaks.
    pub breaks: Promise,
    /// How.
    pub steps: &'static [Step],
}

/// Two terms share an epoch.
pub const EPOCH_FROM_DATABASE: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::EpochFromDatabase],
    breaks: Promise::Epochs,
    steps: &[BeginTerm(0), Forget, BeginTerm(1)],
};

/// A claim commits after the next term has looked for what earlier terms left, and both send its row.
pub const CLAIM_LOCKS_TERM_ROW: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::ClaimLocksTermRow],
    breaks: Promise::Turns,
    steps: &[
        BeginTerm(0),
        Look(0),
        Select(0),
        BeginTerm(1),
        Claim(0),
        Look(1),
        Select(1),
        Claim(1),
        Gate(0, 0),
        Gate(1, 0),
    ],
};

/// The answer to a mark is lost; repeated, it takes a second attempt from a message that was sent once.
pub const MARK_COMPARES_REVISION: Trace = Trace {
    protocol: TWO_AT_A_TIME,
    without: &[Guard::MarkComparesRevision],
    breaks: Promise::CountedOnce,
    steps: &[
        BeginTerm(0),
        Look(0),
        Select(0),
        Claim(0),
        Gate(0, 0),
        Deliver(0, 0),
        Refuse(0, 0),
        MarkUnanswered(0, 0),
        Mark(0, 0),
    ],
};

/// A send of which the database knows nothing.
pub const CLAIM_BEFORE_SEND: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::ClaimBeforeSend],
    breaks: Promise::Claimed,
    steps: &[BeginTerm(0), Look(0), Select(0), Claim(0), Gate(0, 0)],
};

/// What a poller has on the wire is sent again by the next.
pub const SETTLING_TIME: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::SettlingTime],
    breaks: Promise::Turns,
    steps: &[
        BeginTerm(0),
        Look(0),
        Select(0),
        Claim(0),
        Gate(0, 0),
        BeginTerm(1),
        Settle(1, 0),
        Look(1),
        Select(1),
        Claim(1),
        Gate(1, 0),
    ],
};

/// A row that was delivered, and whose mark is not written, is claimed a second time and sent again.
pub const IN_FLIGHT_UNTIL_MARKED: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::InFlightUntilMarked],
    breaks: Promise::Counted,
    steps: &[
        BeginTerm(0),
        Look(0),
        Select(0),
        Claim(0),
        Gate(0, 0),
        Accept(0, 0),
        Look(0),
        Select(0),
        Claim(0),
        Gate(0, 0),
    ],
};

/// What a look has shown was edited meanwhile, and is sent as it was.
pub const CLAIM_COMPARES_REVISION: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::ClaimComparesRevision],
    breaks: Promise::Claimed,
    steps: &[BeginTerm(0), Look(0), Edit(0), Select(0), Claim(0), Gate(0, 0)],
};

/// A look that claims at once does not know of a claim that began after it, and both send a row.
pub const UNSEEN_BESIDE_NONE: Trace = Trace {
    protocol: CALM,
    without: &[Guard::UnseenBesideNone],
    breaks: Promise::Counted,
    steps: &[BeginTerm(0), Unseen(0), Look(0), Select(0), Claim(0), Gate(0, 0), SelectUnseen(0), Claim(0), Gate(0, 0)],
};

/// A claim that was given up still names the rows of the next.
pub const RELEASED_BEFORE_NEXT: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::ReleasedBeforeNext],
    breaks: Promise::Disjoint,
    steps: &[BeginTerm(0), Look(0), Select(0), ClaimUnanswered(0), Look(0), Select(0), Claim(0)],
};

/// A process that is elected again has one term's worth of rows in flight for each.
pub const SLOTS_OF_PROCESS: Trace = Trace {
    protocol: AT_MOST_ONCE,
    without: &[Guard::SlotsOfProcess],
    breaks: Promise::Bound,
    steps: &[BeginTerm(0), Look(0), Select(0), Claim(0), HandOver(0), BeginTerm(0), Look(0), Select(0), Claim(0)],
};

/// A row that was claimed in time is sent out of time.
pub const GATE_BEFORE_SEND: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::GateBeforeSend],
    breaks: Promise::Trusted,
    steps: &[BeginTerm(0), Look(0), Select(0), Claim(0), HandOver(0), Gate(0, 0)],
};

/// What a poller is about to send is claimed and sent by the next.
pub const UNSETTLED_LEFT_OUT: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::UnsettledLeftOut],
    breaks: Promise::Turns,
    steps: &[
        BeginTerm(0),
        Look(0),
        Select(0),
        Claim(0),
        BeginTerm(1),
        Look(1),
        Select(1),
        Claim(1),
        Gate(0, 0),
        Gate(1, 0),
    ],
};

/// A claim is settled without its ttl while its holder still sends.
pub const GATE_CLOSED_BEFORE_TOLD: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::GateClosedBeforeTold],
    breaks: Promise::Claimed,
    steps: &[BeginTerm(0), Look(0), Select(0), Claim(0), HandOver(0), BeginTerm(1), Settle(1, 0), Gate(0, 0)],
};

/// A claim is released whose rows are about to be sent.
pub const ONLY_GIVEN_UP_RELEASED: Trace = Trace {
    protocol: ORDERED,
    without: &[Guard::OnlyGivenUpReleased],
    breaks: Promise::Claimed,
    steps: &[BeginTerm(0), Look(0), Select(0), Claim(0), Release(0), Gate(0, 0)],
};

/// The database has forgotten the last term, and mints its epoch again.
pub const EPOCH_FLOOR: Trace = Trace {
    protocol: ROLLBACK,
    without: &[Guard::EpochFloor],
    breaks: Promise::Epochs,
    steps: &[Lag, BeginTerm(0), HandOver(0), FailOver, BeginTerm(0)],
};

/// A claim that was written again says that its gate is closed, and is settled while its holder still sends.
pub const LINEAGE_ENDS_TERM: Trace = Trace {
    protocol: LOSSY_ROLLBACK,
    without: &[Guard::LineageEndsTerm],
    breaks: Promise::Claimed,
    steps: &[Lag, BeginTerm(0), Claim(0), FailOver, Mend(0), BeginTerm(1), Settle(1, 0), Gate(0, 0)],
};

/// An earlier term is the newest again, and sends what the one that is forgotten has on the wire.
pub const MEND_BEFORE_CLAIMS: Trace = Trace {
    protocol: ROLLBACK,
    without: &[Guard::MendBeforeClaims],
    breaks: Promise::Turns,
    steps: &[BeginTerm(0), Lag, BeginTerm(1), Claim(1), Gate(1, 0), FailOver, Claim(0), Gate(0, 0)],
};

/// A mark that is written again before its claim is refused, and the row is in doubt.
pub const MEND_IN_ORDER: Trace = Trace {
    protocol: ROLLBACK,
    without: &[Guard::MendInOrder],
    breaks: Promise::NoDoubt,
    steps: &[
        Lag,
        BeginTerm(0),
        Claim(0),
        HandOver(0),
        Gate(0, 0),
        Mark(0, 0),
        FailOver,
        Mend(0),
        BeginTerm(0),
        Settle(0, 0),
    ],
};

/// The claim of what is on the wire waits for a mark that another process has yet to write again, and is never made.
pub const MEND_AFTER_OTHERS: Trace = Trace {
    protocol: ROLLBACK,
    without: &[Guard::MendAfterOthers],
    breaks: Promise::Counted,
    steps: &[
        BeginTerm(0),
        Claim(0),
        HandOver(0),
        Lag,
        BeginTerm(1),
        Mark(0, 0),
        Claim(1),
        Gate(1, 0),
        FailOver,
        Mend(1),
        Mend(0),
    ],
};

/// No term supersedes the claims of one that the database has forgotten, and what is on the wire is sent again.
pub const MEND_SUPERSEDES: Trace = Trace {
    protocol: ROLLBACK,
    without: &[Guard::MendSupersedes],
    breaks: Promise::Turns,
    steps: &[Lag, BeginTerm(0), Claim(0), Gate(0, 0), FailOver, Mend(0), BeginTerm(1), Claim(1), Gate(1, 0)],
};
