//! Who uses the page, what they may do, and that a form comes from this page. All answers of the page pass here.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::request_context::{RequestContext, TOKEN_FIELD};
use super::session::{Sealed, Session};
use super::{PageState, frame, paths};
use crate::access::{ANOTHER_NAME, Role, names_this_machine};
use crate::api::{Kind, PREFIX, Problem};

/// The longest body of a form, in bytes: a payload and its other fields.
const FORM_BYTES: usize = 4 * 1024 * 1024;

/// The same for who may change nothing: a token, and a name.
const SMALL_FORM_BYTES: usize = 16 * 1024;

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

/// What an answer does to the session of its browser.
#[derive(Debug, Clone)]
pub(super) enum Cookie {
    /// A new session.
    Begin(Session),
    /// No session any more.
    End,
}

/// Receives a person: finds their session, answers, and shows a problem as a page.
pub(super) async fn receive(State(page_state): State<PageState>, mut request: Request, next: Next) -> Response {
    let tokens = page_state.tokens.current();
    let seal = page_state.seal();
    let over_tls = is_over_tls(request.headers());
    let (sealed, is_new) = match seal.opened(request.headers()) {
        Some(sealed) => (sealed, false),
        None => (seal.seal(Session::new((!tokens.needed()).then_some(Role::Operate), "")), true),
    };
    let context = page_state.context(&sealed, &request);
    request.extensions_mut().insert(context.clone());
    if let Some(role) = context.session.role {
        request.extensions_mut().insert(role);
    }
    let answer = if !tokens.needed() && !names_this_machine(request.headers()) {
        Problem::new(Kind::NotAllowed, ANOTHER_NAME).into_response()
    } else if request.method() == Method::GET || request.method() == Method::HEAD {
        next.run(request).await
    } else if context.session.role.is_none() && request.uri().path() != paths::SIGN_IN {
        // Its form is not even read: the place of the connection is for somebody else.
        Problem::new(Kind::NoToken, "sign in first").into_response()
    } else {
        match with_its_form(&page_state, &sealed, &context, request).await {
            Ok(request) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    };
    let mut response = in_its_form(&context, answer);
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
pub(crate) async fn receive_strays(State(page_state): State<PageState>, request: Request, next: Next) -> Response {
    let for_a_person = accepts_pages(request.headers()) && !request.uri().path().starts_with(PREFIX);
    if !for_a_person {
        return next.run(request).await;
    }
    let seal = page_state.seal();
    let opened = seal.opened(request.headers());
    let sealed = opened.unwrap_or_else(|| {
        let role = (!page_state.tokens.current().needed()).then_some(Role::Operate);
        seal.seal(Session::new(role, ""))
    });
    let context = page_state.context(&sealed, &request);
    let mut answer = next.run(request).await;
    let Some(problem) = answer.extensions_mut().remove::<Problem>() else { return answer };
    let problem = if problem.status == StatusCode::METHOD_NOT_ALLOWED.as_u16() {
        Problem { detail: ONLY_A_FORM.to_owned(), ..problem }
    } else if problem.kind == Kind::NoToken && context.session.role.is_some() {
        // A session opens the pages only, and this is none.
        Problem::new(Kind::NotThere, NO_PAGE)
    } else {
        problem
    };
    let mut page = in_its_form(&context, problem.into_response());
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
fn in_its_form(context: &RequestContext, mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    if problem.kind == Kind::NoToken && context.session.role.is_none() {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("to", &context.back).finish();
        return Redirect::to(&format!("{}?{query}", paths::SIGN_IN)).into_response();
    }
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, frame::problem(context, &problem)).into_response()
}

/// Lets those pass who have this role, or more.
pub(super) async fn require(
    State(needed): State<Role>,
    context: RequestContext,
    request: Request,
    next: Next,
) -> Response {
    match context.require_role(needed) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// The request, where its form comes from this page and this session. No page on the web can send the token, and neither can a
/// message of a channel.
async fn with_its_form(
    page_state: &PageState,
    sealed: &Sealed,
    context: &RequestContext,
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
    let most = if context.retries() { FORM_BYTES } else { SMALL_FORM_BYTES };
    let patience = if context.retries() { FORM_PATIENCE } else { SMALL_FORM_PATIENCE };
    let body = tokio::time::timeout(patience, to_bytes(body, most)).await;
    let Ok(Ok(body)) = body else {
        return Err(Problem::new(Kind::BadRequest, "the form is too large, or did not come whole in time"));
    };
    let token = url::form_urlencoded::parse(&body).find(|(name, _)| name == TOKEN_FIELD);
    let is_own = token.is_some_and(|(_, token)| page_state.seal().is_form_token(sealed, &token));
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
