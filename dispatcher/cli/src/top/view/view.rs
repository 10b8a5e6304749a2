//! Draws what `outbox top` shows: an overview, the channels, what is held up, and what fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use outbox_desk::{ChannelFigures, ChannelVitals, DeadLetter, DestinationEntry, MessageSummary};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::table::{AROUND, Column, fitting, length, table};
use super::super::{Look, Seen};
use crate::destinations::held;
use crate::status::{halted, nobody, what_it_waits_for};
use outbox_console::health::status::{ShardStatus, State};
use outbox_console::text::{grouped, relative, span};

/// A terminal of fewer columns has bars of fewer minutes.
const WIDE: u16 = 100;

/// Of the columns of channels, those that a narrow terminal leaves out first: the bars, what failed, and the p99.
const CHANNELS_FIRST_TO_GO: [usize; 3] = [5, 6, 7];

/// The warnings that are shown at most: the rest of the screen is for what they are about.
const WARNINGS: usize = 3;

pub(crate) fn draw(frame: &mut Frame<'_>, look: &Look, now: SystemTime) {
    let (seen, area) = (&*look.seen, frame.area());
    let overview = overview(look, area.width);
    let (lines, of_channels) = (length(overview.len()), channels(seen));
    // Of the lines for rows, at most two fifths are of channels and a fifth of destinations.
    let room = area.height.saturating_sub(lines + 3 * AROUND);
    let part = |rows: usize, most: u16| AROUND + length(rows).min(most).max(1);
    let heights = [
        Constraint::Length(lines),
        Constraint::Length(part(of_channels.len(), room * 2 / 5)),
        Constraint::Length(part(seen.destinations.len(), room / 5)),
        Constraint::Min(0),
    ];
    let [top, channels, destinations, failing] = Layout::vertical(heights).areas(area);
    frame.render_widget(Paragraph::new(overview), top);
    draw_channels(frame, channels, &of_channels);
    draw_destinations(frame, destinations, &seen.destinations);
    draw_failing(frame, failing, seen, now);
}

fn overview(look: &Look, width: u16) -> Vec<Line<'static>> {
    let status = &look.seen.status;
    let line = |text: &str| fitting(text, width);
    let sum = |of: fn(&ChannelVitals) -> i64| number(status.vitals.channels.iter().map(of).sum());
    let (due, deferred) = (sum(|channel| channel.due), sum(|channel| channel.deferred));
    let mut counts = format!("due {due}  deferred {deferred}  dead {}", sum(|channel| channel.dead));
    if let Some(minute) = &status.per_minute {
        let (delivered, failed) = (number(minute.delivered), number(minute.failed));
        let _ = write!(counts, "  {delivered}/min delivered, {failed}/min failed");
    }
    let mut lines = vec![line(&format!("{counts}  (q leaves)")).bold()];
    lines.extend(look.trouble.iter().map(|why| line(&format!("no answer since: {why}")).red()));
    lines.extend(status.shards.iter().map(|shard| polled(shard, look, &line)));
    let missing = status.not_configured.iter().map(|channel| {
        let fate = what_it_waits_for(channel);
        format!("not configured: channel \"{channel}\": {fate}")
    });
    let warnings = halted(&status.vitals.halted).into_iter().chain(missing).chain(status.notes.iter().cloned());
    lines.extend(warnings.take(WARNINGS).map(|warning| line(&warning).yellow()));
    lines
}

fn polled(shard: &ShardStatus, look: &Look, line: &impl Fn(&str) -> Line<'static>) -> Line<'static> {
    let name = shard.instance.as_deref().or(shard.holder.as_deref()).unwrap_or_default();
    let since = shard.since_ms.map_or_else(String::new, |ms| format!(" for {}", span(ms)));
    let said = |what: &str| line(&format!("shard {}: {what}", shard.shard));
    match shard.state {
        State::Polled => match &shard.error {
            None => said(&format!("polled by {name}{since}")).green(),
            Some(error) => said(&format!("polled by {name}{since}, as the database shows it: {error}")).yellow(),
        },
        State::Beginning => said(&format!("{name} begins")),
        State::Idle => said(&nobody(&look.seen.status.replicas)).red(),
        State::Unknown => said(shard.error.as_deref().unwrap_or("not known")).yellow(),
    }
}

/// What is known of a channel: now, and in the last hour. A channel may lack either.
type Channel<'a> = (Option<&'a ChannelVitals>, Option<&'a ChannelFigures>);

/// The channels by name: those with messages that wait or are dead, and those that sent something within the hour.
fn channels(seen: &Seen) -> BTreeMap<&str, Channel<'_>> {
    let mut channels: BTreeMap<&str, Channel<'_>> = BTreeMap::new();
    for vitals in &seen.status.vitals.channels {
        channels.entry(&vitals.channel).or_default().0 = Some(vitals);
    }
    for figures in &seen.figures.channels {
        channels.entry(&figures.channel).or_default().1 = Some(figures);
    }
    channels
}

