//! The messages that a change has not come to.

use std::collections::VecDeque;

use outbox_schema::MessageId;
use serde::{Deserialize, Serialize};

use crate::operation::BATCH;

/// The messages that a change has not come to, in ascending order. Only the place is written down: whoever goes on with the change
/// finds the messages behind it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Remaining {
    /// When the messages were first looked for, by the database's clock. What a filter would mean only since then is not meant.
    pub(crate) as_of_us: Option<i64>,
    /// The last message that the change has come to.
    after: Option<MessageId>,
    come_to: u64,
    #[serde(skip)]
    ids: VecDeque<MessageId>,
}

impl Remaining {
    /// Keeps those of `meant` that the change has not come to. At the most `most` in all, where the change has a limit.
    pub(crate) fn keep(&mut self, mut meant: Vec<MessageId>, most: Option<u32>) -> u64 {
        meant.retain(|id| self.after.is_none_or(|after| *id > after));
        let room = most.map_or(u64::MAX, |most| u64::from(most).saturating_sub(self.come_to));
        meant.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        self.ids = meant.into();
        self.come_to + self.ids.len() as u64
    }

    /// Takes the messages of the next batch.
    pub(crate) fn next(&mut self) -> Vec<MessageId> {
        let batch: Vec<_> = self.ids.drain(..BATCH.min(self.ids.len())).collect();
        self.come_to += batch.len() as u64;
        self.after = batch.last().copied().or(self.after);
        batch
    }

    /// Whether no message is left.
    pub(crate) fn is_over(&self) -> bool {
        self.ids.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ids(range: std::ops::RangeInclusive<i64>) -> Vec<MessageId> {
        range.map(MessageId).collect()
    }

    #[test]
    fn whoever_goes_on_with_a_change_comes_to_each_message_once_and_keeps_its_limit() {
        let mut first = Remaining::default();
        assert_eq!(first.keep(ids(1..=2_000), Some(700)), 700);
        assert_eq!(first.next(), ids(1..=500));
        let written = serde_json::to_string(&first).unwrap();
        let mut second: Remaining = serde_json::from_str(&written).unwrap();
        assert_eq!(second.keep(ids(1..=2_000), Some(700)), 700);
        assert_eq!(second.next(), ids(501..=700));
        assert!(second.is_over());
        assert_eq!(second.keep(ids(1..=2_000), Some(700)), 700);
        assert!(second.is_over());
    }
}
