//! What requests say, as the API reads it and the command line writes it. An unknown field is refused: a misspelled
//! field in a filter would otherwise select every dead letter.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use outbox_desk::{Author, ContentEdit, InvalidTargetSelection, MessageSelection, Selection};
use outbox_schema::MessageId;
use outbox_store::Retention;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::problem::{Kind, Problem};
use super::words::in_words;

/// Entries of a page without a limit.
const PAGE: u32 = 100;

/// The word for a retention without an end.
const NEVER: &str = "never";

/// The most entries that a page can have.
const LARGEST_PAGE: u32 = 10_000;

/// The page of a list, and its length.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// The `next` of the page before. None: the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The largest number of entries: 1 to 10,000, by default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The idempotency key to find a message by.
#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ByKey {
    /// The idempotency key.
    pub key: String,
}

/// The header of a change.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "the listener asks for the header; this only describes it")]
pub(super) struct ByClient {
    /// Any value. No message of a channel can have this header, and no page on the web, so neither changes anything.
    #[param(rename = "X-Outbox-Client")]
    client: String,
}

/// The author of a change, and the reason. The audit keeps both.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Authored {
    /// The name of the person or program that asks. Nobody checks it: the token is what allows the change.
    #[serde(default)]
    pub by: String,
    /// The reason for the change, in words.
    #[serde(default)]
    pub why: String,
    /// The way by which the change came. No request says it.
    #[serde(skip)]
    pub through: Through,
}

/// The way by which a change came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Through {
    /// A request to the API.
    #[default]
    Api,
    /// A form of the page.
    Page,
}

impl Through {
    /// The word for it in the audit.
    fn as_str(self) -> &'static str {
        match self {
            Self::Api => "API",
            Self::Page => "page",
        }
    }
}

/// Another payload, target and headers for a dead letter.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody {
    /// The revision that the operator looked at. The edit is refused where the message has another one.
    pub revision: i32,
    /// The new target.
    pub target: String,
    /// The new payload: any JSON. It is kept as it is written.
    #[schema(value_type = Value)]
    pub payload: Box<RawValue>,
    /// All headers of the edited message. Headers that are left out are removed.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether the message keeps its idempotency key. The payload must then be the same as before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_key: bool,
    /// The author of the edit.
    #[serde(default)]
    pub author: Authored,
}

/// The dead letters to redrive, and the pace.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RedriveBody {
    /// The dead letters to redrive.
    pub selection: Selection,
    /// Redrive only this many, those with the lowest ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub canary: Option<NonZeroU32>,
    /// How many messages come due a second. None: all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub rate: Option<NonZeroU32>,
    /// The author of the redrive.
    #[serde(default)]
    pub author: Authored,
}

/// The delivered messages to replay, and how.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayBody {
    /// The delivered messages to replay.
    pub selection: MessageSelection,
    /// Whether the receiver gets new idempotency keys. Otherwise it gets those of the messages repeated, and may recognise
    /// them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_key: bool,
    /// Whether messages that were replayed before are sent once more. Otherwise they are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Replay only messages with a higher id than this: the `last` of a replay before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageId>,
    /// Replay only this many, those with the lowest ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub canary: Option<NonZeroU32>,
    /// How many messages come due a second. None: all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub rate: Option<NonZeroU32>,
    /// The author of the replay.
    #[serde(default)]
    pub author: Authored,
}

/// The messages to count.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "Map<String, Value>")]
pub struct MessageCountBody {
    /// The messages that a change means.
    #[serde(flatten)]
    pub selection: MessageSelection,
    /// Count only messages with a higher id than this: those that a replay would send `after` it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageId>,
}

/// A flattened selection would pass over fields that it does not know.
impl TryFrom<Map<String, Value>> for MessageCountBody {
    type Error = serde_json::Error;

    fn try_from(mut fields: Map<String, Value>) -> Result<Self, Self::Error> {
        let after = fields.remove("after").map(serde_json::from_value).transpose()?.flatten();
        Ok(Self { selection: serde_json::from_value(Value::Object(fields))?, after })
    }
}

/// The dead letters to edit, and the change, the same for each.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditAllBody {
    /// The dead letters to edit.
    pub selection: Selection,
    /// What changes in each. Payloads stay.
    pub change: ContentEdit,
    /// The author of the edit.
    #[serde(default)]
    pub author: Authored,
}

/// The messages to cancel, or to retry.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitingBody {
    /// The messages that wait.
    pub selection: MessageSelection,
    /// The author of the change.
    #[serde(default)]
    pub author: Authored,
}

/// The dead letters to delete.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PurgeBody {
    /// The dead letters to delete.
    pub selection: Selection,
    /// The author of the purge.
    #[serde(default)]
    pub author: Authored,
}

