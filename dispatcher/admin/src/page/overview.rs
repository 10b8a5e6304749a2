//! The overview: is all well, what waits where, who works, and what is held up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{
    ChannelFigures, ChannelVitals, FiguresSeries, HaltedVitals, OperationStatus, PausedDestination, Span, TenantVitals,
};
use outbox_store::figures::OTHERS;
use serde::Deserialize;

use super::PageState;
use super::caches::Counted;
use super::destinations::kind_of_pause;
use super::fields::{Asked, Fields, Get};
use super::figures::{over_time, within};
use super::frame::Content;
use super::hand_overs::hand_overs;
use super::instead::Instead;
use super::links::{self, destination};
use super::operations::table_of;
use super::parts::{
    Tone, ago, count, leading, length, looked_before, message, nothing, number, stacked, state, table, text, text_if,
    time, time_if,
};
use super::request_context::RequestContext;
use super::tables::{Row, Shape};
use super::wake::poll_now;
use super::well::how_it_is;
use crate::api::Problem;
use outbox_console::health::replicas::ReplicaStatus;
use outbox_console::health::status::{ShardStatus, State as ShardState, Status};

/// The last operations that are looked at for those under way.
const OPERATIONS: u32 = 20;

/// How old a count of very many messages may be. Live pages count anew within seconds.
const OLDEST: Duration = Duration::from_mins(10);

/// What the overview is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OverviewQuery {
    /// How far back the charts go.
    #[serde(default)]
    span: Span,
}

pub(super) async fn show((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let OverviewQuery { span } = context.understood("Overview", &html! {}, asked.read())?;
    let (standing, status, figures, last_hour, operations) = tokio::join!(
        page_state.standings.now(),
        newest(&page_state),
        page_state.figures.of(&page_state.api_state, span),
        // The same answer where the last hour is shown.
        page_state.figures.of(&page_state.api_state, Span::Hour),
        outbox_desk::operations(&page_state.api_state.database, None, OPERATIONS)
    );
    // Where the database does not answer, others say so.
    let mut operations = operations.map(|page| page.operations).unwrap_or_default();
    operations.retain(|operation| operation.status == OperationStatus::Open);
    let last_hour = last_hour.ok();
    let dead_lately = last_hour.as_ref().map(|hour| hour.channels.iter().map(|channel| channel.total.dead).sum());
    let beside = Beside {
        last_hour: last_hour.as_deref(),
        over_time: over_time(figures.as_deref(), span),
        in_flight: page_state.shown.destinations.in_flight(),
    };
    let rest = match &status {
        Ok(counted) => shown(&context, counted, &beside),
        // The causes above say it in the words of /readyz.
        Err(problem) => super::frame::wrong(problem),
    };
    let body = html! {
        (how_it_is(&standing, status.as_ref().ok().map(|counted| &*counted.status), dead_lately))
        @if !operations.is_empty() {
            section { h2 { "Operations under way" } (table_of(&operations, "Operations under way")) }
        }
        (rest)
    };
    Ok(context.page(&Content::live("Overview", html! {}, body)))
}

async fn newest(page_state: &PageState) -> Result<Counted, Problem> {
    let ask = || async {
        let api_state = &page_state.api_state;
        let (lease, configured) = (api_state.lease.as_ref(), api_state.configured.current());
        let (age, counted) = page_state.shown.vitals.at_hand(OLDEST).await;
        let status = match counted {
            Ok(counted) => Status::of_counted(&counted, &api_state.database, lease, &configured).await,
            // It takes longer than a probe waits.
            Err(_) => Status::of(&api_state.database, Some(lease), &configured).await,
        };
        Ok(Counted { status: Arc::new(status?.waiting_at(&api_state.schedule).await), age })
    };
    page_state.overview.get(ask).await
}

/// What the overview shows beside the state of the outbox.
struct Beside<'a> {
    /// The figures of the last hour. None where they cannot be read.
    last_hour: Option<&'a FiguresSeries>,
    over_time: Markup,
    /// The messages in flight, by channel. None where another replica polls.
    in_flight: Option<BTreeMap<String, usize>>,
}

