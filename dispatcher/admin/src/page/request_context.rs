//! A request of a person, as the pages see it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use outbox_desk::Action;

use super::session::Session;
use crate::access::Role;
use crate::api::{Kind, Problem, Redaction};

/// The field of a form that shows where the form comes from.
pub(super) const TOKEN_FIELD: &str = "form";

/// A request of a person, as the pages see it.
#[derive(Debug, Clone)]
pub(super) struct RequestContext {
    pub(super) session: Session,
    /// The name of the person, where a proxy says it.
    pub(super) named: Option<String>,
    /// What the person may see of messages.
    pub(super) redaction: Redaction,
    /// The token for the forms of the answer.
    pub(super) form_token: String,
    /// Whether people sign in here, and so can sign out.
    pub(super) signs_in: bool,
    /// The path and the query of the request.
    pub(super) address: String,
    /// Where to go on after signing in.
    pub(super) back: String,
    /// The environment of the outbox, and the name of the replica.
    pub(super) place: (String, Option<String>),
}

impl RequestContext {
    /// Whether the person may change anything. Without that, no form is shown.
    pub(super) fn operates(&self) -> bool {
        self.session.role >= Some(Role::Operate)
    }

    /// Whether the person may send anything again.
    pub(super) fn retries(&self) -> bool {
        self.session.role >= Some(Role::Retry)
    }

    /// Whether the person may make this change.
    pub(super) fn may(&self, change: Action) -> bool {
        self.session.role >= Some(Role::of(change))
    }

    /// Refuses a person who may not make this change.
    pub(super) fn require(&self, change: Action) -> Result<(), Problem> {
        self.require_role(Role::of(change))
    }

    /// Refuses a person whose role is less than this.
    pub(super) fn require_role(&self, needed: Role) -> Result<(), Problem> {
        match self.session.role {
            None => Err(Problem::new(Kind::NoToken, "sign in first")),
            Some(role) if role < needed => Err(Problem::new(Kind::NotAllowed, role.refused())),
            Some(_) => Ok(()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let context = parts.extensions.get::<Self>().cloned();
        context.ok_or_else(|| Problem::new(Kind::NoToken, "sign in first"))
    }
}
