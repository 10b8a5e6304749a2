//! Figures over time: charts for each channel on the overview, and all that is known of one channel, as charts and as a table.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{ChannelFigures, FiguresFilter, FiguresPoint, FiguresSeries, LONGEST_LATENCY_MS, Span};

use super::charts::Chart;
use super::fields::{Asked, Fields, Get};
use super::frame::Content;
use super::instead::Instead;
use super::parts::{Tone, clock, empty, length, nothing, number, table, text};
use super::tables::{Row, Shape};
use crate::api::Problem;
use outbox_console::text::{span, to_the_second};

/// The address of the page.
const PATH: &str = "/figures";

/// Channels with charts on the overview, which is to stay below 100 KB. The page of figures has all.
const CHARTED: usize = 6;

/// How far back a span goes, in words.
struct SpanWords {
    last: &'static str,
    by: &'static str,
}

fn words(span: Span) -> SpanWords {
    match span {
        Span::Hour => SpanWords { last: "Hour", by: "a minute" },
        Span::Day => SpanWords { last: "Day", by: "in ten minutes" },
        Span::Week => SpanWords { last: "Week", by: "an hour" },
    }
}

/// The part of the overview.
pub(super) fn over_time(figures: Result<&FiguresSeries, &Problem>, span: Span) -> Markup {
    html! {
        section.over-time {
            div.heading { h2 { "Over time" } (spans("/", &Fields::default(), span)) }
            @match figures {
                Err(problem) => { p.note.warning { "The figures over time cannot be read. " (problem.detail) } }
                Ok(series) if series.channels.is_empty() => (empty("Nothing was done in this time. The poller writes figures every ten seconds.")),
                Ok(series) => {
                    @for (place, channel) in busiest(series).into_iter().enumerate() { (small(place, channel, series.span)) }
                    @let left_out = series.channels.len().saturating_sub(CHARTED);
                    @if left_out > 0 {
                        p {
                            (left_out) @if left_out == 1 { " other channel that did less is" } @else { " other channels that did less are" }
                            " left out. " a href=(Fields::default().with("span", span.as_str()).at(PATH)) { "All " (series.channels.len()) " channels" }
                        }
                    }
                }
            }
        }
    }
}

/// The channels with most attempts, the busiest first.
fn busiest(series: &FiguresSeries) -> Vec<&ChannelFigures> {
    let mut channels: Vec<_> = series.channels.iter().collect();
    channels.sort_by_key(|channel| std::cmp::Reverse(channel.total.delivered + channel.total.failed));
    channels.truncate(CHARTED);
    channels
}

fn spans(path: &str, asked: &Fields, chosen: Span) -> Markup {
    html! {
        nav.spans aria-label="How far back" {
            @for span in Span::ALL {
                a href=(asked.with("span", span.as_str()).at(path)) aria-current=[(span == chosen).then_some("true")] { (words(span).last) }
            }
        }
    }
}

/// The charts of a channel on the overview.
fn small(place: usize, channel: &ChannelFigures, span: Span) -> Markup {
    let id = |what: &str| format!("figures-{place}-{what}");
    let address = Fields::default().with("span", span.as_str()).with("channel", &channel.channel).at(PATH);
    html! {
        article.channel-figures {
            h3 { a href=(address) { (text(&channel.channel)) } @if channel.total.delivered > 0 { " " span.hint { (latency(&channel.total)) } } }
            div.charts {
                (counts(channel, id("delivered"), span, DELIVERED))
                (counts(channel, id("failed"), span, FAILED))
                (lag(channel, id("lag"), span))
            }
        }
    }
}

/// What a chart shows of each point of time.
#[derive(Clone, Copy)]
struct Shown {
    name: &'static str,
    tone: Tone,
    of: fn(&FiguresPoint) -> u64,
}

const DELIVERED: Shown = Shown { name: "Delivered", tone: Tone::Plain, of: |point| point.delivered };
const FAILED: Shown = Shown { name: "Failed attempts", tone: Tone::Bad, of: |point| point.failed };
const DEAD: Shown = Shown { name: "Dead letters", tone: Tone::Bad, of: |point| point.dead };
const IN_DOUBT: Shown = Shown { name: "In doubt", tone: Tone::Warning, of: |point| point.in_doubt };
const DEFERRED: Shown = Shown { name: "Deferred", tone: Tone::Plain, of: |point| point.deferred };

/// The least lag that is drawn as high as a chart, in milliseconds.
const LEAST_LAG_MS: u64 = 1_000;

/// The least share of attempts that is drawn as high as a chart of what went wrong: one of so many.
const LEAST_SHARE: u64 = 10;

fn counts(channel: &ChannelFigures, id: String, span: Span, Shown { name, tone, of }: Shown) -> Markup {
    let SpanWords { by, last } = words(span);
    let (total, bars): (u64, Vec<u64>) = (of(&channel.total), channel.points.iter().map(of).collect());
    let most = format!("at most {} {by}", number(bars.iter().copied().max().unwrap_or(0)));
    let words = format!("The last {}: {} in all, {most}{}.", last.to_lowercase(), number(total), peak(channel, of));
    let least = match tone {
        Tone::Bad | Tone::Warning => most_attempts(channel) / LEAST_SHARE,
        Tone::Plain | Tone::Good => 0,
    };
    let most = html! { @if total > 0 { (most) ", " (peak_time(channel, span, of)) } };
    let (total, ticks) = (number(total), ticks(channel, span));
    Chart { id, name, channel: &channel.channel, total, most, words, ticks: &ticks, tone, bars, least }.drawn()
}

