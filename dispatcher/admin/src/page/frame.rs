//! The frame of each page: its head, the way to the other pages, and what went wrong.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets::{ICON, OWN_SCRIPT, SCRIPT, STYLE};
use super::fields::Fields;
use super::instead::Instead;
use super::links::prose;
use super::request_context::{RequestContext, TOKEN_FIELD};
use crate::api::Problem;
use outbox_console::text::visible;

/// How often a page that is live asks for its newest state.
const EVERY: &str = "every 5s";

/// What the script may do: nothing that the policy of the page forbids.
const SCRIPT_SETTINGS: &str = r#"{"includeIndicatorCSS":false,"history":false}"#;

/// The pages that the way leads to.
const WAY: [(&str, &str); 14] = [
    ("/", "Overview"),
    ("/messages", "Messages"),
    ("/dead-letters", "Dead letters"),
    ("/ordering-keys", "Halted keys"),
    ("/operations", "Operations"),
    ("/destinations", "Destinations"),
    ("/recurring", "Recurring"),
    ("/jobs", "Jobs"),
    ("/terms", "Terms"),
    ("/invalid-targets", "Invalid targets"),
    ("/audit", "Audit"),
    ("/retention", "Retention"),
    ("/settings", "Settings"),
    ("/check", "Check"),
];

/// A page that is to be shown.
pub(super) struct Content {
    /// The title.
    pub(super) title: String,
    /// What stands above the rest, and stays as it is while the rest is live. Forms belong here.
    pub(super) above: Markup,
    /// The rest.
    pub(super) body: Markup,
    /// Whether the rest is asked for again and again.
    pub(super) live: bool,
}

impl Content {
    /// A page that stays as it is.
    pub(super) fn still(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), above: html! {}, body, live: false }
    }

    /// A page that is kept up to date where the browser runs the script.
    pub(super) fn live(title: impl Into<String>, above: Markup, body: Markup) -> Self {
        Self { title: title.into(), above, body, live: true }
    }
}

impl RequestContext {
    /// The whole page.
    ///
    /// What rows say is in it, and rows are written by strangers. The templates escape each text; here, at last, what would deceive
    /// an eye is made visible in all of it.
    pub(super) fn page(&self, content: &Content) -> Response {
        let page = self.framed(content).into_string();
        Html(visible(&page).into_owned()).into_response()
    }

    /// What was read of a filter. The page of one that cannot be read shows nothing rather than everything.
    pub(super) fn understood<T>(&self, title: &str, filter: &Markup, read: Result<T, Problem>) -> Result<T, Instead> {
        read.map_err(|refused| {
            let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
            let content = Content { above: filter.clone(), ..Content::still(title, wrong(&refused)) };
            Instead::of((status, self.page(&content)).into_response())
        })
    }

    fn framed(&self, content: &Content) -> Markup {
        let (environment, instance) = &self.place;
        let at = self.address.split('?').next().unwrap_or_default();
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="htmx-config" content=(SCRIPT_SETTINGS);
                    title { (content.title) " · outbox" }
                    link rel="icon" type=(ICON.media_type()) href=(ICON.address());
                    link rel="stylesheet" href=(STYLE.address());
                    script src=(SCRIPT.address()) defer {}
                    script src=(OWN_SCRIPT.address()) defer {}
                }
                body {
                    a.skip href="#main" { "To the content" }
                    header.top {
                        a.brand href="/" { "outbox" }
                        span.place title="The environment of this outbox" { (environment) }
                        @if self.session.role.is_some() {
                            (find())
                        }
                        (self.person(instance.as_deref()))
                    }
                    @if self.session.role.is_some() {
                        nav.way aria-label="Pages" {
                            ul {
                                @for (path, name) in WAY {
                                    li { a href=(path) aria-current=[is_at(at, path).then_some("page")] { (name) } }
                                }
                            }
                        }
                    }
                    main #main tabindex="-1" {
                        h1 { (content.title) }
                        (content.above)
                        @if content.live {
                            div #live hx-get=(self.address) hx-trigger=(EVERY) hx-select="#live" hx-swap="outerMorph" {
                                (content.body)
                            }
                        } @else {
                            div #live { (content.body) }
                        }
                    }
                }
            }
        }
    }

    fn person(&self, instance: Option<&str>) -> Markup {
        html! {
            div.person {
                @if let Some(instance) = instance {
                    span title="The replica that answers" { (instance) }
                }
                @if let Some(role) = self.session.role.filter(|_| self.signs_in || self.named.is_some()) {
                    span.role { (role.word()) }
                }
                @if self.signs_in && self.session.role.is_some() {
                    form method="post" action="/sign-out" {
                        (self.token())
                        button.quiet type="submit" { "Sign out" }
                    }
                }
            }
        }
    }

    /// The hidden field that each form which changes something carries.
    pub(super) fn token(&self) -> Markup {
        html! { input type="hidden" name=(TOKEN_FIELD) value=(self.form_token); }
    }

    /// A button that does something to what has a name: the form of a list.
    pub(super) fn act(&self, path: &str, name: &str, action: &str, word: &str) -> Markup {
        html! {
            form method="post" action=(path) {
                (self.token())
                input type="hidden" name="name" value=(name);
                input type="hidden" name="action" value=(action);
                input type="hidden" name="by" value=(self.session.name);
                button type="submit" aria-label={ (word) " " (visible(name)) } { (word) }
            }
        }
    }

    /// The fields of a change: who makes it, and why. `sent` is what the form had before, where it is shown again.
    pub(super) fn author_fields(&self, why_is_needed: bool, sent: &Fields) -> Markup {
        html! {
            label {
                span { "Why" @if !why_is_needed { span.hint { "optional; the audit keeps it" } } }
                input type="text" name="why" value=[sent.get("why")] required[why_is_needed] maxlength="1000" autocomplete="off";
            }
            @if let Some(named) = &self.named {
                p.hint { "The audit will say that it was " (visible(named)) "." }
            } @else {
                label {
                    span { "Your name" span.hint { "for the audit" } }
                    input type="text" name="by" value=(sent.get("by").unwrap_or(&self.session.name)) maxlength="200" autocomplete="username";
                }
            }
        }
    }
}

/// The search for one message, which is on each page.
fn find() -> Markup {
    html! {
        form.find role="search" method="get" action="/messages/find" {
            input type="search" name="message" placeholder="Id, key, tag, target"
                aria-label="Find messages by id, idempotency key or its beginning, tag, target, tenant or ordering key" required;
            button type="submit" { "Find" }
        }
    }
}

fn is_at(at: &str, path: &str) -> bool {
    at == path || path != "/" && at.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

/// The page of a problem.
pub(super) fn problem(context: &RequestContext, problem: &Problem) -> Response {
    let body = html! {
        (wrong(problem))
        p { a href="/" { "To the overview" } }
    };
    context.page(&Content::still(problem.title.clone(), body))
}

/// What went wrong, within a page.
pub(super) fn wrong(problem: &Problem) -> Markup {
    html! { p.note.bad role="alert" { (prose(&problem.detail)) } }
}
