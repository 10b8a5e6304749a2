//! The last hand-overs: the terms of each shard as a strip with their gaps, and as a table.

use std::time::{Duration, SystemTime};

use maud::{Markup, html};
use outbox_desk::TermEntry;

use super::charts::{Stretch, strip};
use super::links;
use super::parts::{gap, lasted, stacked, text, time};
use super::tables::{Row, Shape};
use super::terms::{because, ended};
use outbox_console::health::replicas::{ReplicaStatus, seen_at};
use outbox_console::text::{relative, span};

/// The last terms that are shown. Their own page has more.
const TERMS: usize = 5;

/// The part of the overview. `last` are the last terms, the newest first.
pub(super) fn hand_overs(last: &[TermEntry], replicas: &[ReplicaStatus]) -> Markup {
    let terms = with_gaps(last);
    let mut shards: Vec<i32> = terms.iter().map(|term| term.shard).collect();
    shards.sort_unstable();
    shards.dedup();
    html! {
        section {
            h2 { "Last hand-overs" }
            @if terms.is_empty() { p.empty { "No replica has ever polled." } } @else {
                @for shard in shards {
                    (drawn(&terms.iter().filter(|term| term.shard == shard).collect::<Vec<_>>(), replicas, SystemTime::now()))
                }
                (stacked("Last hand-overs", ["Epoch", "Replica", "Began", "Lasted", "Ended", "Gap to the next"], terms.iter().map(|term| row(term, replicas))))
                p { a href="/terms" { "All terms" } }
            }
        }
    }
}

/// The terms that are shown, each with the beginning of the next term of its shard.
fn with_gaps(last: &[TermEntry]) -> Vec<TermEntry> {
    let next = |place: usize, shard: i32| last[..place].iter().rev().find(|term| term.shard == shard);
    let with = |(place, term): (usize, &TermEntry)| {
        let next_started_at = next(place, term.shard).map(|next| next.started_at.clone());
        TermEntry { next_started_at, ..term.clone() }
    };
    last.iter().take(TERMS).enumerate().map(with).collect()
}

fn row(term: &TermEntry, replicas: &[ReplicaStatus]) -> Row {
    Row::of_shape(Shape::Whole, links::term(term.epoch))
        .cell(text(term.instance.as_deref().unwrap_or(&term.holder)))
        .cell(time(&term.started_at))
        .number(lasted(term, replicas))
        .cell(html! { @if term.ended_at.is_some() { (ended(term)) } @else { (because(term)) } })
        .number(gap(term, replicas))
}

/// The terms of one shard as a strip, from the beginning of the oldest one to now.
fn drawn(terms: &[&TermEntry], replicas: &[ReplicaStatus], now: SystemTime) -> Markup {
    let Some((oldest, begin)) = terms.last().and_then(|oldest| Some((oldest, at(&oldest.started_at)?))) else {
        return html! {};
    };
    let all = now.duration_since(begin).unwrap_or_default().max(Duration::from_millis(1));
    let place = |time: SystemTime| time.duration_since(begin).unwrap_or_default().div_duration_f64(all).min(1.0);
    let mut stretches = Vec::new();
    for term in terms.iter().rev() {
        let Some(from) = at(&term.started_at) else { continue };
        let next = term.next_started_at.as_deref().and_then(at);
        let to = term.until(seen_at(term, replicas)).and_then(at).or(next).unwrap_or(now);
        stretches.push(Stretch { from: place(from), to: place(to), is_gap: false });
        if term.gap(seen_at(term, replicas)).is_some_and(|gap| gap.ms > 0)
            && let Some(next) = next
        {
            stretches.push(Stretch { from: place(to), to: place(next), is_gap: true });
        }
    }
    let longest = terms.iter().filter_map(|term| term.gap(seen_at(term, replicas))).map(|gap| gap.ms).max();
    let words = match longest {
        None => "One term, without a hand-over".to_owned(),
        Some(longest) => format!("{} terms, with gaps of {} at most between them", terms.len(), span(longest)),
    };
    html! {
        figure.hand-overs {
            (strip(&stretches, &words))
            div.ends aria-hidden="true" { span { (relative(&oldest.started_at, now)) } span { "now" } }
            figcaption.hint { (words) "." }
        }
    }
}

fn at(time: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(time).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;

    fn term(shard: i32, epoch: i64, started_at: &str, ended_at: Option<&str>) -> TermEntry {
        TermEntry {
            shard,
            epoch,
            holder: "one".to_owned(),
            started_at: format!("2026-05-01T14:{started_at}Z"),
            ended_at: ended_at.map(|at| format!("2026-05-01T14:{at}Z")),
            ended_because: ended_at.map(|_| "interval".to_owned()),
            claimed: None,
            delivered: None,
            failed: None,
            in_doubt: None,
            instance: None,
            version: None,
            served_by: None,
            next_served_by: None,
            next_started_at: None,
        }
    }

    #[test]
    fn the_gap_behind_a_term_lasts_until_the_next_one_of_its_shard_and_is_seen_however_short() {
        let last = [
            term(0, 9, "20:00", None),
            term(1, 8, "15:00", None),
            term(0, 7, "10:00", Some("19:58")),
            term(0, 6, "00:00", Some("10:00")),
        ];
        let terms = with_gaps(&last);
        let gaps: Vec<_> = terms.iter().map(|term| term.gap(None).map(|gap| gap.ms)).collect();
        assert_eq!(gaps, [None, None, Some(2_000), Some(0)]);
        let of_first: Vec<_> = terms.iter().filter(|term| term.shard == 0).collect();
        let now = at("2026-05-01T14:40:00Z").unwrap();
        let shown = drawn(&of_first, &[], now).into_string();
        assert!(shown.contains("3 terms, with gaps of 2.0s at most between them."), "{shown}");
        assert!(shown.contains("class=\"gap\" d=\"M499 0h4v10h-4z\""), "{shown}");
        assert_eq!(shown.matches('M').count(), 4, "three terms and a gap: {shown}");
    }
}
