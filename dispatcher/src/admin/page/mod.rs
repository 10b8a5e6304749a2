//! The page at `/` of `admin.listen`: what the command line and the API show and change, for people at a browser. It asks the same
//! desk; a file of this folder is one page. Nothing on it needs a script.

mod assets;
mod audit;
mod charts;
mod check;
mod dead_letters;
mod deaths;
mod destinations;
mod details;
mod door;
mod downloads;
mod edit;
mod edit_many;
mod fields;
mod figures;
mod frame;
mod hand_overs;
mod invalid_targets;
mod links;
mod message;
mod messages;
mod of_waiting;
mod operations;
mod ordering_keys;
mod overview;
mod pace;
mod parts;
mod redrive;
mod replay;
mod retention;
mod searches;
mod selected;
mod session;
mod settings;
mod sign_in;
mod tables;
mod terms;
pub(crate) mod waiting;
mod wake;
mod well;
mod went;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method};
use axum::routing::{get, post};
use axum::{Router, middleware};
use uuid::Uuid;

use crate::admin::api::{Office, Problem, Sight};
use crate::admin::listener::{ListenerSources, Tokens};
use crate::health::cached::Cached;
use crate::health::standings::Standings;
use crate::in_force::InForce;
pub(crate) use door::{SIGN_IN, receive_strays};

use door::Visit;
use figures::NewestFigures;
use session::{Seal, Sealed};

/// How long the overview is reused: browsers that are left open ask for it again and again.
const OVERVIEW_MAX_AGE: Duration = Duration::from_secs(2);

/// The longest name of a person, in characters.
const NAME_CHARS: usize = 200;

/// What the pages need to answer.
#[derive(Clone)]
pub(crate) struct Reception {
    office: Office,
    shown: ListenerSources,
    standings: Standings,
    tokens: InForce<Tokens>,
    /// Seals the sessions of a process without tokens.
    own: Uuid,
    overview: Arc<Cached<Result<overview::Counted, Problem>>>,
    figures: NewestFigures,
    dead_letters: dead_letters::DeadSearches,
    messages: messages::MessageSearches,
    counts: selected::Counts,
    past: retention::PastSearches,
}

impl Reception {
    /// A reception before this office.
    pub(crate) fn new(office: Office, shown: ListenerSources, standings: Standings, tokens: InForce<Tokens>) -> Self {
        let overview = Arc::new(Cached::new(OVERVIEW_MAX_AGE));
        Self {
            office,
            shown,
            standings,
            tokens,
            own: Uuid::new_v4(),
            overview,
            figures: NewestFigures::default(),
            dead_letters: dead_letters::DeadSearches::default(),
            messages: messages::MessageSearches::default(),
            counts: selected::Counts::default(),
            past: retention::PastSearches::default(),
        }
    }

    fn seal(&self) -> Seal {
        Seal::of(&self.tokens.current(), self.own, &self.office.started.database.environment)
    }

    fn visit(&self, sealed: &Sealed, request: &Request) -> Visit {
        let config = &self.office.started;
        let named = config.admin.user_header.as_ref().and_then(|header| named_by(header, request.headers()));
        let mut session = sealed.session.clone();
        if let Some(named) = &named {
            session.name.clone_from(named);
        }
        let address = request.uri().path_and_query().map_or("/", |address| address.as_str()).to_owned();
        Visit {
            session,
            named,
            sight: Sight::of(sealed.session.role, &self.office),
            form_token: self.seal().form_token(sealed),
            signs_in: self.tokens.current().needed(),
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

/// All routes of the page. `questions`, `changes` and `hints` say how patient the listener is with them.
pub(crate) fn routes(
    reception: &Reception,
    questions: impl FnOnce(Router<Reception>) -> Router<Reception>,
    changes: impl FnOnce(Router<Reception>) -> Router<Reception>,
    hints: impl FnOnce(Router<Reception>) -> Router<Reception>,
) -> Router {
    let shows = questions(shown()).route_layer(middleware::from_fn(door::require_read));
    let changes = changes(changed()).route_layer(middleware::from_fn(door::require_operate));
    // It asks nothing of the database, and waits behind no change.
    let hints = hints(Router::new().route(wake::PATH, post(wake::wake)));
    let hints = hints.route_layer(middleware::from_fn(door::require_operate));
    let doors = Router::new()
        .route(SIGN_IN, get(sign_in::form).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out));
    let receives = middleware::from_fn_with_state(reception.clone(), door::receive);
    let pages = shows.merge(changes).merge(hints).merge(doors).route_layer(receives).with_state(reception.clone());
    pages.merge(assets::routes())
}

/// The pages that change nothing.
fn shown() -> Router<Reception> {
    Router::new()
        .route("/", get(overview::show))
        .route("/messages", get(messages::list))
        .route("/messages/find", get(messages::find))
        .route("/messages/replay", get(replay::form))
        .route("/messages/cancel", get(of_waiting::cancel_form))
        .route("/messages/retry", get(of_waiting::retry_form))
        .route("/messages/{id}", get(message::show))
        .route("/messages/{id}/edit", get(edit::form))
        .route("/dead-letters", get(dead_letters::list))
        .route("/dead-letters/redrive", get(redrive::redrive_form))
        .route("/dead-letters/purge", get(redrive::purge_form))
        .route("/dead-letters/edit", get(edit_many::form))
        .route("/redrives/{id}/undo", get(redrive::undo_form))
        .route("/ordering-keys", get(ordering_keys::list))
        .route("/destinations", get(destinations::list))
        .route("/operations", get(operations::list))
        .route("/operations/{id}", get(operations::show))
        .route("/terms", get(terms::list))
        .route("/figures", get(figures::show))
        .route("/invalid-targets", get(invalid_targets::list))
        .route("/audit", get(audit::list))
        .route(retention::PATH, get(retention::show))
        .route("/retention/prune", get(retention::form))
        .route("/settings", get(settings::show))
        .route("/check", get(check::show))
        .route("/audit/download/{format}", get(downloads::audit))
        .route("/invalid-targets/download/{format}", get(downloads::invalid_targets))
}

/// The forms that change something.
fn changed() -> Router<Reception> {
    Router::new()
        .route("/messages/{id}/cancel", post(message::cancel))
        .route("/messages/{id}/retry", post(message::retry))
        .route("/messages/{id}/redrive", post(message::redrive))
        .route("/messages/{id}/edit", post(edit::edit))
        .route("/messages/replay", post(replay::replay))
        .route("/messages/cancel", post(of_waiting::cancel))
        .route("/messages/retry", post(of_waiting::retry))
        .route("/dead-letters/redrive", post(redrive::redrive))
        .route("/dead-letters/purge", post(redrive::purge))
        .route("/dead-letters/edit", post(edit_many::edit))
        .route("/redrives/{id}/undo", post(redrive::undo))
        .route("/operations/{id}/stop", post(operations::stop))
        .route("/destinations/pause", post(destinations::pause))
        .route("/destinations/resume", post(destinations::resume))
        .route("/invalid-targets/clear", post(invalid_targets::clear))
        .route("/retention/prune", post(retention::prune))
}
