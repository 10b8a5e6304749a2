//! The first lines of the overview: whether the replica is running, and what needs attention.

use std::time::Duration;

use maud::{Markup, html};
use outbox_desk::{ChannelVitals, HaltedVitals, PausedDestination};
use outbox_store::PauseKind;

use super::fields::Fields;
use super::links::destination;
use super::parts::{length, number, text};
use outbox_console::health::readiness::Standing;
use outbox_console::health::status::Status;

/// A channel whose oldest message has been due for longer is late. The alert `OutboxLagging` has the same bound.
const LATE: Duration = Duration::from_mins(5);

/// The most pauses that are named. The list of destinations has all.
const NAMED: usize = 5;

/// The sentence about a replica that is ready.
const READY: &str = "This replica is ready: the database and the lease store answer, and what is due has a poller.";

/// Says that it is running, or why it is not ready, and what needs attention. `dead_lately` is how often a message became a dead
/// letter within the hour. `status` is None where the database gave none.
pub(super) fn how_it_is(standing: &Standing, status: Option<&Status>, dead_lately: Option<u64>) -> Markup {
    let concerns = status.map(|status| concerns(status, dead_lately)).unwrap_or_default();
    let is_ready = standing.causes.is_empty();
    let is_calm = is_ready && standing.notes.is_empty() && concerns.is_empty();
    let no_letters = status.is_some_and(|status| dead_letters(status) == 0);
    html! {
        @if is_calm && no_letters {
            p.note.good { strong { "Running." } " " (READY) }
        } @else if is_ready {
            p.note.plain { (READY) }
        } @else {
            div.note.bad role="alert" {
                strong { "Not ready." }
                ul { @for cause in &standing.causes { li { (cause) } } }
            }
        }
        @if !standing.notes.is_empty() || !concerns.is_empty() {
            div.note.warning {
                strong { "Needs attention." }
                ul {
                    @for note in &standing.notes { li { (note) } }
                    @for concern in &concerns { li { (concern) } }
                }
            }
        }
    }
}

/// What needs attention, each with the way to it.
fn concerns(status: &Status, dead_lately: Option<u64>) -> Vec<Markup> {
    let nobody_has = status.not_configured.iter().map(|name| not_configured(name));
    let late = status.vitals.channels.iter().filter(|channel| channel.lag() > LATE);
    let late = late.filter(|channel| !status.not_configured.contains(&channel.channel)).map(lag);
    let halted = status.vitals.halted.iter().filter(|halted| halted.keys > 0).map(halted);
    nobody_has
        .chain(died(status, dead_lately))
        .chain(late)
        .chain(held_up(&status.vitals.paused))
        .chain(halted)
        .collect()
}

fn not_configured(channel: &str) -> Markup {
    let waiting = Fields::default().with("channel", channel).with("status", "PENDING").at("/messages");
    html! { "Nobody has configured channel " (text(channel)) ": " a href=(waiting) { "its messages" } " wait." }
}

fn dead_letters(status: &Status) -> i64 {
    status.vitals.channels.iter().map(|channel| channel.dead).sum()
}

/// The deaths within the hour. Where nobody counted them, all dead letters.
fn died(status: &Status, lately: Option<u64>) -> Option<Markup> {
    let all = dead_letters(status);
    let (address, count, of_all) = match lately {
        Some(lately) => ("/dead-letters?since=1h", lately, false),
        None => ("/dead-letters", all.try_into().unwrap_or(0), true),
    };
    (all > 0 && count > 0).then(|| {
        // A message that was redriven may die again, so that more died than there are dead letters.
        let noun = match (of_all, count == 1) {
            (false, true) => "message",
            (false, false) => "messages",
            (true, true) => "dead letter",
            (true, false) => "dead letters",
        };
        html! { a href=(address) { (number(count)) " " (noun) } @if of_all { " in all." } @else { " died within the hour." } }
    })
}

