//! What a change of many messages did, whatever it does.

use std::collections::BTreeMap;
use std::fmt;

use outbox_schema::MessageId;
use outbox_store::retention::Pruned;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::Action;
use super::fields::{Part, fields};
use crate::{Refusal, Skipped, Undoable};

/// The most messages that an outcome names of those that were left.
const NAMED: usize = 1_000;

/// How many messages were skipped, in JSON.
const SKIPPED_COUNT: &str = "skipped_count";

/// What a change of many messages did, or has done so far. In JSON it has the fields of its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What was done.
    pub action: Action,
    /// The id of the entry in `outbox_audit`, which an undo needs. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Messages that were selected.
    pub meant: u64,
    /// Messages that were changed.
    pub changed: u64,
    /// The first messages that are sent again, [`Outcome::SHOWN`] at most.
    pub first: Vec<Sent>,
    /// The last message that was come to: [`ReplayManner::after`](crate::ReplayManner) goes on from there.
    pub last: Option<MessageId>,
    /// The first messages that were left unchanged and why, 1,000 at most.
    pub left: Vec<Left>,
    /// How many were left unchanged in all.
    pub left_count: u64,
    /// What was undone, of an undo.
    pub undone: Undoable,
    /// What else was counted, by the names of its fields.
    counts: BTreeMap<&'static str, u64>,
}

/// A row that is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Replay, description = "A row that repeats a message."))]
pub struct Sent {
    /// The row.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: MessageId,
    /// The message that it repeats.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub replay_of: Option<MessageId>,
}

/// A message that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "A message that an edit left as it is."))]
pub struct Left {
    /// The message.
    pub id: MessageId,
    /// Why it was left.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub because: Because,
}

/// Why a change left a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Because {
    /// The message is not one that may be changed so.
    Refused(Refusal),
    /// An edit does not fit it, in words.
    Unfit(String),
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unfit(why) => f.write_str(why),
        }
    }
}

impl Outcome {
    /// The most messages that [`Outcome::first`] names.
    pub const SHOWN: usize = 100;

    pub(crate) fn of(action: Action) -> Self {
        Self {
            action,
            audit_id: None,
            meant: 0,
            changed: 0,
            first: Vec::new(),
            last: None,
            left: Vec::new(),
            left_count: 0,
            undone: Undoable::default(),
            counts: BTreeMap::new(),
        }
    }

    /// How many messages the field of this name counts.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// The messages that a prune removed.
    pub fn pruned(&self) -> Pruned {
        Pruned { success: self.count("success"), dead: self.count("dead") }
    }

    /// Why the first message was left that was left, where it was refused.
    pub fn refused(&self) -> Option<Skipped> {
        self.left.first().and_then(|left| match left.because {
            Because::Refused(because) => Some(Skipped { id: left.id, because }),
            Because::Unfit(_) => None,
        })
    }

    pub(crate) fn add(&mut self, name: &'static str, more: u64) {
        *self.counts.entry(name).or_default() += more;
    }

    pub(crate) fn leave(&mut self, skipped: Vec<Skipped>) {
        for Skipped { id, because } in skipped {
            self.leave_one(id, Because::Refused(because));
        }
    }

    pub(crate) fn leave_one(&mut self, id: MessageId, because: Because) {
        self.left_count += 1;
        if self.left.len() < NAMED {
            // An edit says in words why, in JSON too.
            let because = if self.action == Action::Edit { Because::Unfit(because.to_string()) } else { because };
            self.left.push(Left { id, because });
        }
    }

    pub(crate) fn show(&mut self, sent: impl IntoIterator<Item = Sent>) {
        self.first.extend(sent.into_iter().take(Self::SHOWN.saturating_sub(self.first.len())));
    }

    /// Reads the outcome of an action as JSON has it.
    ///
    /// # Errors
    /// A field is missing, or of another kind.
    pub fn read(action: Action, json: Value) -> serde_json::Result<Self> {
        let Value::Object(mut json) = json else { return Err(serde_json::Error::custom("it is not an object")) };
        let mut outcome = Self::of(action);
        for field in fields(action) {
            let name = field.name;
            match field.part {
                Part::AuditId => outcome.audit_id = part(&mut json, name)?,
                Part::Meant => outcome.meant = part(&mut json, name)?,
                // By `changed` it is kept in the rows of operations.
                Part::Changed if json.contains_key(name) => outcome.changed = part(&mut json, name)?,
                Part::Changed => outcome.changed = part(&mut json, "changed")?,
                Part::Messages => {
                    let ids: Vec<MessageId> = part(&mut json, name)?;
                    outcome.first = ids.into_iter().map(|id| Sent { id, replay_of: None }).collect();
                }
                Part::Replays => outcome.first = part(&mut json, name)?,
                Part::Last => outcome.last = part(&mut json, name)?,
                Part::Skips => {
                    outcome.left = part(&mut json, name)?;
                    outcome.left_count = part::<Option<_>>(&mut json, SKIPPED_COUNT)?.unwrap_or(0);
                }
                Part::Left => outcome.left = part(&mut json, name)?,
                Part::LeftCount => outcome.left_count = part::<Option<_>>(&mut json, name)?.unwrap_or(0),
                Part::Undone => outcome.undone = part::<Option<_>>(&mut json, name)?.unwrap_or_default(),
                Part::Count => drop(outcome.counts.insert(name, part(&mut json, name)?)),
            }
        }
        // A replica of an earlier release names them all, and does not count them.
        outcome.left_count = outcome.left_count.max(outcome.left.len() as u64);
        if action == Action::Prune {
            outcome.changed = outcome.pruned().total();
        }
        Ok(outcome)
    }

