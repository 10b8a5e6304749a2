//! What a browser is shown while the replica waits for its database.

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, html};

use super::assets::{ICON, STYLE};
use super::auth::{HEADERS, accepts_pages};
use crate::api::PREFIX;
use outbox_console::text::visible;

pub(crate) use super::assets::routes as assets;

/// Whether a person at a browser asks for a page. Programs get a problem.
pub(crate) fn is_for_a_person(request: &Request) -> bool {
    let asks = request.method() == Method::GET || request.method() == Method::HEAD;
    asks && accepts_pages(request.headers()) && !request.uri().path().starts_with(PREFIX)
}

/// The page that says that the replica waits, and why, where that may be told.
pub(crate) fn page(cause: Option<&str>) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Waiting · outbox" }
                link rel="icon" type=(ICON.media_type()) href=(ICON.address());
                link rel="stylesheet" href=(STYLE.address());
            }
            body {
                header.top { span.brand { "outbox" } }
                main #main {
                    h1 { "This replica waits for its database" }
                    p.note.warning role="status" { (cause.unwrap_or("The log of the replica says why, and so does /readyz with admin.read_token.")) }
                    p { "It begins by itself once the database answers. " a href="" { "Look again" } }
                }
            }
        }
    };
    let mut answer = (StatusCode::SERVICE_UNAVAILABLE, Html(visible(&page.into_string()).into_owned())).into_response();
    answer.headers_mut().extend(HEADERS);
    answer
}
