//! How long the rows of each kind are kept, how many messages are past their time, and removing those now.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, Change, Desk, RunsBy};
use outbox_store::retention::{Pruned, Retention};
use serde::Deserialize;

use super::fields::{AUTHOR, Asked, Fields, Get, Post, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::ordered::{counted_messages, ordered, told};
use super::parts::{filter_text, looked_before, nothing, table};
use super::searches::{self, FORM_PATIENCE, Found, not_counted, under_way};
use super::tables::{Row, Shape};
use super::{PageState, paths};
use crate::api::{Authored, Problem, PruneBody};
use outbox_config::{RetentionConfig, format_time};
use outbox_console::health::replicas::Replicas;

/// Where the form of a prune is, and where it is sent to.
const PRUNE: &str = "/retention/prune";

/// The titles of the page and of the form.
const TITLE: &str = "Retention";
const FORM_TITLE: &str = "Remove what is past its time";

/// The times that somebody asks for. What is left out is as the fleet keeps it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    success: Option<String>,
    dead: Option<String>,
}

impl Times {
    /// The retention that these times and the fleet give together.
    fn over(self, kept: &Retention) -> Result<Retention, Problem> {
        let time = |said: Option<String>| said.map(|said| said.trim().to_owned());
        PruneBody { success: time(self.success), dead: time(self.dead), author: Authored::default() }.retention(kept)
    }
}

/// How long the fleet keeps messages, and not the replica that answers: what is removed cannot be brought back. The settings of this
/// replica, where no replica says it.
async fn kept_by_fleet(page_state: &PageState) -> Retention {
    let replicas = Replicas::of(&page_state.api_state.database).await.unwrap_or_default();
    let told = replicas.runs_by().and_then(RunsBy::retention);
    told.unwrap_or_else(|| (*page_state.api_state.retention.current()).clone())
}

