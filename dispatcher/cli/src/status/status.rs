//! `outbox status`: who polls, what is due, what is dead.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use outbox_desk::{COUNTED, HaltedKey, HaltedVitals, PausedDestination, TenantVitals, TermEntry, Vitals};
use outbox_schema::channel_name;
use outbox_store::PauseKind;

use super::super::session::{OutboxAccess, Purpose};
use super::source::Source;
use outbox_config::Config;
use outbox_console::health::replicas::{PerMinute, ReplicaStatus, seen_at};
use outbox_console::health::status::{ShardStatus, State, Status};
use outbox_console::text::{
    Cell, Page, Screen, error_line, grouped, in_one_line, print_as, print_as_it_is, print_to_reader, shortened, span,
    to_the_second,
};

/// The shortest interval of `--watch`: each look asks the database for all counts.
const SHORTEST: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Show it again and again, until Ctrl-C [default: every 2s].
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "2s", value_parser = interval)]
    watch: Option<Duration>,
}

pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|why| format!("{why}; write it like 2s"))?;
    if interval < SHORTEST { Err("it must be 1s or longer".to_owned()) } else { Ok(interval) }
}

pub(crate) async fn status(config: Config, url: Option<&str>, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let outbox = OutboxAccess::by(&config, url, Purpose::Look).await?;
    let source = Source::of(&config, outbox).await?;
    let Some(each) = args.watch else {
        print_as(args.json, &source.status().await?, in_words)?;
        return Ok(ExitCode::SUCCESS);
    };
    while print_look(source.status().await, args.json)? {
        tokio::time::sleep(each).await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one look of many. Gives whether anybody still reads them.
fn print_look(status: anyhow::Result<Status>, json: bool) -> anyhow::Result<bool> {
    if json {
        // One line for each look. A look that fails says so elsewhere, and the next one may succeed.
        return match status {
            Ok(status) => Ok(print_to_reader(&serde_json::to_string(&status)?)?),
            Err(error) => {
                error_line(&error);
                Ok(true)
            }
        };
    }
    if io::stdout().is_terminal() {
        // Clears the screen, as `watch` does: ECMA-48, CUP and ED.
        print_as_it_is("\u{1b}[H\u{1b}[2J")?;
    }
    let page = status.map_or_else(|error| Page::from(format!("{error:#}")), |status| in_words(&status));
    Ok(print_to_reader(&page.on(&Screen::of_stdout()))?)
}

fn in_words(status: &Status) -> Page {
    let mut page = pollers(status);
    page.append(fleet(status));
    page.blank();
    page.append(channels(&status.vitals, status.per_minute));
    for tenant in &status.vitals.tenants {
        page.line(in_one_line(&loaded(tenant)));
    }
    if let Some(line) = status.waiting.as_ref().and_then(waiting) {
        page.line(line);
    }
    if let Some(line) = halted(&status.vitals.halted) {
        page.line(line);
    }
    for channel in &status.not_configured {
        let (name, fate) = (in_one_line(channel), what_it_waits_for(channel));
        page.line(format!("not configured: channel \"{name}\": {fate}"));
    }
    for pause in &status.vitals.paused {
        page.line(in_one_line(&paused(pause)));
    }
    if let others @ 1.. = status.vitals.others_paused() {
        page.line(format!("and {others} more destinations are paused: outbox destinations list"));
    }
    if status.vitals.unsettled_claims > 0 {
        page.line(format!("claims of earlier terms being settled: {}", status.vitals.unsettled_claims));
    }
    page.blank();
    page.append(terms(&status.last_terms, &status.shards, &status.replicas));
    if let Some(term) = status.last_terms.iter().find(|term| term.in_doubt > Some(0)) {
        page.line(format!("those in doubt: outbox messages list --in-doubt={}", term.epoch));
    }
    page
}

/// What holds a destination or a channel up: its breaker, a person, or a request of its own.
fn paused(pause: &PausedDestination) -> String {
    let destination = &pause.destination;
    let until = match pause.remaining_ms {
        Some(ms) => format!("{} (in {})", to_the_second(&pause.paused_until), span(ms)),
        None => "somebody resumes it".to_owned(),
    };
    let reason = pause.reason.as_deref().unwrap_or("no reason given");
    match PauseKind::of(pause.pause_kind.as_deref()) {
        PauseKind::Breaker => format!("breaker open: {destination} until {until}: {reason}"),
        PauseKind::Manual => {
            let by = pause.paused_by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
            format!("paused: {destination}{by} until {until}: {reason}")
        }
        PauseKind::RetryAfter | PauseKind::Credential => format!("paused: {destination} until {until}: {reason}"),
    }
}

/// What one of the tenants has that have most.
fn loaded(tenant: &TenantVitals) -> String {
    let more = if tenant.due >= COUNTED { " or more" } else { "" };
    let since = tenant.lag_ms.map_or_else(String::new, |ms| format!(", the first of them for {}", span(ms)));
    format!("much is due: tenant {} of channel {} has {}{more}{since}", tenant.tenant, tenant.channel, tenant.due)
}

/// What due messages wait for that the poller has read. None where nothing waits.
fn waiting(why: &BTreeMap<String, usize>) -> Option<String> {
    let counts: Vec<_> = why.iter().map(|(why, count)| format!("{why} {count}")).collect();
    (!counts.is_empty()).then(|| format!("read by the poller, and waiting: {}", counts.join(", ")))
}

/// How many ordering keys dead letters halt, and behind which one the oldest message waits.
pub(crate) fn halted(channels: &[HaltedVitals]) -> Option<String> {
    let (keys, messages): (i64, i64) =
        channels.iter().fold((0, 0), |(keys, messages), channel| (keys + channel.keys, messages + channel.messages));
    let more = if channels.iter().any(|channel| channel.more) { " or more" } else { "" };
    let plural = |count: i64| if count == 1 { "" } else { "s" };
    match channels.iter().filter_map(|channel| channel.oldest.as_ref()).min_by_key(|key| key.first_waiting) {
        Some(HaltedKey { dead_letter, first_waiting, .. }) => Some(format!(
            "halted: {keys} ordering key{}{more}, {messages} message{}{more}; oldest behind {dead_letter} (outbox messages explain \
             {first_waiting})",
            plural(keys),
            plural(messages)
        )),
        None if more.is_empty() => None,
        None => Some(
            "halted: no ordering key by the first 10,000 dead letters; outbox ordering-keys list --halted looks at all"
                .to_owned(),
        ),
    }
}

/// What happens to the messages of a channel that is not configured.
pub(crate) fn what_it_waits_for(channel: &str) -> String {
    match channel_name::check(channel) {
        Ok(()) => format!("its messages wait until [channels.{channel}] is there"),
        Err(why) => format!(
            "no channel can be called so ({why}; allowed is {}): cancel its messages (outbox messages cancel), and have \
             them inserted for another channel",
            channel_name::ALLOWED
        ),
    }
}

/// How many replicas run and what they did lately, those with other settings, and what could not be found out.
fn fleet(status: &Status) -> Page {
    let running: Vec<_> = status.replicas.iter().filter(|replica| replica.runs).collect();
    let mut page = Page::default();
    if !running.is_empty() {
        let names: Vec<_> = running.iter().map(|replica| named(replica)).collect();
        let silent = running.iter().filter(|replica| replica.is_silent()).count();
        let silent = if silent > 0 { format!(", {silent} of them silent") } else { String::new() };
        page.line(format!("replicas: {}{silent} ({})", running.len(), in_one_line(&names.join(", "))));
    }
    if let Some(PerMinute { delivered, failed, seen_ms }) = status.per_minute {
        let seen = span(seen_ms);
        let rate = |count: i64| format!("{}/min", grouped(count.try_into().unwrap_or(0)));
        let (delivered, failed) = (rate(delivered), rate(failed));
        page.line(format!("rates: {delivered} delivered, {failed} failed attempts (counted until {seen} ago)"));
    }
    for replica in running.iter().filter(|replica| !replica.differs.is_empty()) {
        let name = &replica.replica.row.name;
        let line = format!("{name} runs by other settings than the poller: {}", replica.differs.join("; "));
        page.line(in_one_line(&line));
    }
    for (replica, refused) in running.iter().filter_map(|replica| Some((replica, replica.refused()?))) {
        page.line(in_one_line(&format!("{}: {refused}", replica.replica.row.name)));
    }
    for note in &status.notes {
        page.line(format!("note: {}", in_one_line(note)));
    }
    page
}

fn named(replica: &ReplicaStatus) -> String {
    let row = &replica.replica.row;
    if replica.is_silent() { format!("{} silent for {}", row.name, span(row.seen_ms)) } else { row.name.clone() }
}

/// What there is to say of a shard that no replica polls.
pub(crate) fn nobody(replicas: &[ReplicaStatus]) -> String {
    let running: Vec<_> = replicas.iter().filter(|replica| replica.runs).collect();
    let troubles: Vec<_> = running
        .iter()
        .filter_map(|replica| Some(format!("{}: {}", replica.replica.row.name, replica.replica.trouble.as_ref()?)))
        .collect();
    let last = replicas.iter().min_by_key(|replica| replica.replica.row.seen_ms);
    match (running.len(), last) {
        (0, None) => "nobody holds the lease. Is a replica running (outbox run)?".to_owned(),
        (0, Some(last)) => {
            let row = &last.replica.row;
            format!(
                "nobody holds the lease. No replica runs: the last, {}, was seen {} ago",
                row.name,
                span(row.seen_ms)
            )
        }
        (count, _) if troubles.is_empty() => {
            let run = if count == 1 { "a replica runs" } else { "replicas run" };
            format!("nobody holds the lease just now, and {run}. Where it stays so, see their /readyz and their logs")
        }
        _ => format!("nobody holds the lease, and the replicas that run cannot poll: {}", troubles.join("; ")),
    }
}

fn pollers(status: &Status) -> Page {
    let mut page = Page::default();
    let rows = status.shards.iter().map(|shard| {
        let word = |word: &str| word.to_owned();
        let said = |text: Option<String>| text.unwrap_or_else(|| word("-"));
        let name = shard.instance.as_ref().or(shard.holder.as_ref());
        let poller = match (shard.state, name) {
            (State::Unknown, _) => word("unknown"),
            (State::Beginning, Some(name)) => format!("{name} (begins)"),
            (State::Polled, Some(name)) => name.clone(),
            (State::Idle | State::Beginning | State::Polled, _) => word("nobody"),
        };
        let poller = match shard.state {
            State::Polled | State::Beginning => Cell::name(poller),
            State::Idle | State::Unknown => Cell::state(poller),
        };
        [
            Cell::whole(shard.shard),
            poller,
            Cell::whole(said(shard.holder.clone())),
            Cell::whole(said(shard.epoch.map(|epoch| epoch.to_string()))),
            Cell::time(said(shard.since.as_deref().map(to_the_second))),
            Cell::whole(said(shard.since_ms.map(span))),
            Cell::whole(said(shard.trusted_ms.map(span))),
        ]
    });
    page.table(["SHARD", "POLLER", "HOLDER", "EPOCH", "SINCE", "FOR", "LEASE FOR"], rows);
    for shard in &status.shards {
        match (shard.state, &shard.error) {
            (State::Unknown, Some(error)) => page.line(format!("shard {}: {}", shard.shard, in_one_line(error))),
            (State::Idle, _) => {
                page.line(format!("shard {}: {}", shard.shard, in_one_line(&nobody(&status.replicas))));
            }
            (State::Polled, Some(error)) => {
                let line = format!("shard {}: the poller is what the database shows: {error}", shard.shard);
                page.line(in_one_line(&line));
            }
            (State::Polled | State::Beginning | State::Unknown, _) => {}
        }
    }
    page
}

fn channels(vitals: &Vitals, per_minute: Option<PerMinute>) -> Page {
    if vitals.channels.is_empty() {
        return match per_minute.map(|minute| minute.delivered) {
            Some(delivered @ 1..) => {
                format!("nothing waits, nothing is dead; {}/min go out", grouped(delivered.unsigned_abs())).into()
            }
            Some(_) | None => "nothing pending, nothing dead".into(),
        };
    }
    let rows = vitals.channels.iter().map(|channel| {
        [
            channel.channel.clone().into(),
            Cell::whole(channel.pending),
            Cell::whole(channel.due),
            Cell::whole(channel.deferred),
            Cell::whole(channel.dead),
            Cell::whole(channel.lag_ms.map_or_else(|| "-".to_owned(), span)),
        ]
    });
    let mut page = Page::default();
    page.table(["CHANNEL", "PENDING", "DUE", "DEFERRED", "DEAD", "LAG"], rows);
    page
}

fn terms(entries: &[TermEntry], shards: &[ShardStatus], replicas: &[ReplicaStatus]) -> Page {
    if entries.is_empty() {
        return "no term has begun yet".into();
    }
    let count = |count: Option<i64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let polls = |term: &TermEntry| shards.iter().any(|shard| shard.holder.as_ref() == Some(&term.holder));
    let row = |term: &TermEntry| {
        // A poller that was killed cannot note the end of its term. The next poller notes that the term was lost.
        let end = term.ended_because.as_deref().unwrap_or(if polls(term) { "polls" } else { "no word of its end" });
        let seen = seen_at(term, replicas);
        // Of a replica that lives on, or has no row any more, there is no last sign.
        let until = term.until(seen).filter(|until| *until != term.started_at);
        let is_bound = until.is_some() && term.lasted(seen).is_some_and(|lasted| !lasted.is_exact);
        let end = if is_bound { format!("{end}, last seen then") } else { end.to_owned() };
        [
            Cell::whole(term.shard),
            Cell::whole(term.epoch),
            Cell::name(shortened(term.instance.as_ref().unwrap_or(&term.holder), 32)),
            Cell::time(to_the_second(&term.started_at)),
            Cell::time(until.or(term.ended_at.as_deref()).map_or_else(|| "-".to_owned(), to_the_second)),
            Cell::whole(count(term.claimed)),
            Cell::whole(count(term.delivered)),
            Cell::whole(count(term.failed)),
            Cell::whole(count(term.in_doubt)),
            term.failover().map_or(end, |change| format!("failover {change}")).into(),
        ]
    };
    let runs = entries.chunk_by(|later, earlier| later.shard == earlier.shard && is_dull(later) && is_dull(earlier));
    let rows = runs.flat_map(|run| if run.len() < FOLDED { run.iter().map(row).collect() } else { vec![folded(run)] });
    let mut page = Page::default();
    page.table(
        ["SHARD", "EPOCH", "POLLER", "BEGAN", "ENDED", "CLAIMED", "DELIVERED", "FAILED", "IN DOUBT", "WHY"],
        rows,
    );
    page
}

/// So many dull terms, one after the other, are one row.
const FOLDED: usize = 3;

/// Whether a term ended as most do, and left nothing in doubt.
fn is_dull(term: &TermEntry) -> bool {
    term.ended_because.as_deref() == Some("interval") && term.in_doubt.unwrap_or(0) == 0 && term.failover().is_none()
}

/// Dull terms as one row, the latest first.
fn folded(run: &[TermEntry]) -> [Cell; 10] {
    let (latest, first) = (&run[0], &run[run.len() - 1]);
    let sum = |count: fn(&TermEntry) -> Option<i64>| {
        let known = run.iter().filter_map(count).reduce(|one, other| one + other);
        Cell::whole(known.map_or_else(|| "-".to_owned(), |sum| sum.to_string()))
    };
    let pollers = run.iter().map(|term| &term.holder).collect::<BTreeSet<_>>().len();
    [
        Cell::whole(latest.shard),
        Cell::whole(format!("{}-{}", first.epoch, latest.epoch)),
        Cell::name(if pollers == 1 { "1 poller".to_owned() } else { format!("{pollers} pollers") }),
        Cell::time(to_the_second(&first.started_at)),
        Cell::time(latest.ended_at.as_deref().map_or_else(|| "-".to_owned(), to_the_second)),
        sum(|term| term.claimed),
        sum(|term| term.delivered),
        sum(|term| term.failed),
        sum(|term| term.in_doubt),
        format!("interval, {} terms", run.len()).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_breaker_is_told_from_a_pause_by_hand_which_says_by_whom() {
        let pause = |kind: &str, by: &str, remaining_ms| PausedDestination {
            destination: "orders".to_owned(),
            paused_until: "2026-05-01T10:00:00.5Z".to_owned(),
            remaining_ms,
            paused_by: Some(by.to_owned()),
            pause_kind: Some(kind.to_owned()),
            reason: Some("503".to_owned()),
            failures: 0,
        };
        let said = paused(&pause("breaker", "dispatcher", Some(5_000)));
        assert_eq!(said, "breaker open: orders until 2026-05-01T10:00:00Z (in 5.0s): 503");
        assert_eq!(paused(&pause("hand", "ada", None)), "paused: orders by ada until somebody resumes it: 503");
        assert!(paused(&pause("asked", "dispatcher", Some(1))).starts_with("paused: orders until 2026"));
    }

    #[test]
    fn terms_that_ended_as_most_do_are_one_row_between_those_that_did_not() {
        let term = |epoch: i64, why: Option<&str>| {
            let json = serde_json::json!({
                "shard": 0, "epoch": epoch, "holder": format!("h{}", epoch % 2), "started_at": format!("2026-05-01T10:00:{epoch:02}Z"),
                "ended_at": why.map(|_| format!("2026-05-01T10:01:{epoch:02}Z")), "ended_because": why, "claimed": 10, "delivered": 9,
                "failed": 1, "in_doubt": 0,
            });
            serde_json::from_value::<TermEntry>(json).unwrap_or_else(|why| panic!("{why}"))
        };
        let why = [
            None,
            Some("interval"),
            Some("interval"),
            Some("interval"),
            Some("interval"),
            Some("lost"),
            Some("interval"),
        ];
        let entries: Vec<_> = why.into_iter().zip((1..=7).rev()).map(|(why, epoch)| term(epoch, why)).collect();
        let shown = terms(&entries, &[], &[]).on(&Screen::none());
        let rows: Vec<_> =
            shown.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(rows.len(), 4, "{shown}");
        assert_eq!(rows[1], "0 3-6 2 pollers 2026-05-01T10:00:03Z 2026-05-01T10:01:06Z 40 36 4 0 interval, 4 terms");
        assert!(rows[2].starts_with("0 2 ") && rows[3].starts_with("0 1 "), "{shown}");
    }

    #[test]
    fn a_channel_that_no_settings_can_have_is_not_waited_for() {
        assert_eq!(what_it_waits_for("hooks"), "its messages wait until [channels.hooks] is there");
        for name in ["HTTP", "a.b"] {
            assert!(what_it_waits_for(name).starts_with("no channel can be called so (it contains "), "{name}");
        }
    }
}