fn shown(context: &RequestContext, Counted { status, age }: &Counted, beside: &Beside<'_>) -> Markup {
    let vitals = &status.vitals;
    html! {
        (figures(status, beside))
        (beside.over_time)
        section {
            h2 { "Channels" }
            @let all = with_idle(&vitals.channels, beside.last_hour);
            @if all.is_empty() {
                p.empty { "No message waits, and none is dead." }
            } @else {
                (channels(&all, &status.not_configured, beside))
                (looked_before(*age))
            }
        }
        @if !vitals.tenants.is_empty() {
            section { h2 { "Tenants with most to send" } (tenants(&vitals.tenants)) }
        }
        @if !vitals.paused.is_empty() {
            section {
                h2 { "Held up" }
                (held_up(&vitals.paused))
                @if let others @ 1.. = vitals.others_paused() {
                    p { a href="/destinations" { (number(others)) " others" } " are paused too." }
                }
            }
        }
        @if vitals.halted.iter().any(|halted| halted.keys > 0 || halted.more) {
            section { h2 { "Halted keys" } (halted_keys(&vitals.halted)) }
        }
        section {
            div.heading { h2 { "Who polls" } @if context.operates() { (poll_now(context)) } }
            (shards(&status.shards))
            @if vitals.unsettled_claims > 0 {
                p.hint { (number(vitals.unsettled_claims)) " claims of earlier terms wait for their settling time." }
            }
        }
        section {
            h2 { "Replicas" }
            @if status.replicas.is_empty() { p.empty { "No replica says anything of itself." } } @else { (replicas(&status.replicas)) }
            @for note in &status.notes { p.hint { (note) } }
        }
        (hand_overs(&status.last_terms, &status.replicas))
    }
}

fn figures(status: &Status, beside: &Beside<'_>) -> Markup {
    let in_flight = beside.in_flight.as_ref().map(|channels| channels.values().sum::<usize>());
    let sum = |of: fn(&ChannelVitals) -> i64| status.vitals.channels.iter().map(of).sum::<i64>();
    let lag = status.vitals.channels.iter().filter_map(|channel| channel.lag_ms).max();
    let figure = |name: &str, tone: Tone, value: Markup| {
        html! { div class={ "figure " (tone.class()) } { dt { (name) } dd { (value) } } }
    };
    let dead = sum(|channel| channel.dead);
    let tone = if dead > 0 { Tone::Bad } else { Tone::Plain };
    html! {
        dl.figures {
            (figure("Lag", Tone::Plain, length(lag)))
            (figure("Due", Tone::Plain, leading(sum(|channel| channel.due), "/messages?status=PENDING")))
            (figure("Deferred", Tone::Plain, leading(sum(|channel| channel.deferred), "/messages?status=PENDING")))
            (figure("Dead letters", tone, leading(dead, "/dead-letters")))
            @if let Some(in_flight) = in_flight { (figure("In flight", Tone::Plain, html! { (number(in_flight)) })) }
            @if let Some(minute) = &status.per_minute {
                (figure("Delivered", Tone::Plain, html! { (number(minute.delivered)) wbr; span.unit { "/min" } }))
                (figure("Failed attempts", if minute.failed > 0 { Tone::Warning } else { Tone::Plain }, html! { (number(minute.failed)) wbr; span.unit { "/min" } }))
            }
        }
    }
}

/// The channels, with those that did something in the last hour and have nothing left.
fn with_idle(channels: &[ChannelVitals], last_hour: Option<&FiguresSeries>) -> Vec<ChannelVitals> {
    let known = |name: &str| channels.iter().any(|channel| channel.channel == name);
    let done = last_hour.into_iter().flat_map(|hour| &hour.channels);
    let idle = done.filter(|done| done.channel != OTHERS && !known(&done.channel));
    let idle = idle.map(|done| ChannelVitals { channel: done.channel.clone(), ..ChannelVitals::default() });
    channels.iter().cloned().chain(idle).collect()
}

const CHANNEL_HEADING: [&str; 12] = [
    "Channel",
    "Lag",
    "In flight",
    "Pending",
    "Due",
    "Deferred",
    "Later",
    "Dead",
    "Delivered a minute",
    "Failed a minute",
    "p50",
    "p99",
];

fn channels(channels: &[ChannelVitals], not_configured: &[String], beside: &Beside<'_>) -> Markup {
    let done = |name: &str| beside.last_hour?.channels.iter().find(|done| done.channel == name);
    let in_flight = |name: &str| beside.in_flight.as_ref().map(|counts| counts.get(name).copied().unwrap_or(0));
    let row = |channel: &ChannelVitals| {
        let of_channel = Fields::default().with("channel", &channel.channel);
        let pending = of_channel.with("status", "PENDING").at("/messages");
        let name = html! {
            a href=(of_channel.at("/messages")) { (text(&channel.channel)) }
            @if not_configured.contains(&channel.channel) { " " (state("not configured", Tone::Warning)) }
        };
        let row = Row::of(name).number(length(channel.lag_ms)).number(count(in_flight(&channel.channel)));
        let later = channel.pending - channel.due - channel.deferred;
        let row = [channel.pending, channel.due, channel.deferred, later]
            .into_iter()
            .fold(row, |row, count| row.number(leading(count, &pending)))
            .number(leading(channel.dead, &of_channel.at("/dead-letters")));
        with_done_lately(row, done(&channel.channel))
    };
    html! {
        (table("Channels", CHANNEL_HEADING, channels.iter().map(row)))
        p.hint {
            "Later: what is scheduled, or waits for its next attempt. What is in flight, or behind a halted key, is due. "
            "A minute is the last whole one, and the times of deliveries are those of the last hour. "
            @if beside.in_flight.is_none() { "What is in flight is shown by the replica that polls." }
        }
    }
}

