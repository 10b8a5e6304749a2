//! Label sets that are built once: tens of thousands of attempts come a second.

use std::collections::HashMap;

use opentelemetry::KeyValue;
use parking_lot::{RwLock, RwLockReadGuard};

/// All values of [`outbox_store::Outcome::as_str`].
const OUTCOMES: [&str; 7] = ["delivered", "retry", "dead", "dead_target", "deferred", "in_doubt", "unsent"];

/// The label sets of the configured channels.
#[derive(Debug)]
pub(super) struct Channels(RwLock<HashMap<String, Labels>>);

#[derive(Debug)]
struct Labels {
    channel: [KeyValue; 1],
    outcomes: [(&'static str, [KeyValue; 2]); OUTCOMES.len()],
}

impl Channels {
    pub(super) fn new(names: &[String]) -> Self {
        Self(RwLock::new(all_labels(names)))
    }

    /// Replaces the channels.
    pub(super) fn replace(&self, names: &[String]) {
        *self.0.write() = all_labels(names);
    }

    /// Calls `measure` with the labels of `channel`.
    pub(super) fn with(&self, channel: &str, measure: impl FnOnce(&[KeyValue])) {
        match self.labels().get(channel) {
            Some(labels) => measure(&labels.channel),
            None => measure(&channel_labels(channel)),
        }
    }

    /// Calls `measure` with the labels of `channel` and `outcome`.
    pub(super) fn with_outcome(&self, channel: &str, outcome: &'static str, measure: impl FnOnce(&[KeyValue])) {
        let labels = self.labels();
        let built = labels.get(channel).and_then(|labels| labels.outcomes.iter().find(|(word, _)| *word == outcome));
        match built {
            Some((_, labels)) => measure(labels),
            None => measure(&outcome_labels(channel, outcome)),
        }
    }

    /// Calls `measure` with the labels of each channel.
    pub(super) fn each(&self, measure: impl Fn(&[KeyValue])) {
        for labels in self.labels().values() {
            measure(&labels.channel);
        }
    }

    /// Calls `measure` with the labels of each channel and outcome.
    pub(super) fn each_outcome(&self, measure: impl Fn(&[KeyValue])) {
        for (_, labels) in self.labels().values().flat_map(|labels| &labels.outcomes) {
            measure(labels);
        }
    }

    fn labels(&self) -> RwLockReadGuard<'_, HashMap<String, Labels>> {
        self.0.read()
    }
}

fn all_labels(names: &[String]) -> HashMap<String, Labels> {
    let labels = |name: &str| Labels {
        channel: channel_labels(name),
        outcomes: OUTCOMES.map(|outcome| (outcome, outcome_labels(name, outcome))),
    };
    names.iter().map(|name| (name.clone(), labels(name))).collect()
}

fn channel_labels(channel: &str) -> [KeyValue; 1] {
    [KeyValue::new("channel", channel.to_owned())]
}

// The labels are in the order of their keys, so the SDK need not sort them.
fn outcome_labels(channel: &str, outcome: &'static str) -> [KeyValue; 2] {
    [KeyValue::new("channel", channel.to_owned()), KeyValue::new("outcome", outcome)]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use outbox_store::{DeadReason, Outcome, Scope};

    use super::*;

    #[test]
    fn every_outcome_of_an_attempt_has_its_labels_built_beforehand() {
        let outcomes = [
            Outcome::Delivered { receipt: None },
            Outcome::Retry { not_before: None },
            Outcome::Dead { reason: DeadReason::Permanent },
            Outcome::DeadTarget,
            Outcome::Defer { scope: Scope::Channel, until: Duration::ZERO },
            Outcome::InDoubt,
            Outcome::Unsent,
        ];
        assert_eq!(outcomes.map(|outcome| outcome.as_str()), OUTCOMES);
    }
}
