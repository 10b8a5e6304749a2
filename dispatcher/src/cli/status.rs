//! `outbox status`: who polls, what is due, what is dead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use outbox_adapters::{Held, LeaseError};
use outbox_schema::Shard;
use outbox_schema::desk::{TermEntry, Vitals};
use serde::Serialize;

use super::text::{print_as, shortened, span, table, to_the_second};
use crate::config::Config;
use crate::wiring;

/// Terms shown.
const LAST_TERMS: u32 = 10;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Status {
    #[serde(flatten)]
    vitals: Vitals,
    /// Channels that messages wait for and that the settings of this command do not know.
    not_configured: Vec<String>,
    /// Who polls each shard, as the lease store and the database together say it.
    shards: Vec<ShardStatus>,
    last_terms: Vec<TermEntry>,
}

#[derive(Debug, Serialize)]
struct ShardStatus {
    shard: i16,
    state: State,
    /// Who holds the lease; none where nobody does.
    holder: Option<String>,
    /// Of the holder's term; none until it has begun, as with the next two.
    epoch: Option<i64>,
    since: Option<String>,
    since_ms: Option<i64>,
    /// For how much longer the lease store honours the lease unless it is renewed.
    trusted_ms: Option<i64>,
    /// Why the lease store could not be asked.
    error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The holder of the lease leads the newest term.
    Polled,
    /// The lease is held, and its term has not begun.
    Beginning,
    /// Nobody holds the lease.
    Idle,
    /// The lease store does not answer.
    Unknown,
}

pub(super) async fn status(config: Config, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let database = wiring::database(&config, 2).await?;
    let outbox = database.require(&config.database.environment).await?;
    let desk = database.desk();
    let lease = wiring::lease(&config, &outbox.outbox_id.to_string()).await?;
    let mut leases = BTreeMap::new();
    for shard in shards(&desk.vitals().await?) {
        leases.insert(shard, lease.current(shard).await);
    }
    // Asked again: what the leases say is no newer than this.
    let vitals = desk.vitals().await?;
    let status = Status {
        not_configured: not_configured(&config, &vitals),
        shards: leases.into_iter().map(|(shard, held)| ShardStatus::of(shard, held, &vitals)).collect(),
        vitals,
        last_terms: desk.terms(LAST_TERMS).await?,
    };
    print_as(args.json, &status, in_words)?;
    Ok(ExitCode::SUCCESS)
}

/// Those that somebody has led, and the first.
fn shards(vitals: &Vitals) -> BTreeSet<Shard> {
    let led = vitals.terms.iter().filter_map(|term| i16::try_from(term.shard).ok());
    led.map(Shard).chain([Shard::default()]).collect()
}

impl ShardStatus {
    fn of(shard: Shard, held: Result<Option<Held>, LeaseError>, vitals: &Vitals) -> Self {
        let nothing = Self {
            shard: shard.0,
            state: State::Idle,
            holder: None,
            epoch: None,
            since: None,
            since_ms: None,
            trusted_ms: None,
            error: None,
        };
        let held = match held {
            Ok(Some(held)) => held,
            Ok(None) => return nothing,
            Err(error) => return Self { state: State::Unknown, error: Some(error.to_string()), ..nothing },
        };
        let term = vitals.terms.iter().find(|term| term.shard == i32::from(shard.0) && term.holder == held.holder);
        Self {
            state: if term.is_some() { State::Polled } else { State::Beginning },
            holder: Some(held.holder),
            epoch: term.map(|term| term.epoch),
            since: term.map(|term| term.started_at.clone()),
            since_ms: term.map(|term| term.age_ms),
            trusted_ms: Some(held.remaining.as_millis().try_into().unwrap_or(i64::MAX)),
            ..nothing
        }
    }
}

fn not_configured(config: &Config, vitals: &Vitals) -> Vec<String> {
    let waited_for = vitals.channels.iter().filter(|channel| channel.pending > 0).map(|channel| &channel.channel);
    waited_for.filter(|name| !config.channels.contains_key(*name)).cloned().collect()
}

