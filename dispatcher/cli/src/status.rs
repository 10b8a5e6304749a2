//! `outbox status`: who polls, what is due, what is dead.

use std::process::ExitCode;

use clap::Args;
use outbox_schema::desk::{COUNTED, TenantVitals, TermEntry, Vitals};
use outbox_schema::{Database, channel_name};

use super::session::OutboxAccess;
use outbox_dispatcher::config::Config;
use outbox_dispatcher::health::status::{ShardStatus, State, Status};
use outbox_dispatcher::text::{Cell, Page, in_one_line, print_as, shortened, span, to_the_second};
use outbox_dispatcher::wiring;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn status(config: Config, url: Option<&str>, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let status = match OutboxAccess::by(&config, url).await? {
        OutboxAccess::Replica(replica) => replica.status().await?,
        OutboxAccess::Database(database, _) => by_database(&config, &database).await?,
    };
    print_as(args.json, &status, in_words)?;
    Ok(ExitCode::SUCCESS)
}

async fn by_database(config: &Config, database: &Database) -> anyhow::Result<Status> {
    let outbox = database.require(&config.database.environment).await?;
    let lease = wiring::lease(config, &outbox.outbox_id.to_string()).await?;
    let known = |name: &str| config.channels.contains_key(name);
    Ok(Status::of(database.desk().as_ref(), lease.as_ref(), known).await?)
}

fn in_words(status: &Status) -> Page {
    let mut page = pollers(&status.shards);
    page.blank();
    page.append(channels(&status.vitals));
    for tenant in &status.vitals.tenants {
        page.line(in_one_line(&loaded(tenant)));
    }
    for channel in &status.not_configured {
        let (name, fate) = (in_one_line(channel), what_it_waits_for(channel));
        page.line(format!("not configured: channel \"{name}\": {fate}"));
    }
    for pause in &status.vitals.paused {
        let until = match pause.remaining_ms {
            Some(_) => &pause.paused_until,
            None => "somebody resumes it",
        };
        let reason = pause.reason.as_deref().unwrap_or("no reason given");
        page.line(in_one_line(&format!("paused: {} until {until}: {reason}", pause.destination)));
    }
    if status.vitals.unsettled_claims > 0 {
        page.line(format!("claims of earlier terms being settled: {}", status.vitals.unsettled_claims));
    }
    page.blank();
    page.append(terms(&status.last_terms, &status.shards));
    page
}

/// What one of the tenants has that have most.
fn loaded(tenant: &TenantVitals) -> String {
    let more = if tenant.due >= COUNTED { " or more" } else { "" };
    let since = tenant.lag_ms.map_or_else(String::new, |ms| format!(", the first of them for {}", span(ms)));
    format!("much is due: tenant {} of channel {} has {}{more}{since}", tenant.tenant, tenant.channel, tenant.due)
}

/// What happens to the messages of a channel that is not configured.
fn what_it_waits_for(channel: &str) -> String {
    match channel_name::check(channel) {
        Ok(()) => format!("its messages wait until [channels.{channel}] is there"),
        Err(why) => format!(
            "no channel can be called so ({why}; allowed is {}): cancel its messages (outbox messages cancel), and have \
             them inserted for another channel",
            channel_name::ALLOWED
        ),
    }
}

fn pollers(shards: &[ShardStatus]) -> Page {
    let mut page = Page::default();
    let rows = shards.iter().map(|shard| {
        let word = |word: &str| word.to_owned();
        let said = |text: Option<String>| text.unwrap_or_else(|| word("-"));
        let poller = match (shard.state, &shard.holder) {
            (State::Unknown, _) => word("unknown"),
            (State::Beginning, Some(holder)) => format!("{holder} (begins)"),
            (State::Polled, Some(holder)) => holder.clone(),
            (State::Idle | State::Beginning | State::Polled, _) => word("nobody"),
        };
        [
            Cell::whole(shard.shard),
            Cell::state(poller),
            Cell::whole(said(shard.epoch.map(|epoch| epoch.to_string()))),
            Cell::time(said(shard.since.as_deref().map(to_the_second))),
            Cell::whole(said(shard.since_ms.map(span))),
            Cell::whole(said(shard.trusted_ms.map(span))),
        ]
    });
    page.table(["SHARD", "POLLER", "EPOCH", "SINCE", "FOR", "TRUSTED FOR"], rows);
    for shard in shards {
        match (shard.state, &shard.error) {
            (State::Unknown, Some(error)) => page.line(format!("shard {}: {}", shard.shard, in_one_line(error))),
            (State::Idle, _) => {
                page.line(format!("shard {}: nobody holds the lease. Is a replica running (outbox run)?", shard.shard));
            }
            (State::Polled | State::Beginning | State::Unknown, _) => {}
        }
    }
    page
}

fn channels(vitals: &Vitals) -> Page {
    if vitals.channels.is_empty() {
        return "nothing pending, nothing dead".into();
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

fn terms(entries: &[TermEntry], shards: &[ShardStatus]) -> Page {
    if entries.is_empty() {
        return "no term has begun yet".into();
    }
    let count = |count: Option<i64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let polls = |term: &TermEntry| shards.iter().any(|shard| shard.holder.as_ref() == Some(&term.holder));
    let rows = entries.iter().map(|term| {
        // A poller that was killed cannot note the end of its term. The next poller notes that the term was lost.
        let end = term.ended_because.as_deref().unwrap_or(if polls(term) { "polls" } else { "no word of its end" });
        [
            Cell::whole(term.shard),
            Cell::whole(term.epoch),
            shortened(&term.holder, 32).into(),
            Cell::time(to_the_second(&term.started_at)),
            Cell::time(term.ended_at.as_deref().map_or_else(|| "-".to_owned(), to_the_second)),
            end.into(),
            Cell::whole(count(term.claimed)),
            Cell::whole(count(term.delivered)),
            Cell::whole(count(term.failed)),
        ]
    });
    let mut page = Page::default();
    page.table(["SHARD", "EPOCH", "HOLDER", "BEGAN", "ENDED", "BECAUSE", "CLAIMED", "DELIVERED", "FAILED"], rows);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_no_settings_can_have_is_not_waited_for() {
        assert_eq!(what_it_waits_for("hooks"), "its messages wait until [channels.hooks] is there");
        for name in ["HTTP", "a.b"] {
            assert!(what_it_waits_for(name).starts_with("no channel can be called so (it contains "), "{name}");
        }
    }
}
