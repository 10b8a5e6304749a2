//! The answers to requests that fail: problem details, <https://www.rfc-editor.org/rfc/rfc9457>.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use outbox_desk::{Action, DeskError, MessageSelection, Refusal, Skipped};
use outbox_schema::{InvalidMessage, MessageId};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{self, Content, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use super::words::in_words;

/// <https://www.iana.org/assignments/media-types/application/problem+json>
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request failed, in the form of RFC 9457.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{title} ({status}): {detail}")]
pub struct Problem {
    /// The kind of the problem.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The kind in words.
    pub title: String,
    /// The status code of the answer.
    pub status: u16,
    /// What happened here, and what to do about it.
    pub detail: String,
    /// The message that was left unchanged, and why. Only for a change to one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Skipped>,
}

/// The kinds of problems. Each is a URI to compare, not to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Kind {
    /// The request itself cannot be understood.
    #[serde(rename = "urn:outbox:problem:bad-request")]
    BadRequest,
    /// The request needs a token.
    #[serde(rename = "urn:outbox:problem:no-token")]
    NoToken,
    /// The token, or the `Host` of a request without one, does not allow this; or a change lacks `X-Outbox-Client`.
    #[serde(rename = "urn:outbox:problem:not-allowed")]
    NotAllowed,
    /// There is no such message, redrive, destination or path.
    #[serde(rename = "urn:outbox:problem:not-there")]
    NotThere,
    /// The state of the message does not allow this change.
    #[serde(rename = "urn:outbox:problem:refused")]
    Refused,
    /// Another replica polls, and this one cannot pass the request on to it.
    #[serde(rename = "urn:outbox:problem:not-the-poller")]
    NotThePoller,
    /// The edit would make an invalid message.
    #[serde(rename = "urn:outbox:problem:invalid-message")]
    InvalidMessage,
    /// The database role of the replica lacks a right.
    #[serde(rename = "urn:outbox:problem:database-rights")]
    DatabaseRights,
    /// The database did not answer, or could not do it now.
    #[serde(rename = "urn:outbox:problem:database")]
    Database,
    /// The lease store does not answer.
    #[serde(rename = "urn:outbox:problem:lease-store")]
    LeaseStore,
    /// The answer took too long, perhaps behind other requests, or the replica is about to stop.
    #[serde(rename = "urn:outbox:problem:busy")]
    Busy,
}

impl Kind {
    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::NoToken => StatusCode::UNAUTHORIZED,
            Self::NotAllowed => StatusCode::FORBIDDEN,
            Self::NotThere => StatusCode::NOT_FOUND,
            Self::Refused | Self::NotThePoller => StatusCode::CONFLICT,
            Self::InvalidMessage => StatusCode::UNPROCESSABLE_ENTITY,
            Self::DatabaseRights | Self::Database | Self::LeaseStore | Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "The request is not understood",
            Self::NoToken => "A token is needed",
            Self::NotAllowed => "Not allowed",
            Self::NotThere => "Not there",
            Self::Refused => "The message was left as it is",
            Self::NotThePoller => "This replica does not poll",
            Self::InvalidMessage => "The message would not be valid",
            Self::DatabaseRights => "The replica lacks a right in its database",
            Self::Database => "The database did not do it",
            Self::LeaseStore => "The lease store did not answer",
            Self::Busy => "Too busy",
        }
    }
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            title: kind.title().to_owned(),
            status: kind.status().as_u16(),
            detail: detail.into(),
            refused: None,
        }
    }

    /// There is no operation with that id.
    pub(crate) fn no_operation(id: i64) -> Self {
        Self::new(
            Kind::NotThere,
            format!("no operation has the id {id}: those that ended more than 30 days ago are in the audit only"),
        )
    }

    /// No job has that name.
    pub(crate) fn no_job(name: &str) -> Self {
        Self::new(Kind::NotThere, format!("no job {name:?} has run"))
    }

    /// The problem of a message that does not exist.
    pub(crate) fn no_message(message: impl std::fmt::Display) -> Self {
        Self::new(Kind::NotThere, format!("no message has the id or the idempotency key `{message}`"))
    }

    /// The problem of a search that found no message.
    pub(crate) fn no_such(known: &str) -> Self {
        let nothing = "no message has it as its id or its idempotency key. None of the newest has a key that begins so, or has it as a \
                       tag, its target, its tenant or its ordering key: filter the list of messages to look further";
        Self::new(Kind::NotThere, format!("`{known}`: {nothing}"))
    }

    /// The problem of a message that was left unchanged.
    pub(crate) fn refused(refused: Skipped) -> Self {
        let Skipped { id: MessageId(id), because } = refused;
        let kind = match because {
            Refusal::NotThere => Kind::NotThere,
            Refusal::NotDead
            | Refusal::NotDelivered
            | Refusal::Replayed
            | Refusal::NotPending
            | Refusal::Due
            | Refusal::Deferred
            | Refusal::Untried
            | Refusal::InFlight
            | Refusal::Held
            | Refusal::Changed
            | Refusal::PayloadUnderOldKey
            | Refusal::PayloadUnread => Kind::Refused,
        };
        Self { refused: Some(refused), ..Self::new(kind, format!("message {id}: {because}")) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(MEDIA_TYPE));
        if self.kind == Kind::NoToken {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        // The page says it in its own form.
        response.extensions_mut().insert(self);
        response
    }
}

/// In the OpenAPI description, a problem stands for every answer that has no description of its own.
impl IntoResponses for Problem {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let content = Content::new(Some(openapi::Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new()
            .description("The request failed. 409: the state of the message does not allow the change")
            .content(MEDIA_TYPE, content);
        BTreeMap::from([("default".to_owned(), RefOr::T(response.build()))])
    }
}

impl From<DeskError> for Problem {
    fn from(error: DeskError) -> Self {
        if error.lacks_rights() {
            let detail = format!("{error}. Grant its role what outbox-schema/grants has for operators");
            return Self::new(Kind::DatabaseRights, detail);
        }
        let kind = match error {
            DeskError::NothingToUndo(_) => Kind::NotThere,
            _ if error.is_about_a_value() => Kind::BadRequest,
            DeskError::Database(_) | DeskError::Elsewhere(_) => Kind::Database,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<InvalidMessage> for Problem {
    fn from(error: InvalidMessage) -> Self {
        Self::new(Kind::InvalidMessage, error.to_string())
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self { status: rejection.status().as_u16(), ..Self::new(Kind::BadRequest, in_words(&rejection.body_text())) }
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(Kind::BadRequest, rejection.body_text())
    }
}

/// Whether the change can be made by the selection.
pub(crate) fn checked(selection: &MessageSelection, action: Action) -> Result<(), Problem> {
    selection.check(action).map_err(|wrong| Problem::new(Kind::BadRequest, format!("selection: {wrong}")))
}