fn lag(channel: &ChannelVitals) -> Markup {
    let waiting = Fields::default().with("channel", &channel.channel).with("status", "PENDING").at("/messages");
    html! { "Channel " (text(&channel.channel)) " is late: " a href=(waiting) { "its oldest message" } " has been due for " (length(channel.lag_ms)) "." }
}

/// Destinations and channels that are held up. A pause that a receiver asked for is left out: it is no trouble, and ends by itself.
fn held_up(paused: &[PausedDestination]) -> Vec<Markup> {
    let of = |paused: &PausedDestination| match (PauseKind::of(paused.pause_kind.as_deref()), paused.remaining_ms) {
        (PauseKind::RetryAfter, _) => None,
        (PauseKind::Breaker, _) => Some("has its breaker open"),
        (PauseKind::Credential, _) => Some("may not send"),
        (PauseKind::Manual, None) => Some("is paused until somebody resumes it"),
        (PauseKind::Manual, Some(_)) => Some("is paused by hand"),
    };
    let held: Vec<_> = paused.iter().filter_map(|paused| of(paused).map(|how| (paused, how))).collect();
    let others = held.len().saturating_sub(NAMED);
    let named = held.iter().take(NAMED).map(|(paused, how)| {
        html! { (destination(&paused.destination)) " " (how) "." }
    });
    let others = (others > 0).then(|| {
        html! { a href="/destinations" { (number(others)) " others" } " are held up too." }
    });
    named.chain(others).collect()
}

fn halted(HaltedVitals { channel, keys, messages, more, .. }: &HaltedVitals) -> Markup {
    let of_channel = Fields::default().with("channel", channel).at("/ordering-keys");
    html! {
        "Channel " (text(channel)) ": dead letters halt "
        a href=(of_channel) { @if *more { "at least " } (number(*keys)) " ordering " @if *keys == 1 { "key" } @else { "keys" } }
        ", with " (number(*messages)) @if *messages == 1 { " message" } @else { " messages" } " behind."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paused(destination: &str, kind: PauseKind, remaining_ms: Option<i64>) -> PausedDestination {
        PausedDestination {
            destination: destination.to_owned(),
            paused_until: String::new(),
            remaining_ms,
            paused_by: None,
            pause_kind: Some(kind.as_str().to_owned()),
            reason: None,
            failures: 0,
        }
    }

    fn said(paused: &[PausedDestination]) -> Vec<String> {
        let words = |part: &str| part.rsplit('>').next().unwrap_or_default().to_owned();
        let said = held_up(paused).into_iter().map(Markup::into_string);
        said.map(|said| said.split('<').map(words).collect()).collect()
    }

    #[test]
    fn each_pause_is_named_but_those_that_a_receiver_asked_for() {
        let all = [
            paused("a", PauseKind::Manual, None),
            paused("b", PauseKind::Manual, Some(1)),
            paused("c", PauseKind::RetryAfter, Some(1)),
            paused("d", PauseKind::Breaker, Some(1)),
            paused("e", PauseKind::Credential, Some(1)),
        ];
        assert_eq!(
            said(&all),
            [
                "a is paused until somebody resumes it.",
                "b is paused by hand.",
                "d has its breaker open.",
                "e may not send."
            ]
        );
    }

    #[test]
    fn of_many_pauses_the_first_are_named_and_the_others_counted() {
        let all: Vec<_> = (0..8).map(|number| paused(&format!("d{number}"), PauseKind::Breaker, Some(1))).collect();
        let said = said(&all);
        assert_eq!((said.len(), said[4].as_str()), (6, "d4 has its breaker open."));
        assert_eq!(said[5], "3 others are held up too.");
    }

    #[test]
    fn one_halted_key_is_one_key() {
        let one = HaltedVitals { channel: "orders".to_owned(), keys: 1, messages: 2, more: false, oldest: None };
        let said = halted(&one).into_string();
        assert!(said.contains(">1 ordering key</a>, with 2 messages behind."), "{said}");
    }
}
