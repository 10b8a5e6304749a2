//! Of how much an answer speaks that refuses a message for now: of its target, of its destination, or of its channel. No answer
//! says which.
//!
//! It is taken to speak of the target alone until [`TARGETS`] different targets were refused and nothing was accepted between. So
//! one webhook that is over its quota does not hold up all that share its host.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// How many different targets must be refused.
pub(super) const TARGETS: usize = 5;

/// How many messages a destination must have got before its only known target counts as all of it.
const LONE: u32 = 5;

/// The longest pause that one target can ask for while it is not known whether it is the only one.
const UNSURE_PAUSE: Duration = Duration::from_secs(2);

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
    refused: Refusals,
    /// The only target that messages went to, and how many did. None before the first, and where there are several.
    lone: Option<(u64, u32)>,
    are_several: bool,
}

impl Targets {
    /// Notes that a message goes to `target`.
    pub(super) fn meets(&mut self, target: &str) {
        if self.are_several {
            return;
        }
        let target = digest(target);
        let (only, so_far) = self.lone.unwrap_or((target, 0));
        self.are_several = only != target;
        self.lone = (!self.are_several).then(|| (only, so_far.saturating_add(1)));
    }

    /// Notes that `target` was refused.
    pub(super) fn refuses(&mut self, target: &str) -> Extent {
        match (self.refused.add(target), self.are_several) {
            (true, _) => Extent::All,
            (false, true) => Extent::Target,
            (false, false) => Extent::Lone,
        }
    }

    /// Notes that the destination accepted a message.
    pub(super) fn accepts(&mut self) {
        self.refused.end();
    }

    /// The longest pause of the destination that one of its targets can ask for. None where it can ask for none.
    pub(super) fn longest_pause(&self) -> Option<Duration> {
        match (self.refused.are_many(), self.lone) {
            (true, _) => Some(Duration::MAX),
            (false, Some((_, met))) if met >= LONE => Some(Duration::MAX),
            (false, Some(_)) => Some(UNSURE_PAUSE),
            (false, None) => None,
        }
    }
}

/// Of how much of a destination a refusal speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Of one target among several.
    Target,
    /// Of the only target that is known. It may be all of the destination.
    Lone,
    /// Of the whole destination.
    All,
}

/// Stands for a target, which may hold a secret and be long.
fn digest(target: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    hasher.finish()
}
