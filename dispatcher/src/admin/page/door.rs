//! The door: who comes in, what they may do, and that a form comes from this page. All answers of the page leave through it.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::Reception;
use super::frame;
use super::session::{Sealed, Session};
use crate::admin::api::{Kind, PREFIX, Problem, Sight};
use crate::admin::listener::{ANOTHER_NAME, ONLY_READS, Role, names_this_machine};

/// The field of a form that shows where the form comes from.
pub(super) const TOKEN_FIELD: &str = "form";

/// The longest body of a form, in bytes: a payload and its other fields.
const FORM_BYTES: usize = 4 * 1024 * 1024;

/// The same for who may change nothing: a token, and a name.
const SMALL_FORM_BYTES: usize = 16 * 1024;

/// Where a person signs in.
pub(crate) const SIGN_IN: &str = "/sign-in";

/// How long the form of a person who operates may take to come.
const FORM_PATIENCE: Duration = Duration::from_mins(1);

/// The same for all others. Whoever is slow holds a place that others wait for.
const SMALL_FORM_PATIENCE: Duration = Duration::from_secs(2);

/// What a browser must not do with an answer, and what others must not do with it.
pub(super) const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// A request of a person, as the pages see it.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) session: Session,
    /// The name of the person, where a proxy says it.
    pub(super) named: Option<String>,
    /// What the person may see of messages.
    pub(super) sight: Sight,
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

impl Visit {
    /// Whether the person may change anything. Without that, no form is shown.
    pub(super) fn operates(&self) -> bool {
        self.session.role >= Some(Role::Operate)
    }

