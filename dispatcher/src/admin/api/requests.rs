//! What is asked, as the API reads it and the command line writes it. A field that nobody knows is refused: a slip of
//! the pen in a filter would mean every dead letter.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use outbox_schema::Retention;
use outbox_schema::desk::{Author, InvalidTargetSelection, Pace, Selection};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::problem::{Kind, Problem};

/// Entries of a page where nobody says how many.
const PAGE: u32 = 100;

/// What is kept for ever.
const NEVER: &str = "never";

/// Entries of a page at most.
const LARGEST_PAGE: u32 = 10_000;

/// Which part of a list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// Where the page before ended: its `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most so many: 1 to 10,000, 100 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A key to find a message by.
#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ByKey {
    /// The idempotency key.
    pub key: String,
}

/// Who asks for a change, and why: for the audit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Authored {
    /// A name. Nobody checks it: the token is what lets a change through.
    #[serde(default)]
    pub by: String,
    /// In words.
    #[serde(default)]
    pub why: String,
}

/// Another payload, target or headers for a dead letter.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody {
    /// The revision at which it was looked at.
    pub revision: i32,
    /// The new target.
    pub target: String,
    /// The new payload: any JSON. It is kept as it is written.
    #[schema(value_type = Value)]
    pub payload: Box<RawValue>,
    /// All headers that it is to have.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Who asks for it.
    #[serde(default)]
    pub author: Authored,
}

/// Which dead letters are to be sent again, and how fast.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveBody {
    /// Which.
    pub selection: Selection,
    /// Only so many, those of the lowest ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub canary: Option<NonZeroU32>,
    /// They come due so many a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub rate: Option<NonZeroU32>,
    /// Who asks for it.
    #[serde(default)]
    pub author: Authored,
}

/// Which dead letters are to be deleted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeBody {
    /// Which.
    pub selection: Selection,
    /// Who asks for it.
    #[serde(default)]
    pub author: Authored,
}

/// For how long a destination is to take nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseBody {
    /// As `2h`. Where nothing is said, until somebody resumes it.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// Who asks for it. `why` is needed: it is what others are told.
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

/// How long a pause lasts.
///
/// # Errors
/// What the text must be.
pub fn pause_length(text: &str) -> Result<Duration, &'static str> {
    let length = humantime::parse_duration(text).ok().filter(|length| !length.is_zero());
    length.ok_or("it must be a time with its unit, as 2h")
}

/// Which targets are asked for, and which part of the list.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountBody {
    /// Which.
    pub selection: InvalidTargetSelection,
    /// Where the page before ended: its `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// At most so many: 1 to 10,000, 100 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Which targets are to be forgotten.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearBody {
    /// Which.
    pub selection: InvalidTargetSelection,
    /// Who asks for it.
    #[serde(default)]
    pub author: Authored,
}

/// How old what is finished must be to be removed. Where nothing is said, as the settings of the replica say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneBody {
    /// Of messages that were delivered: `7d`, or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<String>,
    /// Of dead letters: `90d`, or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<String>,
    /// Who asks for it.
    #[serde(default)]
    pub author: Authored,
}

impl PruneBody {
    /// Which channels halt at a dead letter, the replica knows better than whoever asks.
    pub(super) fn retention(&self, settings: &Retention) -> Result<Retention, Problem> {
        Ok(Retention {
            success: age(self.success.as_deref(), settings.success)?,
            dead: age(self.dead.as_deref(), settings.dead)?,
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

fn age(text: Option<&str>, default: Option<Duration>) -> Result<Option<Duration>, Problem> {
    let Some(text) = text else { return Ok(default) };
    kept_for(text).map_err(|why| Problem::new(Kind::BadRequest, format!("{text:?}: {why}")))
}

/// For how long something is kept; none: for ever.
///
/// # Errors
/// What the text must be.
pub fn kept_for(text: &str) -> Result<Option<Duration>, &'static str> {
    if text == NEVER {
        return Ok(None);
    }
    humantime::parse_duration(text).map(Some).map_err(|_| "it must be a time with its unit, as 7d, or never")
}

impl Page {
    /// How many entries are wanted.
    pub(super) fn size(&self) -> Result<u32, Problem> {
        match self.limit.unwrap_or(PAGE) {
            limit @ 1..=LARGEST_PAGE => Ok(limit),
            limit => Err(Problem::new(Kind::BadRequest, format!("limit = {limit}: it must be 1 to {LARGEST_PAGE}"))),
        }
    }

    /// Where the page before ended.
    pub(super) fn cursor<C: std::str::FromStr<Err: std::fmt::Display>>(&self) -> Result<Option<C>, Problem> {
        let Some(after) = &self.after else { return Ok(None) };
        let wrong = |error| Problem::new(Kind::BadRequest, format!("after = {after:?}: {error}"));
        after.parse().map(Some).map_err(wrong)
    }
}

impl Authored {
    /// As the audit has it: the name was given over the network, and was not checked.
    pub(super) fn into_author(self) -> Author {
        let who = if self.by.is_empty() { "API".to_owned() } else { format!("{} (API)", self.by) };
        Author { who, why: self.why }
    }
}

impl From<&Author> for Authored {
    fn from(author: &Author) -> Self {
        Self { by: author.who.clone(), why: author.why.clone() }
    }
}

impl RedriveBody {
    pub(super) fn pace(&self) -> Pace {
        Pace { canary: self.canary, rate: self.rate }
    }
}

/// The id in the path.
pub(super) struct Id(pub(super) i64);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(id) = Path::<i64>::from_request_parts(parts, state).await?;
        Ok(Self(id))
    }
}

/// A body of JSON. A request without one, or of another type, is refused: a page on the web can make a browser send
/// those to any address.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Json(body) = Json::<T>::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// What the query of the URL says.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Ok(Self(parameters(parts.uri.query().unwrap_or(""), |_| true)?))
    }
}

