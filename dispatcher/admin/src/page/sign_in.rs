//! Signing in: a person trades a token for a session.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::auth::Cookie;
use super::fields::{AUTHOR, Asked, Fields, Post, Sent};
use super::frame::{Content, wrong};
use super::parts::lead_to;
use super::paths;
use super::request_context::RequestContext;
use super::session::Session;
use crate::access::Role;
use crate::api::{Kind, Problem};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    #[serde(default)]
    token: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    to: String,
}

pub(super) async fn form(context: RequestContext, Asked(asked): Asked) -> Response {
    if context.session.role.is_some() {
        return lead_to(within(asked.get("to").unwrap_or_default()));
    }
    context.page(&Content::still("Sign in", fields(&context, &asked, None)))
}

pub(super) async fn sign_in((State(page_state), context, Sent(sent)): Post) -> Result<Response, Problem> {
    let SignIn { token, name, to } = sent.among(&AUTHOR, false).read()?;
    let refused = match page_state.tokens.current().role_of(token.trim().as_bytes()) {
        Some(role @ (Role::Read | Role::Retry | Role::Operate)) => {
            let begin = Cookie::Begin(Session::new(Some(role), name.trim()));
            return Ok((Extension(begin), lead_to(within(&to))).into_response());
        }
        Some(Role::Metrics) => "admin.metrics_token is for /metrics alone: ask for admin.read_token",
        None => {
            "this is no token of this outbox: it is admin.token, admin.retry_token or admin.read_token of its settings"
        }
    };
    let problem = Problem::new(Kind::NotAllowed, refused);
    let page = context.page(&Content::still("Sign in", fields(&context, &sent, Some(&problem))));
    Ok((axum::http::StatusCode::FORBIDDEN, page).into_response())
}

pub(super) async fn sign_out() -> Response {
    (Extension(Cookie::End), lead_to(paths::SIGN_IN)).into_response()
}

fn fields(context: &RequestContext, asked: &Fields, problem: Option<&Problem>) -> Markup {
    html! {
        @if let Some(problem) = problem { (wrong(problem)) }
        form.sign-in method="post" action=(paths::SIGN_IN) {
            (context.token())
            input type="hidden" name="to" value=[asked.get("to")];
            label {
                span { "Token" }
                input type="password" name="token" required autofocus autocomplete="current-password";
            }
            p.hint {
                code { "admin.token" } " reads and changes, " code { "admin.retry_token" } " reads and sends again, " code { "admin.read_token" } " only reads. The session lasts 12 hours."
            }
            @if context.named.is_none() {
                label {
                    span { "Your name" span.hint { "for the audit" } }
                    input type="text" name="name" value=[asked.get("name")] maxlength="200" autocomplete="username";
                }
            }
            button.main type="submit" { "Sign in" }
        }
    }
}

/// The address to go on to. One of another site is none.
fn within(address: &str) -> &str {
    let is_within =
        address.starts_with('/') && !address.starts_with("//") && !address.contains(['\\', '\t', '\r', '\n']);
    if is_within { address } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_who_signs_in_stays_on_this_site() {
        for (address, led_to) in [
            ("/messages?status=dead", "/messages?status=dead"),
            ("", "/"),
            ("https://other.example/", "/"),
            ("//other.example/", "/"),
            ("/\\other.example/", "/"),
            ("/\t/other.example/", "/"),
        ] {
            assert_eq!(within(address), led_to, "{address:?}");
        }
    }
}