/// A row with what its channel did in the last whole minute, and how long its deliveries of the last hour took.
fn with_done_lately(row: Row, done: Option<&ChannelFigures>) -> Row {
    // The last point is not over yet.
    let minute = done.and_then(|done| done.points.iter().rev().nth(1));
    let took = |ms: Option<Option<u64>>| html! { @if let Some(ms) = ms { (within(ms)) } @else { (nothing()) } };
    let total = done.map(|done| &done.total).filter(|total| total.delivered > 0);
    row.number(count(minute.map(|minute| minute.delivered)))
        .number(count(minute.map(|minute| minute.failed)))
        .number(took(total.map(|total| total.p50_ms)))
        .number(took(total.map(|total| total.p99_ms)))
}

fn tenants(tenants: &[TenantVitals]) -> Markup {
    let row = |tenant: &TenantVitals| {
        Row::of(text(&tenant.tenant))
            .cell(text(&tenant.channel))
            .number(number(tenant.due))
            .number(length(tenant.lag_ms))
    };
    table("Tenants", ["Tenant", "Channel", "Due", "Lag"], tenants.iter().map(row))
}

fn held_up(paused: &[PausedDestination]) -> Markup {
    let row = |paused: &PausedDestination| {
        let (word, tone) = kind_of_pause(paused);
        let until = html! { @if paused.remaining_ms.is_some() { (time(&paused.paused_until)) } @else { "until somebody resumes it" } };
        Row::of(destination(&paused.destination))
            .cell(state(word, tone))
            .cell(until)
            .cell(text_if(paused.paused_by.as_deref()))
            .cell(text_if(paused.reason.as_deref()))
    };
    stacked("Held up", ["Destination", "State", "Until", "By", "Why"], paused.iter().map(row))
}

fn halted_keys(halted: &[HaltedVitals]) -> Markup {
    let row = |halted: &HaltedVitals| {
        let count = |count: i64| html! { (number(count)) @if halted.more { " or more" } };
        let of_channel = Fields::default().with("channel", &halted.channel).at("/ordering-keys");
        Row::of(html! { a href=(of_channel) { (text(&halted.channel)) } })
            .number(count(halted.keys))
            .number(count(halted.messages))
            .shaped(
                Shape::Whole,
                html! { @if let Some(oldest) = &halted.oldest { (message(oldest.dead_letter)) } @else { (nothing()) } },
            )
    };
    let rows = halted.iter().filter(|halted| halted.keys > 0 || halted.more).map(row);
    html! {
        (table("Halted keys", ["Channel", "Keys", "Messages that wait", "Oldest dead letter"], rows))
        @if halted.iter().any(|halted| halted.more) {
            p.hint { "or more: the first 10,000 dead letters of a channel were looked at, and up to 1,000 keys. The list looks at all." }
        }
    }
}

fn shards(shards: &[ShardStatus]) -> Markup {
    let row = |shard: &ShardStatus| {
        let (word, tone) = match shard.state {
            ShardState::Polled => ("polled", Tone::Good),
            ShardState::Beginning => ("a term begins", Tone::Plain),
            ShardState::Idle => ("nobody polls", Tone::Warning),
            ShardState::Unknown => ("not known", Tone::Warning),
        };
        Row::of(shard.shard)
            .cell(html! { (state(word, tone)) @if let Some(error) = &shard.error { " " span.hint { (text(error)) } } })
            .cell(text_if(shard.instance.as_deref().or(shard.holder.as_deref())))
            .shaped(Shape::Whole, shard.epoch.map_or_else(nothing, links::term))
            .cell(time_if(shard.since.as_deref()))
            .number(length(shard.trusted_ms))
    };
    stacked("Who polls", ["Shard", "State", "Replica", "Epoch", "Since", "Lease runs for"], shards.iter().map(row))
}

fn replicas(replicas: &[ReplicaStatus]) -> Markup {
    let row = |replica: &ReplicaStatus| {
        let entry = &replica.replica;
        let (word, tone) = match (replica.runs, replica.polls.is_empty()) {
            (false, _) => ("silent", Tone::Bad),
            (true, true) => ("follows", Tone::Plain),
            (true, false) => ("polls", Tone::Good),
        };
        let trouble = html! {
            (text_if(entry.trouble.as_deref()))
            @if let Some(refused) = replica.refused() { br; span.hint { "settings: " (text(&refused.to_string())) } }
            @for differs in &replica.differs { br; span.hint { "differs: " (text(differs)) } }
        };
        Row::of(text(&entry.row.name))
            .cell(state(word, tone))
            .cell(text(&entry.row.version))
            .cell(time(&entry.row.started_at))
            .number(ago(entry.row.seen_ms))
            .cell(trouble)
    };
    let heading = ["Replica", "State", "Version", "Started", "Seen", "Trouble"];
    stacked("Replicas", heading, replicas.iter().map(row))
}
