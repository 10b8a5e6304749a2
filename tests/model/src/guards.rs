//! What keeps the protocol safe, one value each, so that each can be taken away.

/// One precaution of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Epochs are minted in the outbox database. Without it: counted in the lease store, which may forget.
    EpochFromDatabase,
    /// A claim locks the term row shared, from the proof of its epoch to its commit. Without it: it only reads it.
    ClaimLocksTermRow,
    /// A mark applies only to the revision that was claimed. Without it: to the row as it is.
    MarkComparesRevision,
    /// A row is sent only once its claim has committed. Without it: as soon as it was selected.
    ClaimBeforeSend,
    /// The rows of a claim are settled only when nobody can be sending them any more. Without it: at once.
    SettlingTime,
    /// A row that was claimed is in flight here until its mark is answered. Without it: until its outcome is known.
    InFlightUntilMarked,
    /// A claim takes a row only at the revision that a look has seen. Without it: by its id alone.
    ClaimComparesRevision,
    /// A look that claims at once goes beside no claim. Without it: whenever there is room.
    UnseenBesideNone,
    /// A process makes its next claim once the one that it gave up is released. Without it: at once.
    ReleasedBeforeNext,
    /// Rows in flight from earlier terms of the process take up its slots. Without it: each term has its own.
    SlotsOfProcess,
    /// The gate is asked before each send. Without it: what was claimed is sent.
    GateBeforeSend,
    /// Rows of unsettled claims are not chosen. Without it: only those in flight here are not.
    UnsettledLeftOut,
    /// A mark of a row that was not sent raises its revision. Without it: it leaves the row as it was.
    UnsentRaisesRevision,
    /// A term says that its gate is closed only when it is. Without it: at any time.
    GateClosedBeforeTold,
    /// A mark applies only while its claim stands. Without it: whenever the revision is right.
    MarkNeedsClaim,
    /// Only a claim that was given up is released: nothing of it is sent. Without it: any claim.
    OnlyGivenUpReleased,
    /// A claim proves the holder besides the epoch. Without it: the epoch alone.
    HolderCompared,
    /// Epochs are minted above all that were seen. Without it: above those that the database knows.
    EpochFloor,
    /// Another lineage of the database ends the term. Without it: the term goes on there.
    LineageEndsTerm,
    /// Nobody claims in another lineage before all have written there what they know. Without it: at once.
    MendBeforeClaims,
    /// A claim is written again before its mark, and a mark before the next claim of its row. Without it: first all marks.
    MendInOrder,
    /// A process writes again until none of its rows waits for the mark of another. Without it: once.
    MendAfterOthers,
    /// A claim that is written again is superseded. Without it: by the next term, where the database knows its own.
    MendSupersedes,
}