/// The redrive or the replay to undo.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoBody {
    /// Its entry in the audit: the `audit_id` of what it did.
    pub operation: i64,
    /// The author of the undo.
    #[serde(default)]
    pub author: Authored,
}

/// How long to pause a destination.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseBody {
    /// The length of the pause, such as `2h`. None: the pause lasts until an operator resumes the destination.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// The author of the pause. `why` is required: other people read it while the pause lasts.
    #[serde(default)]
    pub author: Authored,
}

impl PauseBody {
    pub(super) fn lasting(&self) -> Result<Option<Duration>, Problem> {
        let Some(text) = &self.lasting else { return Ok(None) };
        let lasting = pause_length(text).map(Some);
        lasting.map_err(|why| Problem::new(Kind::BadRequest, format!("for = {text:?}: {why}")))
    }
}

/// Reads the length of a pause.
///
/// # Errors
/// The form that the text must have, in words.
pub fn pause_length(text: &str) -> Result<Duration, &'static str> {
    let length = humantime::parse_duration(text).ok().filter(|length| !length.is_zero());
    length.ok_or("it must be a time with its unit, as 2h")
}

/// The targets to count, and the page of them to show.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountBody {
    /// The targets to count.
    pub selection: InvalidTargetSelection,
    /// The `next` of the page before. None: the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// The largest number of entries: 1 to 10,000, by default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The targets to forget.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearBody {
    /// The targets to forget.
    pub selection: InvalidTargetSelection,
    /// The author of the request to forget.
    #[serde(default)]
    pub author: Authored,
}

/// How old a finished message must be before it is removed. The settings of the replica fill in what is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneBody {
    /// The age of delivered messages: `7d`, or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<String>,
    /// The age of dead letters: `90d`, or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<String>,
    /// The author of the removal.
    #[serde(default)]
    pub author: Authored,
}

impl PruneBody {
    /// The retention that the body and the settings give together. Which channels halt at a dead letter comes from the
    /// settings alone: the replica knows it better than the client.
    pub(crate) fn retention(&self, settings: &Retention) -> Result<Retention, Problem> {
        Ok(Retention {
            success: age("success", self.success.as_deref(), settings.success)?,
            dead: age("dead", self.dead.as_deref(), settings.dead)?,
            continuing: settings.continuing.clone(),
        })
    }
}

impl From<&Retention> for PruneBody {
    fn from(retention: &Retention) -> Self {
        let text = |age: Option<Duration>| {
            Some(age.map_or_else(|| NEVER.to_owned(), |age| humantime::format_duration(age).to_string()))
        };
        Self { success: text(retention.success), dead: text(retention.dead), author: Authored::default() }
    }
}

fn age(name: &str, text: Option<&str>, default: Option<Duration>) -> Result<Option<Duration>, Problem> {
    let Some(text) = text else { return Ok(default) };
    kept_for(text).map_err(|why| Problem::new(Kind::BadRequest, format!("{name} = {text:?}: {why}")))
}

/// Reads how long something is kept. None: for ever.
///
/// # Errors
/// The form that the text must have, in words.
pub fn kept_for(text: &str) -> Result<Option<Duration>, &'static str> {
    if text == NEVER {
        return Ok(None);
    }
    let age = humantime::parse_duration(text).ok().filter(|_| text.contains(|c: char| c.is_alphabetic()));
    age.map(Some).ok_or("it must be a time with its unit, as 7d, or never; 0s removes all, however young")
}

impl Page {
    /// The number of entries that the client asks for.
    pub(super) fn size(&self) -> Result<u32, Problem> {
        match self.limit.unwrap_or(PAGE) {
            limit @ 1..=LARGEST_PAGE => Ok(limit),
            limit => Err(Problem::new(Kind::BadRequest, format!("limit = {limit}: it must be 1 to {LARGEST_PAGE}"))),
        }
    }

    /// The place where the page before ended.
    pub(crate) fn cursor<C: std::str::FromStr<Err: std::fmt::Display>>(&self) -> Result<Option<C>, Problem> {
        let Some(after) = &self.after else { return Ok(None) };
        let wrong = |error: C::Err| {
            Problem::new(Kind::BadRequest, format!("after = {after:?}: {}", in_words(&error.to_string())))
        };
        after.parse().map(Some).map_err(wrong)
    }
}

impl Authored {
    /// The author as the audit names it. The name came over the network, and nobody checked it.
    pub(crate) fn into_author(self) -> Author {
        let through = self.through.as_str();
        let who = if self.by.is_empty() { through.to_owned() } else { format!("{} ({through})", self.by) };
        Author { who, why: self.why }
    }
}

impl From<&Author> for Authored {
    fn from(author: &Author) -> Self {
        Self { by: author.who.clone(), why: author.why.clone(), through: Through::Api }
    }
}