pub(super) async fn show((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let (kept, mine) = (kept_by_fleet(&page_state).await, page_state.api_state.retention.current());
    let above = html! {
        p.lead { "The poller removes what is past its time by itself, in small batches beside the deliveries. Nothing brings it back." }
        (differences(&kept, &mine))
        (times_fields(&kept, &asked))
    };
    let retention = context.understood(TITLE, &above, asked.read::<Times>().and_then(|times| times.over(&kept)))?;
    let past = past(&page_state, searches::PATIENCE, &retention).await?;
    let above = html! {
        (above)
        // Also where they are counted still.
        @if context.operates() && past.is_none_or(|(past, _)| past.total() > 0) {
            div.actions {
                a.button.danger href=(times_of(&retention).at(PRUNE)) { "Remove them now…" }
                span.hint { "before the poller comes to them" }
            }
        }
    };
    let body = html! {
        @match past {
            Some((past, age)) => { (past_in_words(past, &retention)) (looked_before(age)) },
            None => (under_way(&asked.at(paths::RETENTION))),
        }
        section {
            h2 { "How long each kind is kept" }
            (each_kind(&kept, &page_state.api_state.config.current().retention))
        }
    };
    Ok(context.page(&Content::live(TITLE, above, body)))
}

/// Where the settings of this replica say another time than the fleet, which counts.
fn differences(kept: &Retention, mine: &Retention) -> Markup {
    let each = [("success", kept.success, mine.success), ("dead", kept.dead, mine.dead)];
    html! {
        @for (name, kept, mine) in each {
            @if kept != mine {
                p.note.warning {
                    code { "retention." (name) } " is " (written(kept)) " in the fleet, which counts here, and " (written(mine)) " in the settings of this replica."
                }
            }
        }
    }
}

/// How long each kind is kept, and from when on that counts.
fn each_kind(kept: &Retention, config: &RetentionConfig) -> Markup {
    let set = |name: &str| html! { code { "retention." (name) } };
    let rows = [
        ("Delivered messages, their keys and attempts", in_words(kept.success), "their delivery", set("success")),
        ("Dead letters and their attempts", in_words(kept.dead), "their death", set("dead")),
        ("Messages that wait", FOR_EVER.to_owned(), "", nothing()),
        ("Figures over time", in_words(config.figures), "their hour", set("figures")),
        ("Runs of jobs, but for the newest of each", in_words(config.jobs), "their beginning", set("jobs")),
        ("Terms", "30d, and the last 1,000 in any case".to_owned(), "their beginning", nothing()),
        ("Operations", "30d".to_owned(), "their end", nothing()),
        ("Destinations", "1d".to_owned(), "their last message, or the end of their pause", nothing()),
        ("Invalid targets", "until somebody forgets them".to_owned(), "", nothing()),
        ("Audit", FOR_EVER.to_owned(), "", nothing()),
    ];
    let row = |(what, kept, from, setting): (&str, String, &str, Markup)| {
        Row::of(what)
            .cell(kept)
            .cell(html! { @if from.is_empty() { (nothing()) } @else { (from) } })
            .shaped(Shape::Whole, setting)
    };
    html! {
        (table("How long each kind is kept", ["What", "Kept", "Counted from", "Setting"], rows.map(row)))
        p.hint { "A dead letter that halts its ordering key stays while a later message of the key waits." }
    }
}

/// The form that counts by other times. It changes nothing, so that who only reads has it too.
fn times_fields(kept: &Retention, asked: &Fields) -> Markup {
    html! {
        form.filter method="get" action=(paths::RETENTION) {
            (filter_text(asked, "success", "Delivered before", &format!("kept: {}", written(kept.success))))
            (filter_text(asked, "dead", "Died before", &format!("kept: {}", written(kept.dead))))
            div.buttons {
                button type="submit" { "Count" }
                @if !asked.is_empty() { a href=(paths::RETENTION) { "Usual times" } }
            }
        }
        p.hint { "How long ago, as 7d. never: none of them. 0s: all, however young." }
    }
}

/// The form of a prune, which says first what it would remove.
pub(super) async fn form((State(page_state), context, Asked(asked)): Get) -> Result<Response, Problem> {
    context.require(Action::Prune)?;
    let kept = kept_by_fleet(&page_state).await;
    let retention = asked.read::<Times>()?.over(&kept)?;
    let past = past(&page_state, FORM_PATIENCE, &retention).await?;
    let body = html! {
        @match past {
            None => (not_counted(&asked.at(PRUNE))),
            Some((past, _)) if past.total() == 0 => (past_in_words(past, &retention)),
            Some((past, age)) => {
                p.note.bad { strong { (counted_messages(past)) " would be removed for good," } " with their attempts and idempotency keys. Nothing is changed yet." }
                (looked_before(age))
            }
        }
        @if past.is_none_or(|(past, _)| past.total() > 0) {
            p { "Removed is what was " (which(&retention)) "." }
            form.change method="post" action=(PRUNE) {
                (context.token())
                // The times that were looked at, whatever the settings say by then.
                (times_of(&retention).hidden())
                (context.author_fields(true, &Fields::default()))
                button.danger type="submit" { "Remove them for good" }
            }
        }
        p { a href=(asked.at(paths::RETENTION)) { "Back" } }
    };
    Ok(context.page(&Content::still(FORM_TITLE, body)))
}

pub(super) async fn prune((State(page_state), context, Sent(sent)): Post) -> Result<Response, Instead> {
    let times: Times = sent.among(&AUTHOR, false).read()?;
    let retention = times.over(&kept_by_fleet(&page_state).await)?;
    // What the form counted, so that the operation says how far it is.
    let past = past(&page_state, searches::PATIENCE, &retention).await?;
    let change = Change::Prune { retention, of: past.map(|(past, _)| past.total()) };
    let done = ordered(&page_state, &change, &sent).await?;
    let body = html! {
        (told(&done))
        p { a href="/audit" { "The audit" } " keeps who removed them, and why." }
        p { a href=(paths::RETENTION) { "Back to the retention" } }
    };
    Ok(context.page(&Content::still("Removed", body)))
}

/// The messages that are past their time, or what was counted last. None where they are counted still.
async fn past(
    page_state: &PageState,
    patience: Duration,
    retention: &Retention,
) -> Result<Option<Found<Pruned>>, Problem> {
    let (database, asked) = (page_state.api_state.database.clone(), retention.clone());
    let count = move || async move { Ok(database.past_retention(&asked).await?) };
    let found = page_state.past.find_within(patience, times_of(retention).at(paths::RETENTION), count).await;
    found.map(|(past, age)| Ok((past?, age))).transpose()
}

fn past_in_words(past: Pruned, retention: &Retention) -> Markup {
    html! {
        @if past.total() == 0 {
            p.note.plain role="status" { "No message was " (which(retention)) "." }
        } @else {
            p.note.plain role="status" { strong { (counted_messages(past)) } ": " (which(retention)) "." }
        }
    }
}

/// Which messages a retention means to remove.
fn which(retention: &Retention) -> String {
    let delivered = retention.success.map(|time| format!("delivered more than {} ago", format_time(time)));
    let dead = retention.dead.map(|time| format!("died more than {} ago", format_time(time)));
    let both: Vec<_> = delivered.into_iter().chain(dead).collect();
    if both.is_empty() { "to be removed: both are kept for ever".to_owned() } else { both.join(", or ") }
}

/// The fields of an address or a form that mean this retention.
fn times_of(retention: &Retention) -> Fields {
    Fields::default().with("success", &written(retention.success)).with("dead", &written(retention.dead))
}

/// A time as settings and forms write it.
fn written(time: Option<Duration>) -> String {
    time.map_or_else(|| "never".to_owned(), format_time)
}

/// The word for a time without an end.
const FOR_EVER: &str = "for ever";

/// How long something is kept.
fn in_words(kept: Option<Duration>) -> String {
    kept.map_or_else(|| FOR_EVER.to_owned(), format_time)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn kept() -> Retention {
        Retention { success: Some(7 * DAY), dead: None, continuing: vec!["hook".to_owned()] }
    }

    fn times(success: Option<&str>, dead: Option<&str>) -> Result<Retention, Problem> {
        let said = |time: Option<&str>| time.map(str::to_owned);
        Times { success: said(success), dead: said(dead) }.over(&kept())
    }

    #[test]
    fn a_time_that_is_left_out_is_that_of_the_fleet_and_one_without_a_unit_is_refused_by_its_name() {
        assert_eq!(times(None, None).unwrap(), kept());
        let other = times(Some(" never "), Some("90d")).unwrap();
        assert_eq!((other.success, other.dead, other.continuing), (None, Some(90 * DAY), kept().continuing));
        let refused = times(None, Some("90")).unwrap_err();
        assert!(refused.detail.starts_with("dead = \"90\": it must be a time with its unit"), "{}", refused.detail);
    }

    #[test]
    fn what_a_form_writes_is_read_as_the_retention_that_was_looked_at() {
        for looked_at in [kept(), times(Some("36h"), Some("0s")).unwrap(), times(Some("1500ms"), None).unwrap()] {
            let read: Times = times_of(&looked_at).read().unwrap();
            assert_eq!(read.over(&kept()).unwrap(), looked_at);
        }
    }

    #[test]
    fn the_messages_that_are_meant_are_said_in_words() {
        assert_eq!(counted_messages(Pruned { success: 1_200, dead: 1 }), "1,200 delivered messages and 1 dead letter");
        let said = |past, retention: &Retention| past_in_words(past, retention).into_string();
        let none = said(Pruned::default(), &kept());
        assert!(none.contains("No message was delivered more than 7d ago."), "{none}");
        let some = said(Pruned { success: 0, dead: 2 }, &times(None, Some("90d")).unwrap());
        assert!(
            some.contains("2 dead letters</strong>: delivered more than 7d ago, or died more than 90d ago."),
            "{some}"
        );
        let never = said(Pruned::default(), &times(Some("never"), None).unwrap());
        assert!(never.contains("No message was to be removed: both are kept for ever."), "{never}");
    }

    #[test]
    fn the_table_names_each_time_and_a_replica_that_differs_from_the_fleet_says_so() {
        let config = RetentionConfig { success: None, dead: None, figures: Some(90 * DAY), jobs: Some(30 * DAY) };
        let table = each_kind(&kept(), &config).into_string();
        for row in
            ["<td>7d</td>", "<td>for ever</td>", "<td>90d</td>", "<td>30d</td>", "retention.success", "retention.jobs"]
        {
            assert!(table.contains(row), "{row}: {table}");
        }
        assert!(differences(&kept(), &kept()).into_string().is_empty());
        let other = differences(&kept(), &Retention { success: Some(DAY), ..kept() }).into_string();
        assert!(
            other.contains("is 7d in the fleet, which counts here, and 1d in the settings of this replica"),
            "{other}"
        );
    }
}
