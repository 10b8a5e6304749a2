//! What an edit would change. People are shown it before it is written, by the command line and by the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use outbox_desk::{ContentEdit, DeadGroup, Desk, DeskError, HeadersBefore, MessageRecord, Revised, Selection, Unfit};
use outbox_schema::MessageId;
use outbox_store::Status;

use super::difference::difference;
use super::difference::indented;
use crate::examine::refusal;
use outbox_config::Config;

/// The dead letters among which those that change are looked for.
const LOOKED_AT: u32 = 100;

/// The change that an operator wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Another payload, for one message.
    pub payload: Option<String>,
    /// What changes in any of the messages.
    pub of_any: ContentEdit,
}

/// A message as it would be after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The message.
    pub id: MessageId,
    /// The revision that the plan is for.
    pub revision: i32,
    /// The new content.
    pub revised: Revised,
    /// The difference in lines. Empty where nothing would be different.
    pub difference: String,
}

/// Why a message cannot be edited so.
#[derive(Debug, thiserror::Error)]
pub enum Unplanned {
    /// The message is no dead letter.
    #[error("message {id} is {status}: only dead letters are edited")]
    NotDead {
        /// The message.
        id: MessageId,
        /// Its status.
        status: String,
    },
    /// The payload is larger than one that is read back.
    #[error(
        "message {id} has a payload of {bytes} bytes, and none of more than 8 MiB is edited: write another message in its place"
    )]
    Unread {
        /// The message.
        id: MessageId,
        /// The length of its payload.
        bytes: i64,
    },
    /// The change does not fit the message.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

impl Wanted {
    /// The plan for a dead letter.
    ///
    /// # Errors
    /// The message is not dead, or would not be valid.
    pub fn plan(&self, before: &MessageRecord) -> Result<Planned, Unplanned> {
        let id = MessageId(before.id);
        if before.status != Status::Dead.as_str() {
            return Err(Unplanned::NotDead { id, status: before.status.clone() });
        }
        let Some(former) = &before.payload else { return Err(Unplanned::Unread { id, bytes: before.payload_bytes }) };
        let payload = self.payload.as_ref().unwrap_or(former);
        let headers = before.headers.as_deref();
        let revised = self.of_any.revised(&before.channel, &before.target, payload.trim(), headers)?;
        Ok(Planned { id, revision: before.revision, difference: differs(before, former, &revised), revised })
    }

    /// The plans for the first `most` dead letters that the change alters: the examples of their groups, and those of the
    /// selection that died last. One that cannot be changed is passed over, as the edit leaves it as it is.
    pub async fn first(
        &self,
        desk: &dyn Desk,
        selection: &Selection,
        groups: &[DeadGroup],
        most: usize,
    ) -> Result<Vec<Planned>, DeskError> {
        let mut ids: Vec<_> = examples(groups).collect();
        match selection {
            Selection::Ids(named) => ids.extend(named.iter().take(LOOKED_AT as usize)),
            Selection::Filter(filter) => {
                let page = desk.dead_letters(filter, &[], None, LOOKED_AT).await?;
                ids.extend(page.letters.iter().map(|letter| MessageId(letter.id)));
            }
        }
        let mut plans: Vec<Planned> = Vec::new();
        for id in ids {
            if plans.len() == most {
                break;
            }
            if plans.iter().any(|plan| plan.id == id) {
                continue;
            }
            let Some(before) = desk.message(id).await? else { continue };
            plans.extend(self.plan(&before).ok().filter(|planned| !planned.difference.is_empty()));
        }
        Ok(plans)
    }

    /// Why the change would make dead letters for good of messages in these groups: their examples are asked. What a channel has
    /// against a message as it is, the change need not mend.
    pub async fn refusal(
        &self,
        config: &Config,
        desk: &dyn Desk,
        groups: &[DeadGroup],
    ) -> Result<Option<String>, DeskError> {
        for id in examples(groups) {
            let Some(before) = desk.message(id).await? else { continue };
            let Ok(planned) = self.plan(&before) else { continue };
            let same = Self::default().plan(&before).ok();
            let already = same.and_then(|same| refusal(config, &before.channel, &same.revised));
            let refused =
                refusal(config, &before.channel, &planned.revised).filter(|why| already.as_ref() != Some(why));
            if let Some(why) = refused {
                return Ok(Some(format!("message {id}, as the change would make it: {why}")));
            }
        }
        Ok(None)
    }
}

fn examples(groups: &[DeadGroup]) -> impl Iterator<Item = MessageId> {
    groups.iter().take(LOOKED_AT as usize).map(|group| group.example)
}

/// The lines in which a message with this payload would differ. Empty where there are none.
pub fn differs(before: &MessageRecord, payload: &str, after: &Revised) -> String {
    difference(
        &shown(&before.target, payload, &all_headers(before)),
        &shown(after.target(), after.payload(), after.headers()),
    )
}

/// The headers of a row, for people.
fn all_headers(message: &MessageRecord) -> BTreeMap<String, String> {
    let HeadersBefore { texts, others } = HeadersBefore::of(message.headers.as_deref());
    let others = others.into_iter().map(|(name, value)| (name, format!("{value} (not a text)")));
    texts.into_iter().chain(others).collect()
}

/// The parts of a message that can be edited, as lines.
fn shown(target: &str, payload: &str, headers: &BTreeMap<String, String>) -> String {
    let mut text = format!("target {target}\n");
    for (name, value) in headers {
        let _ = writeln!(text, "header {name}: {value}");
    }
    text + "payload\n" + &indented(payload.trim()) + "\n"
}
