//! What the pages need to answer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method};
use uuid::Uuid;

use super::caches::{Counted, Counts, DeadSearches, MessageSearches, NewestFigures, PastSearches};
use super::request_context::RequestContext;
use super::session::{Seal, Sealed};
use crate::access::{Role, Tokens};
use crate::api::{ApiState, Problem, Redaction};
use crate::listener_sources::ListenerSources;
use outbox_console::health::cached::Cached;
use outbox_console::health::standings::Standings;
use outbox_dispatcher::reloadable::Reloadable;

/// How long the overview is reused: browsers that are left open ask for it again and again.
const OVERVIEW_MAX_AGE: Duration = Duration::from_secs(2);

/// The longest name of a person, in characters.
const NAME_CHARS: usize = 200;

/// What the pages need to answer.
#[derive(Clone)]
pub(crate) struct PageState {
    pub(super) api_state: ApiState,
    pub(super) shown: ListenerSources,
    pub(super) standings: Standings,
    pub(super) tokens: Reloadable<Tokens>,
    /// Seals the sessions of a process without tokens.
    own: Uuid,
    pub(super) overview: Arc<Cached<Result<Counted, Problem>>>,
    pub(super) figures: NewestFigures,
    pub(super) dead_letters: DeadSearches,
    pub(super) messages: MessageSearches,
    pub(super) counts: Counts,
    pub(super) past: PastSearches,
}

impl PageState {
    /// The state of the pages, over that of the API.
    pub(crate) fn new(
        api_state: ApiState,
        shown: ListenerSources,
        standings: Standings,
        tokens: Reloadable<Tokens>,
    ) -> Self {
        let overview = Arc::new(Cached::new(OVERVIEW_MAX_AGE));
        Self {
            api_state,
            shown,
            standings,
            tokens,
            own: Uuid::new_v4(),
            overview,
            figures: NewestFigures::default(),
            dead_letters: DeadSearches::default(),
            messages: MessageSearches::default(),
            counts: Counts::default(),
            past: PastSearches::default(),
        }
    }

    pub(super) fn seal(&self) -> Seal {
        Seal::of(&self.tokens.current(), self.own, &self.api_state.started.database.environment)
    }

    pub(super) fn context(&self, sealed: &Sealed, request: &Request) -> RequestContext {
        let config = &self.api_state.started;
        let named = config.admin.user_header.as_ref().and_then(|header| named_by(header, request.headers()));
        let mut session = sealed.session.clone();
        if let Some(named) = &named {
            session.name.clone_from(named);
        }
        let tokens = self.tokens.current();
        // A proxy that knows people may send a token for them, with each request. No session keeps what that allows.
        let by_proxy =
            Some(request.headers()).filter(|_| tokens.needed()).and_then(|headers| tokens.role_by_token(headers));
        let by_proxy = by_proxy.filter(|role| *role > Role::Metrics);
        session.role = by_proxy.or(session.role).map(|role| tokens.limited(role, request.headers()));
        let address = request.uri().path_and_query().map_or("/", |address| address.as_str()).to_owned();
        RequestContext {
            redaction: Redaction::of(session.role, &self.api_state),
            session,
            named,
            form_token: self.seal().form_token(sealed),
            signs_in: tokens.needed() && by_proxy.is_none(),
            // A form cannot be looked at.
            back: if request.method() == Method::GET { address.clone() } else { "/".to_owned() },
            address,
            place: (config.database.environment.clone(), config.admin.instance.clone()),
        }
    }
}

/// The person whom a proxy names in this header.
fn named_by(header: &HeaderName, headers: &HeaderMap) -> Option<String> {
    let name = std::str::from_utf8(headers.get(header)?.as_bytes()).ok()?.trim();
    Some(name.chars().take(NAME_CHARS).collect()).filter(|name: &String| !name.is_empty())
}