fn draw_channels(frame: &mut Frame<'_>, area: Rect, channels: &BTreeMap<&str, Channel<'_>>) {
    let (minutes, heading) = if area.width < WIDE { (15, "LAST 15 MIN") } else { (30, "LAST 30 MIN") };
    let columns = [
        Column::Text("CHANNEL", 1),
        Column::Number("LAG"),
        Column::Number("DUE"),
        Column::Number("DEFERRED"),
        Column::Number("DEAD"),
        Column::Word(heading),
        Column::Number("FAILED 1H"),
        Column::Number("P99"),
    ];
    let row = |(name, (vitals, figures)): (&&str, &Channel<'_>)| {
        let count = |of: fn(&ChannelVitals) -> i64| number(vitals.map_or(0, of));
        let total = figures.map(|figures| &figures.total);
        let texts = [
            (*name).to_owned(),
            vitals.and_then(|vitals| vitals.lag_ms).map_or_else(dash, span),
            count(|vitals| vitals.due),
            count(|vitals| vitals.deferred),
            count(|vitals| vitals.dead),
            figures.map_or_else(String::new, |figures| bars(figures, minutes)),
            total.map_or_else(dash, |total| grouped(total.failed)),
            total.and_then(|total| i64::try_from(total.p99_ms?).ok()).map_or_else(dash, span),
        ];
        (texts, if vitals.is_some_and(|vitals| vitals.dead > 0) { Style::new().yellow() } else { Style::new() })
    };
    let rows: Vec<_> = channels.iter().map(row).collect();
    table(frame, area, &titled("Channels", channels.len(), area), (columns, &CHANNELS_FIRST_TO_GO), &rows);
}

/// The deliveries of the last minutes as bars, of which the highest is full. A minute with few has a low one, not none.
fn bars(figures: &ChannelFigures, minutes: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = &figures.points[figures.points.len().saturating_sub(minutes)..];
    let most = last.iter().map(|point| point.delivered).max().unwrap_or(0).max(1);
    let bar = |delivered: u64| match delivered {
        0 => ' ',
        some => HEIGHTS[usize::try_from(some.saturating_mul(8).div_ceil(most)).unwrap_or(8).clamp(1, 8) - 1],
    };
    last.iter().map(|point| bar(point.delivered)).collect()
}

fn draw_destinations(frame: &mut Frame<'_>, area: Rect, destinations: &[DestinationEntry]) {
    let columns =
        [Column::Text("DESTINATION", 3), Column::Text("STATE", 4), Column::Number("WAITING"), Column::Text("WHY", 2)];
    let row = |one: &DestinationEntry| {
        let why = one.reason.clone().unwrap_or_else(dash);
        ([one.destination.clone(), held(&one.held), number(one.waiting), why], Style::new())
    };
    let rows: Vec<_> = destinations.iter().map(row).collect();
    let title =
        if rows.is_empty() { "Nothing is held up".to_owned() } else { titled("Held up", destinations.len(), area) };
    table(frame, area, &title, (columns, &[]), &rows);
}

fn draw_failing(frame: &mut Frame<'_>, area: Rect, seen: &Seen, now: SystemTime) {
    let columns = [
        Column::Word("WHEN"),
        Column::Word("STATE"),
        Column::Number("ID"),
        Column::Text("CHANNEL", 1),
        Column::Text("TARGET", 3),
        Column::Text("ERROR", 4),
    ];
    // Dead letters keep half of the lines where both are many.
    let room = usize::from(area.height.saturating_sub(AROUND));
    let retried = room.saturating_sub(seen.dead.len()).max(room.div_ceil(2));
    let error = |last: &Option<String>, target: &str| {
        last.as_deref().map_or_else(dash, |error| without_origin(error, target).to_owned())
    };
    let of_retried = |message: &MessageSummary| {
        let when = relative(&message.available_at, now);
        let when = if when.ends_with("ago") { "now".to_owned() } else { when };
        let state = format!("try {}", message.attempts.saturating_add(1));
        let MessageSummary { id, channel, target, last_error, .. } = message;
        (
            [when, state, id.to_string(), channel.clone(), target.clone(), error(last_error, target)],
            Style::new().yellow(),
        )
    };
    let of_dead = |letter: &DeadLetter| {
        let state = letter.dead_reason.clone().unwrap_or_else(|| "dead".to_owned());
        let DeadLetter { id, channel, target, last_error, .. } = letter;
        let when = relative(&letter.dead_at, now);
        ([when, state, id.to_string(), channel.clone(), target.clone(), error(last_error, target)], Style::new().red())
    };
    let rows: Vec<_> = seen.retried.iter().take(retried).map(of_retried).chain(seen.dead.iter().map(of_dead)).collect();
    // The list begins with the newest messages that wait. Of all others the count of the hour tells.
    let failed: u64 = seen.figures.channels.iter().map(|channel| channel.total.failed).sum();
    let failures = if failed == 1 { "1 attempt".to_owned() } else { format!("{} attempts", grouped(failed)) };
    let title = match (rows.is_empty(), failed) {
        (true, 0) => "Nothing fails".to_owned(),
        (true, _) => format!("{failures} failed within the hour"),
        (false, 0) => "What fails: tried again, and dead".to_owned(),
        (false, _) => format!("What fails: tried again, and dead; {failures} failed within the hour"),
    };
    table(frame, area, &title, (columns, &[]), &rows);
}

/// An error without the origin of the target at its beginning, which stands beside it: a narrow terminal has room for the rest.
fn without_origin<'a>(error: &'a str, target: &str) -> &'a str {
    let Some((origin, rest)) = error.split_once(' ') else { return error };
    let of_target = target.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        origin.split_once("://") == Some((scheme, host))
    });
    if of_target { rest } else { error }
}

/// The title of a table. It says where the table shows fewer rows than there are.
fn titled(title: &str, rows: usize, area: Rect) -> String {
    let shown = usize::from(area.height.saturating_sub(AROUND));
    if rows > shown { format!("{title} ({shown} of {rows})") } else { title.to_owned() }
}

fn number(count: i64) -> String {
    grouped(count.try_into().unwrap_or(0))
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
