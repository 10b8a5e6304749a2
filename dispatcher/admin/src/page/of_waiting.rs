//! Changing all messages that wait and meet the filter of the list: they are cancelled, or made due. The form says first which those
//! are.

use axum::extract::State;
use axum::response::Response;
use maud::html;
use outbox_desk::{Action, Change, MessageSelection};

use super::fields::{AUTHOR, Asked, Fields, Get, Post, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::ordered::{ordered, told};
use super::parts::number;
use super::paths;
use super::selected::{back, counted, meant, selection, table_of, uncounted, would};
use crate::api::Problem;

/// A change, and the words of its form.
struct Form {
    action: Action,
    change: fn(MessageSelection) -> Change,
    title: &'static str,
    kind: &'static str,
    become_of_them: &'static str,
    none: &'static str,
    button: &'static str,
    done: &'static str,
}

const CANCEL: Form = Form {
    action: Action::Cancel,
    change: |selection| Change::Cancel { selection },
    title: "Cancel messages",
    kind: "waiting",
    become_of_them: "would be cancelled, and not be sent.",
    none: "Only what waits can be cancelled.",
    button: "Cancel them",
    done: "Cancelled",
};

const RETRY: Form = Form {
    action: Action::Retry,
    change: |selection| Change::Retry { selection },
    title: "Retry messages now",
    kind: "waiting",
    become_of_them: "would be due now.",
    none: "Only what waits for another attempt can be retried, and what is named also before its first one.",
    button: "Retry them now",
    done: "Retried",
};

pub(super) async fn cancel_form(get: Get) -> Result<Response, Problem> {
    CANCEL.show(get).await
}

pub(super) async fn retry_form(get: Get) -> Result<Response, Problem> {
    RETRY.show(get).await
}

pub(super) async fn cancel(post: Post) -> Result<Response, Instead> {
    CANCEL.carry_out(post).await
}

pub(super) async fn retry(post: Post) -> Result<Response, Instead> {
    RETRY.carry_out(post).await
}

impl Form {
    async fn show(&self, (State(page_state), context, Asked(asked)): Get) -> Result<Response, Problem> {
        context.require(self.action)?;
        let meant = meant(&asked)?;
        let counted = counted(&page_state, &meant, self.action).await?;
        let body = html! {
            @if let Some((found, _)) = &counted {
                p.lead {
                    (would(found, self.kind, self.become_of_them))
                    @let deferred: u64 = found.groups.iter().map(|group| group.deferred).sum();
                    @if self.action == Action::Retry && deferred > 0 {
                        " Of them " (number(deferred)) " are deferred, and are left: see " a href="/destinations" { "what holds them" } "."
                    }
                }
            } @else { (uncounted(&meant, self.action)) }
            @if let Some(counted) = &counted { (table_of(counted, "Messages that wait")) }
            @if counted.as_ref().is_some_and(|(found, _)| found.is_none()) {
                p { (self.none) }
            } @else {
                form.change method="post" action={ (paths::MESSAGES) "/" (self.action.as_str()) } {
                    (context.token())
                    (meant.hidden())
                    (context.author_fields(false, &Fields::default()))
                    button.main type="submit" { (self.button) }
                }
            }
            (back(&meant))
        };
        Ok(context.page(&Content::still(self.title, body)))
    }

    async fn carry_out(&self, (State(page_state), context, Sent(sent)): Post) -> Result<Response, Instead> {
        let meant = sent.among(&AUTHOR, false);
        let selection = selection(&meant, self.action)?;
        let done = ordered(&page_state, &(self.change)(selection), &sent).await?;
        let body = html! { (told(&done)) (back(&meant)) };
        Ok(context.page(&Content::still(self.done, body)))
    }
}