fn in_words(status: &Status) -> String {
    let mut text = pollers(&status.shards);
    text.push('\n');
    text.push_str(&channels(&status.vitals));
    for channel in &status.not_configured {
        let _ = writeln!(
            text,
            "not configured: channel {channel:?}: its messages wait until [channels.{channel}] is there"
        );
    }
    for pause in &status.vitals.paused {
        let _ = writeln!(
            text,
            "paused: {} until {}: {}",
            pause.destination,
            pause.paused_until,
            pause.reason.as_deref().unwrap_or("no reason given")
        );
    }
    if status.vitals.unsettled_claims > 0 {
        let _ = writeln!(text, "claims of earlier terms being settled: {}", status.vitals.unsettled_claims);
    }
    text.push('\n');
    text.push_str(&terms(&status.last_terms, &status.shards));
    text
}

fn pollers(shards: &[ShardStatus]) -> String {
    let rows: Vec<_> = shards
        .iter()
        .map(|shard| {
            let word = |word: &str| word.to_owned();
            let said = |text: Option<String>| text.unwrap_or_else(|| word("-"));
            let poller = match (shard.state, &shard.holder) {
                (State::Unknown, _) => word("unknown"),
                (State::Beginning, Some(holder)) => format!("{holder} (begins)"),
                (State::Polled, Some(holder)) => holder.clone(),
                (State::Idle | State::Beginning | State::Polled, _) => word("nobody"),
            };
            [
                shard.shard.to_string(),
                poller,
                said(shard.epoch.map(|epoch| epoch.to_string())),
                said(shard.since.as_deref().map(to_the_second)),
                said(shard.since_ms.map(span)),
                said(shard.trusted_ms.map(span)),
            ]
        })
        .collect();
    let mut text = table(["SHARD", "POLLER", "EPOCH", "SINCE", "FOR", "TRUSTED FOR"], &rows);
    for shard in shards {
        let _ = match (shard.state, &shard.error) {
            (State::Unknown, Some(error)) => writeln!(text, "shard {}: {error}", shard.shard),
            (State::Idle, _) => {
                writeln!(text, "shard {}: nobody holds the lease. Is a replica running (outbox run)?", shard.shard)
            }
            (State::Polled | State::Beginning | State::Unknown, _) => Ok(()),
        };
    }
    text
}

fn channels(vitals: &Vitals) -> String {
    if vitals.channels.is_empty() {
        return "nothing pending, nothing dead\n".to_owned();
    }
    let rows: Vec<_> = vitals
        .channels
        .iter()
        .map(|channel| {
            [
                channel.channel.clone(),
                channel.pending.to_string(),
                channel.due.to_string(),
                channel.deferred.to_string(),
                channel.dead.to_string(),
                channel.lag_ms.map_or_else(|| "-".to_owned(), span),
            ]
        })
        .collect();
    table(["CHANNEL", "PENDING", "DUE", "DEFERRED", "DEAD", "LAG"], &rows)
}

fn terms(entries: &[TermEntry], shards: &[ShardStatus]) -> String {
    if entries.is_empty() {
        return "no term has begun yet\n".to_owned();
    }
    let count = |count: Option<i64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let polls = |term: &TermEntry| shards.iter().any(|shard| shard.holder.as_ref() == Some(&term.holder));
    let rows: Vec<_> = entries
        .iter()
        .map(|term| {
            // A poller that was killed says nothing; the next one notes that its term was lost.
            let end = term.ended_because.as_deref().unwrap_or(if polls(term) { "polls" } else { "no word of its end" });
            [
                term.shard.to_string(),
                term.epoch.to_string(),
                shortened(&term.holder, 32),
                to_the_second(&term.started_at),
                term.ended_at.as_deref().map_or_else(|| "-".to_owned(), to_the_second),
                end.to_owned(),
                count(term.claimed),
                count(term.delivered),
                count(term.failed),
            ]
        })
        .collect();
    table(["SHARD", "EPOCH", "HOLDER", "BEGAN", "ENDED", "BECAUSE", "CLAIMED", "DELIVERED", "FAILED"], &rows)
}
