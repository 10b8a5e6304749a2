//! Where a row is, and how many headers are here.

use super::rank::Rank;

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// In this flow.
    Flow(usize, Rank),
    /// Behind the gate of its key.
    Gate,
    InFlight,
}

/// How many headers are here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) here: usize,
    /// Those behind the gates of their keys.
    pub(super) behind_gates: usize,
    /// Those for destinations that have never answered, but for the next.
    pub(super) strange: usize,
    /// Those that are parked with destinations that take nothing for now.
    pub(super) closed: usize,
}
