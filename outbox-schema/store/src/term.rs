//! Who may poll a shard: terms, their epochs and their holders.

use std::fmt;
use std::sync::Arc;

/// A slice of the outbox with its own poller. Rows that name no shard are in shard 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize)]
#[serde(transparent)]
pub struct Shard(pub i16);

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What one process at a time may have: a shard to poll, or a job to run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Seat {
    /// The polling of a shard.
    Shard(Shard),
    /// The job of this name.
    Job(Arc<str>),
}

impl From<Shard> for Seat {
    fn from(shard: Shard) -> Self {
        Self::Shard(shard)
    }
}

/// The fencing token of a term: minted in the outbox database, strictly increasing per shard, never reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who leads a term: the id of a process and a nonce of the term, both random. It is never a host name: two containers
/// may share one, and a restarted process is another holder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Holder(String);

impl Holder {
    /// The holder of one campaign of the process `instance`.
    pub fn new(instance: &str, nonce: &str) -> Self {
        Self(format!("{instance}.{nonce}"))
    }

    /// The holder that is written so in the lease.
    pub fn of(text: String) -> Self {
        Self(text)
    }

    /// The text in the lease and in the tables.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One unbroken leadership of one shard, as the database knows it. Every claim proves epoch *and* holder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TermId {
    /// The shard that the term leads.
    pub shard: Shard,
    /// The fencing token.
    pub epoch: Epoch,
    /// The holder that leads the term.
    pub holder: Holder,
}

/// Why a term ended: the words of `outbox_term_log.ended_because`, of the log line and of `outbox_terms_total{end}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TermEnd {
    /// The time of the term, `lease.term`, was up.
    Interval,
    /// The lease store answered that another holder has the lease, or a later term found this one without an end.
    Lost,
    /// No renewal succeeded in time, so trust ran out.
    RenewalFailed,
    /// The dispatch loop stopped making progress, and so lost its renewals.
    Wedged,
    /// The process was asked to stop.
    Shutdown,
    /// A later epoch exists: the database refused a claim, or the witness in the lease store knows of it.
    Fenced,
    /// The outbox database failed over: another copy of it answers, or one that it left behind had been asked.
    DatabaseChanged,
}

impl TermEnd {
    /// Every way a term can end.
    pub const ALL: [Self; 7] = [
        Self::Interval,
        Self::Lost,
        Self::RenewalFailed,
        Self::Wedged,
        Self::Shutdown,
        Self::Fenced,
        Self::DatabaseChanged,
    ];

    /// The word used in tables, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Lost => "lost",
            Self::RenewalFailed => "renewal_failed",
            Self::Wedged => "wedged",
            Self::Shutdown => "shutdown",
            Self::Fenced => "fenced",
            Self::DatabaseChanged => "database_changed",
        }
    }

    /// Whether the term ended as it was meant to. Every other end is before its time.
    pub fn is_planned(self) -> bool {
        match self {
            Self::Interval | Self::Shutdown => true,
            Self::Lost | Self::RenewalFailed | Self::Wedged | Self::Fenced | Self::DatabaseChanged => false,
        }
    }
}
