//! A destination of messages that are here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

use super::rooms::Standing;

/// A destination of messages that are here.
#[derive(Debug, Default)]
pub(super) struct Destination {
    pub(super) name: Arc<str>,
    /// Whether it has never answered.
    pub(super) in_slow_start: bool,
    /// Its flows.
    pub(super) flows: BTreeSet<usize>,
    /// Its flows that wait for room, in the order in which they came.
    pub(super) parked: BTreeMap<u64, usize>,
    /// When it is asked again. There is such a time while flows are parked, and it may outlast them.
    pub(super) alarm: Option<Instant>,
    /// Whether something about it may have changed since the last take.
    pub(super) changed: bool,
    /// In which take it was last asked what room it has for each channel, and what it has been given since.
    asked: u64,
    answers: Vec<(usize, Standing)>,
    given: usize,
}

impl Destination {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self { name, ..Self::default() }
    }

    /// What it may get of a channel beside what the present take gave it. It is asked once in each take.
    pub(super) fn standing(&mut self, take: u64, channel: usize, ask: impl FnOnce(&str) -> Standing) -> Standing {
        if self.asked != take {
            (self.asked, self.given) = (take, 0);
            self.answers.clear();
        }
        let known = self.answers.iter().find(|(of, _)| *of == channel).map(|(_, standing)| *standing);
        let standing = known.unwrap_or_else(|| {
            let standing = ask(&self.name);
            self.answers.push((channel, standing));
            standing
        });
        match standing {
            Standing::Room(room) if room <= self.given => Standing::Full,
            Standing::Room(room) => Standing::Room(room - self.given),
            Standing::Full | Standing::Closed { .. } => standing,
        }
    }

    /// Notes that the present take gave it a message. Says whether it has room for others that are parked.
    pub(super) fn given(&mut self) -> bool {
        self.given += 1;
        let has_room = |standing: &Standing| matches!(standing, Standing::Room(room) if *room > self.given);
        !self.parked.is_empty() && self.answers.iter().any(|(_, standing)| has_room(standing))
    }
}