    /// Refuses a person who may only read.
    pub(super) fn require_operate(&self) -> Result<(), Problem> {
        if self.operates() { Ok(()) } else { Err(Problem::new(Kind::NotAllowed, ONLY_READS)) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let visit = parts.extensions.get::<Self>().cloned();
        visit.ok_or_else(|| Problem::new(Kind::NoToken, "sign in first"))
    }
}

/// What an answer does to the session of its browser.
#[derive(Debug, Clone)]
pub(super) enum Cookie {
    /// A new session.
    Begin(Session),
    /// No session any more.
    End,
}

/// Receives a person: finds their session, answers, and shows a problem as a page.
pub(super) async fn receive(State(reception): State<Reception>, mut request: Request, next: Next) -> Response {
    let tokens = reception.tokens.current();
    let seal = reception.seal();
    let over_tls = is_over_tls(request.headers());
    let (sealed, is_new) = match seal.opened(request.headers()) {
        Some(sealed) => (sealed, false),
        None => (seal.seal(Session::new((!tokens.needed()).then_some(Role::Operate), "")), true),
    };
    let visit = reception.visit(&sealed, &request);
    request.extensions_mut().insert(visit.clone());
    if let Some(role) = visit.session.role {
        request.extensions_mut().insert(role);
    }
    let answer = if !tokens.needed() && !names_this_machine(request.headers()) {
        Problem::new(Kind::NotAllowed, ANOTHER_NAME).into_response()
    } else if request.method() == Method::GET || request.method() == Method::HEAD {
        next.run(request).await
    } else if visit.session.role.is_none() && request.uri().path() != SIGN_IN {
        // Its form is not even read: the place of the connection is for somebody else.
        Problem::new(Kind::NoToken, "sign in first").into_response()
    } else {
        match with_its_form(&reception, &sealed, &visit, request).await {
            Ok(request) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    };
    let mut response = in_its_form(&visit, answer);
    let cookie = match response.extensions_mut().remove::<Cookie>() {
        Some(Cookie::Begin(session)) => seal.cookie(&seal.seal(session), over_tls),
        Some(Cookie::End) => seal.no_cookie(over_tls),
        None if is_new => seal.cookie(&sealed, over_tls),
        None => None,
    };
    let headers = response.headers_mut();
    headers.extend(HEADERS);
    headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// Shows a person at a browser what went wrong at an address that is none of the page. Programs get the problem as it is.
pub(crate) async fn receive_strays(State(reception): State<Reception>, request: Request, next: Next) -> Response {
    let for_a_person = accepts_pages(request.headers()) && !request.uri().path().starts_with(PREFIX);
    if !for_a_person {
        return next.run(request).await;
    }
    let seal = reception.seal();
    let opened = seal.opened(request.headers());
    let sealed = opened.unwrap_or_else(|| {
        let role = (!reception.tokens.current().needed()).then_some(Role::Operate);
        seal.seal(Session::new(role, ""))
    });
    let visit = reception.visit(&sealed, &request);
    let mut answer = next.run(request).await;
    let Some(problem) = answer.extensions_mut().remove::<Problem>() else { return answer };
    let problem = if problem.status == StatusCode::METHOD_NOT_ALLOWED.as_u16() {
        Problem { detail: ONLY_A_FORM.to_owned(), ..problem }
    } else if problem.kind == Kind::NoToken && visit.session.role.is_some() {
        // A session opens the pages only, and this is none.
        Problem::new(Kind::NotThere, NO_PAGE)
    } else {
        problem
    };
    let mut page = in_its_form(&visit, problem.into_response());
    page.headers_mut().extend(HEADERS);
    page
}

/// What a person hears at an address without a page.
const NO_PAGE: &str = "no page has this address";

/// What a person hears who opens the address of a form.
const ONLY_A_FORM: &str = "there is nothing to see at this address: a form of the page sends something to it";

/// Whether a browser asks, which shows pages.
pub(super) fn accepts_pages(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accepted| accepted.to_str().ok());
    accepted.flat_map(|accepted| accepted.split(',')).any(|one| one.trim().starts_with("text/html"))
}

/// The one place where what went wrong becomes a page. Who has to sign in first is led there.
fn in_its_form(visit: &Visit, mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    if problem.kind == Kind::NoToken && visit.session.role.is_none() {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("to", &visit.back).finish();
        return Redirect::to(&format!("{SIGN_IN}?{query}")).into_response();
    }
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, frame::problem(visit, &problem)).into_response()
}

pub(super) async fn require_read(visit: Visit, request: Request, next: Next) -> Response {
    match visit.session.role {
        Some(Role::Read | Role::Operate) => next.run(request).await,
        Some(Role::Metrics) | None => Problem::new(Kind::NoToken, "sign in first").into_response(),
    }
}

pub(super) async fn require_operate(visit: Visit, request: Request, next: Next) -> Response {
    match (visit.session.role, visit.require_operate()) {
        (None, _) => Problem::new(Kind::NoToken, "sign in first").into_response(),
        (Some(_), Ok(())) => next.run(request).await,
        (Some(_), Err(problem)) => problem.into_response(),
    }
}

/// The request, where its form comes from this page and this session. No page on the web can send the token, and neither can a
/// message of a channel.
async fn with_its_form(
    reception: &Reception,
    sealed: &Sealed,
    visit: &Visit,
    request: Request,
) -> Result<Request, Problem> {
    let refused = |why: &str| Problem::new(Kind::NotAllowed, why);
    // https://www.w3.org/TR/fetch-metadata/: a browser says it, and no script can.
    let site = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return Err(refused("the form comes from another page: go to this one, and send it from there"));
    }
    let (parts, body) = request.into_parts();
    // Nobody who has not signed in makes the process keep much.
    let most = if visit.operates() { FORM_BYTES } else { SMALL_FORM_BYTES };
    let patience = if visit.operates() { FORM_PATIENCE } else { SMALL_FORM_PATIENCE };
    let body = tokio::time::timeout(patience, to_bytes(body, most)).await;
    let Ok(Ok(body)) = body else {
        return Err(Problem::new(Kind::BadRequest, "the form is too large, or did not come whole in time"));
    };
    let token = url::form_urlencoded::parse(&body).find(|(name, _)| name == TOKEN_FIELD);
    let is_own = token.is_some_and(|(_, token)| reception.seal().is_form_token(sealed, &token));
    if !is_own {
        return Err(refused(
            "the form is not of this session, which may have ended meanwhile: go back, load the page again, and send the \
             form once more. Nothing was changed",
        ));
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Whether the browser speaks TLS with what stands before this replica.
fn is_over_tls(headers: &HeaderMap) -> bool {
    let forwarded = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
    forwarded.is_some_and(|protocol| protocol.eq_ignore_ascii_case("https"))
}