    /// The outcome as the row of an operation keeps it. Under `changed` and `untried` an earlier release looks for what was cancelled
    /// or retried.
    pub(super) fn kept(&self) -> serde_json::Result<Value> {
        let mut kept = serde_json::to_value(self)?;
        kept["changed"] = self.changed.into();
        kept["untried"] = self.count("untried").into();
        Ok(kept)
    }
}

/// The fields of the action, in their order.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        for field in fields(self.action) {
            let name = field.name;
            match field.part {
                Part::AuditId => json.serialize_entry(name, &self.audit_id)?,
                Part::Meant => json.serialize_entry(name, &self.meant)?,
                Part::Changed => json.serialize_entry(name, &self.changed)?,
                Part::Messages => {
                    json.serialize_entry(name, &self.first.iter().map(|sent| sent.id).collect::<Vec<_>>())?;
                }
                Part::Replays => json.serialize_entry(name, &self.first)?,
                Part::Last => json.serialize_entry(name, &self.last)?,
                Part::Skips => {
                    json.serialize_entry(name, &self.left)?;
                    json.serialize_entry(SKIPPED_COUNT, &self.left_count)?;
                }
                Part::Left => json.serialize_entry(name, &self.left)?,
                Part::LeftCount => json.serialize_entry(name, &self.left_count)?,
                Part::Undone => json.serialize_entry(name, &self.undone)?,
                Part::Count => json.serialize_entry(name, &self.count(name))?,
            }
        }
        json.end()
    }
}

/// A field of an outcome. What is left out is read as null.
fn part<T: DeserializeOwned>(json: &mut Map<String, Value>, name: &str) -> serde_json::Result<T> {
    serde_json::from_value(json.remove(name).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outcome_has_the_fields_of_its_action_in_their_order_and_is_read_as_it_was_written() {
        for (action, text) in [
            (
                Action::Redrive,
                r#"{"audit_id":7,"meant":3,"redriven":1,"messages":[4],"skipped":[{"id":5,"because":"in_flight"}],"skipped_count":2}"#,
            ),
            (
                Action::Replay,
                r#"{"audit_id":7,"meant":1,"replayed":1,"replays":[{"id":9,"replay_of":4}],"last":4,"skipped":[],"skipped_count":0}"#,
            ),
            (Action::Cancel, r#"{"audit_id":null,"meant":0,"cancelled":0,"skipped":[],"skipped_count":0}"#),
            (Action::Retry, r#"{"audit_id":7,"meant":2,"retried":2,"untried":1,"skipped":[],"skipped_count":0}"#),
            (
                Action::Edit,
                r#"{"audit_id":7,"meant":2,"edited":0,"unchanged":1,"left":[{"id":5,"because":"it is in flight: try again"}],"left_count":1}"#,
            ),
            (
                Action::Undo,
                r#"{"undone":"replay","audit_id":8,"returned":1,"delivered":2,"dead_again":3,"under_way":4,"gone":5}"#,
            ),
            (Action::Purge, r#"{"audit_id":7,"meant":2,"purged":2,"skipped":[],"skipped_count":0}"#),
            (Action::Prune, r#"{"success":3,"dead":1}"#),
        ] {
            let read = Outcome::read(action, serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
            assert_eq!(Outcome::read(action, read.kept().unwrap()).unwrap(), read, "{text}");
            assert!(Outcome::read(action, json!({})).is_err(), "{action:?}");
        }
    }

    #[test]
    fn an_outcome_that_an_earlier_release_kept_is_read() {
        let cancelled =
            json!({"audit_id": 7, "meant": 5, "changed": 3, "untried": 0, "skipped": [], "skipped_count": 0});
        assert_eq!(Outcome::read(Action::Cancel, cancelled.clone()).unwrap().changed, 3);
        let retried = Outcome::read(Action::Retry, cancelled).unwrap();
        assert_eq!((retried.changed, retried.count("untried")), (3, 0));
        let pruned = Outcome::read(Action::Prune, json!({"success": 3, "dead": 1})).unwrap();
        assert_eq!(pruned.changed, 4);
        let uncounted = json!({"audit_id": 7, "meant": 5, "purged": 3, "skipped": [{"id": 5, "because": "not_dead"}]});
        assert_eq!(Outcome::read(Action::Purge, uncounted).unwrap().left_count, 1);
    }
}
