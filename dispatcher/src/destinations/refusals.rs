//! Of how much an answer speaks that refuses a message for now: of its target, of its destination, or of its channel. No answer
//! says which.
//!
//! It is taken to speak of the target alone until [`TARGETS`] different targets were refused and nothing was accepted between. So
//! one webhook that is over its quota does not hold up all that share its host. Where a destination has fewer targets, each of
//! them must be refused.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many different targets must be refused.
pub(super) const TARGETS: usize = 5;

/// How many attempts at a destination must have ended before the few targets that are known of it count as all of them.
const SURE: u32 = 16;

/// The targets that were refused since something was last accepted, [`TARGETS`] at most.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashSet<u64>);

impl Refusals {
    /// Notes that `target` was refused. Answers whether so many were that it is not about them.
    pub(super) fn add(&mut self, target: &str) -> bool {
        if !self.are_many() {
            self.0.insert(digest(target));
        }
        self.are_many()
    }

    /// Whether so many different targets were refused that it is not about them.
    pub(super) fn are_many(&self) -> bool {
        self.0.len() >= TARGETS
    }

    /// Notes that something was accepted.
    pub(super) fn end(&mut self) {
        self.0.clear();
    }
}

/// What a process knows of the targets of one destination.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Targets that messages went to, [`TARGETS`] at most.
    known: HashSet<u64>,
    refused: Refusals,
    /// How many attempts have ended.
    ended: u32,
    /// Whether more messages may wait than have been on their way.
    more: bool,
}

impl Targets {
    /// Notes that a message goes to `target`, the `first` on its way.
    pub(super) fn meets(&mut self, target: &str, first: bool) {
        self.more &= !first;
        if self.known.len() < TARGETS {
            self.known.insert(digest(target));
        }
    }

    /// Notes that the destination has all that it may get, so that more may wait.
    pub(super) fn fill(&mut self) {
        self.more = true;
    }

    /// Notes that an attempt ended.
    pub(super) fn end(&mut self) {
        self.ended = self.ended.saturating_add(1);
    }

    /// Notes that `target` was refused. `asks` says whether the answer asks for a pause.
    pub(super) fn refuses(&mut self, target: &str, asks: bool) -> Extent {
        if self.refused.add(target) {
            return Extent::All;
        }
        if self.are_all_refused() && (!asks || self.is_sure()) { Extent::Known } else { Extent::Target }
    }

    /// Notes that the destination accepted a message.
    pub(super) fn accepts(&mut self) {
        self.refused.end();
    }

    /// Whether a refusal that asks for a pause speaks for the whole destination.
    pub(super) fn speak_for_all(&self) -> bool {
        self.refused.are_many() || (self.are_all_refused() && self.is_sure())
    }

    fn are_all_refused(&self) -> bool {
        self.refused.0.len() >= self.known.len()
    }

    /// Whether the targets that are known are taken to be all: many messages went to no other, or no more wait than were on their way.
    fn is_sure(&self) -> bool {
        self.ended >= SURE || !self.more
    }
}

/// Of how much of a destination a refusal speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Of one target among several, or of which it is not known whether there are others.
    Target,
    /// Of each target that is known, and these are few.
    Known,
    /// Of the whole destination.
    All,
}

/// Stands for a target, which may hold a secret and be long.
fn digest(target: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    hasher.finish()
}
