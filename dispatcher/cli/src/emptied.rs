//! What `outbox run --until-empty` says at its end: what became of the messages that it claimed.

use std::time::{Duration, Instant};

use outbox_desk::{DeadLetterFilter, Desk, DeskError, MessageFilter, Moment, Selection};
use outbox_store::{Database, Status};

use outbox_console::text::to_the_second;

/// The most terms that one run is thought to have had.
const TERMS: u32 = 1_000;

/// The most pending messages among which the one that is due first is looked for.
const LOOKED_AT: u32 = 10_000;

/// The counts of what became of the messages since `run --until-empty` began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Emptied {
    claimed: i64,
    delivered: i64,
    /// Messages that became dead letters meanwhile.
    pub(super) dead: u64,
    pending: i64,
    /// When the first of those that wait is due.
    due: Option<String>,
}

impl Emptied {
    /// What became of the messages of this process since it began, by the database.
    pub(super) async fn since(database: &Database, instance: &str, began: Instant) -> Result<Self, DeskError> {
        let own = format!("{instance}.");
        let terms = database.terms(TERMS).await?.into_iter().filter(|term| term.holder.starts_with(&own));
        let (claimed, delivered) = terms.fold((0, 0), |(claimed, delivered), term| {
            (claimed + term.claimed.unwrap_or(0), delivered + term.delivered.unwrap_or(0))
        });
        // The death of a message is told by the database's clock, which may be read a moment before it died.
        let ago = began.elapsed() + Duration::from_millis(1);
        let died = DeadLetterFilter { since: Some(Moment::Ago(ago)), ..DeadLetterFilter::default() };
        let dead = database.dead_groups(&Selection::Filter(died)).await?.iter().map(|group| group.count).sum();
        let pending = database.vitals(&[]).await?.channels.iter().map(|channel| channel.pending).sum();
        let waiting = MessageFilter { status: Some(Status::Pending), ..MessageFilter::default() };
        let waiting = database.messages(&waiting, None, LOOKED_AT).await?.messages;
        let due = waiting.into_iter().map(|message| message.available_at).min();
        Ok(Self { claimed, delivered, dead, pending, due })
    }

    /// The same as a sentence.
    pub(super) fn sentence(&self) -> String {
        let Self { claimed, delivered, dead, pending, due } = self;
        let waits = match (pending, due.as_deref().map(to_the_second)) {
            (0, _) => String::new(),
            (1, Some(due)) => format!(", 1 waits until {due}"),
            (more, Some(due)) => format!(", {more} wait, the first until {due}"),
            (some, None) => format!(", {some} pending"),
        };
        format!("{claimed} claimed: {delivered} delivered, {dead} dead{waits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_the_messages_is_one_sentence() {
        let all = Emptied { claimed: 2, delivered: 1, dead: 1, ..Emptied::default() };
        assert_eq!(all.sentence(), "2 claimed: 1 delivered, 1 dead");
        let waits = Emptied { delivered: 0, pending: 1, due: Some("2026-05-01T16:59:23.5Z".to_owned()), ..all };
        assert_eq!(waits.sentence(), "2 claimed: 0 delivered, 1 dead, 1 waits until 2026-05-01T16:59:23Z");
    }
}