/// A filter and a page of what it finds, both in the query.
pub(super) struct Filtered<F> {
    pub(super) filter: F,
    pub(super) page: Page,
}

impl<F: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Filtered<F> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or("");
        let of_page = |name: &str| matches!(name, "after" | "limit");
        Ok(Self { filter: parameters(query, |name| !of_page(name))?, page: parameters(query, of_page)? })
    }
}

/// Those parameters of a query that are `meant`. What cannot be understood is named. So is what holds NUL: nothing is called
/// so, and PostgreSQL refuses it as no text.
fn parameters<T: DeserializeOwned>(query: &str, meant: impl Fn(&str) -> bool) -> Result<T, Problem> {
    let pairs = || url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| meant(name));
    let wrong = |detail: String| Problem::new(Kind::BadRequest, detail);
    if let Some((name, value)) = pairs().find(|(_, value)| value.contains('\0')) {
        return Err(wrong(format!("{name} = {value:?}: it holds NUL (%00), and nothing is called so")));
    }
    let chosen = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs()).finish();
    let read = serde_urlencoded::Deserializer::new(url::form_urlencoded::parse(chosen.as_bytes()));
    serde_path_to_error::deserialize(read).map_err(|error| {
        let (place, error) = (error.path().to_string(), error.inner());
        match pairs().find(|(name, _)| *name == place) {
            Some((name, value)) => wrong(format!("{name} = {value:?}: {error}")),
            // A parameter is missing, and the error has its name.
            None => wrong(error.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use outbox_schema::desk::{DeadLetterFilter, MessageFilter};

    use super::*;

    /// What is said of a query.
    fn refused<T: DeserializeOwned + std::fmt::Debug>(query: &str) -> String {
        let problem = parameters::<T>(query, |_| true).unwrap_err();
        assert_eq!((problem.kind, problem.status), (Kind::BadRequest, 400), "{query}");
        problem.detail
    }

    #[test]
    fn what_is_wrong_with_a_parameter_is_said_with_its_name() {
        for (said, begins) in [
            (refused::<Page>("limit=abc"), "limit = \"abc\": "),
            (refused::<Page>("after=1&limit=-1"), "limit = \"-1\": "),
            (refused::<MessageFilter>("priority=-1"), "priority = \"-1\": "),
            (refused::<MessageFilter>("status=x"), "status = \"x\": "),
            (refused::<DeadLetterFilter>("status_code=abc"), "status_code = \"abc\": "),
            (refused::<DeadLetterFilter>("channel=http&since=x"), "since = \"x\": "),
            (refused::<ByKey>("key=a%00b"), "key = \"a\\0b\": it holds NUL"),
            (refused::<ByKey>(""), "missing field `key`"),
            (refused::<ByKey>("key=a&chanel=b"), "chanel = \"b\": unknown field"),
        ] {
            assert!(said.starts_with(begins), "{said}");
        }
    }

    #[test]
    fn parameters_that_are_not_meant_are_for_somebody_else() {
        let page: Page = parameters("channel=%00&limit=7", |name| name == "limit").unwrap();
        assert_eq!(page.limit, Some(7));
    }
}