fn lag(channel: &ChannelFigures, id: String, span: Span) -> Markup {
    let of = |point: &FiguresPoint| point.most_lag_ms.unwrap_or(0);
    let total = spanned(of(&channel.total));
    let words = format!("The last {}: {total} at most{}.", words(span).last.to_lowercase(), peak(channel, of));
    let (bars, ticks) = (channel.points.iter().map(of).collect(), ticks(channel, span));
    let most = html! { (peak_time(channel, span, of)) };
    let (name, tone, least) = ("Most lag", Tone::Warning, LEAST_LAG_MS);
    Chart { id, name, channel: &channel.channel, total, most, words, ticks: &ticks, tone, bars, least }.drawn()
}

/// The attempts of the busiest time.
fn most_attempts(channel: &ChannelFigures) -> u64 {
    channel.points.iter().map(|point| point.delivered.saturating_add(point.failed)).max().unwrap_or(0)
}

/// The times below a chart: of its first bar, and of the one in the middle.
fn ticks(channel: &ChannelFigures, span: Span) -> Vec<Markup> {
    let places = [0, channel.points.len() / 2];
    places.iter().filter_map(|place| Some(clock(&channel.points.get(*place)?.at, span == Span::Week))).collect()
}

fn highest(channel: &ChannelFigures, of: fn(&FiguresPoint) -> u64) -> Option<&FiguresPoint> {
    channel.points.iter().filter(|point| of(point) > 0).max_by_key(|point| of(point))
}

/// When it was most, in words.
fn peak(channel: &ChannelFigures, of: fn(&FiguresPoint) -> u64) -> String {
    highest(channel, of).map_or_else(String::new, |point| format!(", from {}", to_the_second(&point.at)))
}

/// The same for those who see the chart.
fn peak_time(channel: &ChannelFigures, span: Span, of: fn(&FiguresPoint) -> u64) -> Markup {
    html! { @if let Some(point) = highest(channel, of) { "at " (clock(&point.at, span == Span::Week)) } }
}

fn spanned(ms: u64) -> String {
    span(ms.try_into().unwrap_or(i64::MAX))
}

/// How long deliveries took, in words.
fn latency(point: &FiguresPoint) -> String {
    format!("p50 {}, p99 {}", within(point.p50_ms), within(point.p99_ms))
}

pub(super) fn within(ms: Option<u64>) -> String {
    ms.map_or_else(|| format!("more than {}", spanned(LONGEST_LATENCY_MS)), spanned)
}

/// The page: one channel, or all channels without charts.
pub(super) async fn show((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let filter: FiguresFilter = context.understood("Figures", &html! {}, asked.read())?;
    let series = page_state.figures.of(&page_state.api_state, filter.span).await?;
    let body = match &filter.channel {
        None => all(&series),
        Some(name) => match series.channels.iter().find(|channel| channel.channel == *name) {
            Some(channel) => one(channel, series.span),
            None => empty("Nothing was done on this channel in this time."),
        },
    };
    let above = html! {
        p { a href=(Fields::default().with("span", filter.span.as_str()).at("/")) { "To the overview" } }
        (spans(PATH, &asked, filter.span))
    };
    let title = filter.channel.as_ref().map_or_else(|| "Figures".to_owned(), |name| format!("Figures of {name}"));
    Ok(context.page(&Content::live(title, above, body)))
}

const COLUMNS: [&str; 8] =
    ["Delivered", "Failed attempts", "Dead letters", "In doubt", "Deferred", "Most lag", "p50", "p99"];

fn all(series: &FiguresSeries) -> Markup {
    let row = |channel: &ChannelFigures| {
        let address = Fields::default().with("span", series.span.as_str()).with("channel", &channel.channel).at(PATH);
        figures(Row::of(html! { a href=(address) { (text(&channel.channel)) } }), &channel.total)
    };
    if series.channels.is_empty() {
        return empty("Nothing was done in this time.");
    }
    table("Figures", ["Channel"].into_iter().chain(COLUMNS), series.channels.iter().map(row))
}

fn one(channel: &ChannelFigures, span: Span) -> Markup {
    let chart = |shown: Shown| counts(channel, format!("figures-{}", shown.name.replace(' ', "-")), span, shown);
    let row = |point: &FiguresPoint| figures(Row::of_shape(Shape::Whole, clock(&point.at, span != Span::Hour)), point);
    let said = |point: &&FiguresPoint| {
        let counts = [point.delivered, point.failed, point.dead, point.in_doubt, point.deferred];
        counts.iter().any(|count| *count > 0) || point.most_lag_ms.is_some_and(|lag| lag > 0)
    };
    html! {
        @if channel.total.delivered > 0 { p.lead { "Of the deliveries, " (latency(&channel.total)) " of their creation." } }
        div.charts {
            (chart(DELIVERED))
            (chart(FAILED))
            (lag(channel, "figures-lag".to_owned(), span))
            @for shown in [DEAD, IN_DOUBT, DEFERRED] { (chart(shown)) }
        }
        h2 { "The same as a table" }
        (table("Figures", ["From"].into_iter().chain(COLUMNS), channel.points.iter().rev().filter(said).map(row)))
    }
}

/// A row with what was done.
fn figures(row: Row, point: &FiguresPoint) -> Row {
    let latency = |ms: Option<u64>| html! { @if point.delivered > 0 { (within(ms)) } @else { (nothing()) } };
    let counts = [point.delivered, point.failed, point.dead, point.in_doubt, point.deferred];
    counts
        .into_iter()
        .fold(row, |row, count| row.number(number(count)))
        .number(length(point.most_lag_ms.and_then(|ms| i64::try_from(ms).ok())))
        .number(latency(point.p50_ms))
        .number(latency(point.p99_ms))
}
