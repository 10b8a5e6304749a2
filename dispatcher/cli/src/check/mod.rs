//! `outbox check`: whether everything that the settings name can be used, and what a crash costs with these settings.

mod rights;
mod strict;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use outbox_schema::mistakes::Mistakes;
use outbox_schema::tls::Tls;
use outbox_schema::{Database, Role, Shard};
use serde::Serialize;

use outbox_dispatcher::config::Config;
use outbox_dispatcher::poller::claim::SETTLING_MARGIN;
use outbox_dispatcher::term::leadership::longest_campaign_pause;
use outbox_dispatcher::text::{Cell, Page, print_as, with_causes};
use outbox_dispatcher::wiring;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Name all that a strict installation would not leave so, and fail where there is anything, warnings included
    /// (docs/security.md).
    #[arg(long)]
    strict: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
    crash: CrashCost,
}

/// The finding about one subject.
#[derive(Debug, Serialize)]
struct Finding {
    subject: String,
    verdict: Verdict,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warning,
    Failed,
}

/// The cost of a crash of the poller with these settings.
#[derive(Debug, Serialize)]
struct CrashCost {
    /// The longest pause of all deliveries, in seconds.
    gap_seconds: f64,
    /// The most messages in doubt.
    in_doubt_messages: u32,
    /// The time from the start of the next poller until those messages are decided, in seconds.
    settled_after_seconds: f64,
}

pub(super) async fn check(config: Config, args: &CheckArgs) -> anyhow::Result<ExitCode> {
    config.require_database()?;
    let mut findings = Vec::new();
    match wiring::database(&config, 2).await {
        Ok(database) => of_database(&config, &database, args.strict, &mut findings).await,
        Err(error) => findings.push(Finding::failed("database", &with_causes(&error))),
    }
    of_channels(&config, &mut findings).await;
    if args.strict {
        findings.extend(strict::of_lease(&config).map(|what| Finding::warning("lease", &what)));
        findings.extend(strict::remarks(&config).into_iter().map(|(key, what)| Finding::warning(&key, &what)));
    }
    let fails = |verdict| verdict == Verdict::Failed || args.strict && verdict == Verdict::Warning;
    let ok = !findings.iter().any(|finding| fails(finding.verdict));
    let report = Report { ok, findings, crash: CrashCost::of(&config) };
    print_as(args.json, &report, in_words)?;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn of_database(config: &Config, database: &Database, strict: bool, findings: &mut Vec<Finding>) {
    let url = &config.database.url;
    findings.push(match database.tls().await {
        Ok(None) => Finding::ok("database", &format!("{url} answers")),
        Ok(Some(tls)) => Finding::ok("database", &format!("{url} answers; {}", protection(tls, database.is_near()))),
        Err(error) => Finding::failed("database", &error),
    });
    if strict && let Ok(Some(tls)) = database.tls().await {
        findings.extend(
            strict::unverified("database.url", url.expose(), tls).map(|what| Finding::warning("database", &what)),
        );
    }
    let outbox = match database.require(&config.database.environment).await {
        Ok(outbox) => outbox,
        Err(error) => return findings.push(Finding::failed("schema", &error)),
    };
    findings.push(Finding::ok(
        "schema",
        &format!("version {}, environment `{}`", outbox.schema_version, outbox.environment),
    ));
    let role = match rights::of_role(database, findings).await {
        Ok(role) => role,
        Err(error) => {
            findings.push(Finding::failed("rights", &error));
            Role::Dispatcher
        }
    };
    if role == Role::Dispatcher {
        findings.push(match database.trial().await {
            Ok(()) => Finding::ok(
                "work",
                &"a message was claimed, marked, settled and removed in a trial that was rolled back",
            ),
            Err(error) => Finding::failed("work", &error),
        });
    }
    match database.strangers_may_create().await {
        Ok(warnings) => findings.extend(warnings.into_iter().map(|warning| Finding::warning("rights", &warning))),
        Err(error) => findings.push(Finding::failed("rights", &error)),
    }
    match database.durability().await {
        Ok(warnings) => findings.extend(warnings.into_iter().map(|warning| Finding::warning("durability", &warning))),
        Err(error) => findings.push(Finding::failed("durability", &error)),
    }
    match database.mistakes().await {
        Ok(mistakes) => findings.extend(of_mistakes(&mistakes)),
        Err(error) => findings.push(Finding::failed("messages", &error)),
    }
    match database.held_back().await {
        Ok(seen) => findings.extend(seen.missing_right.map(unseen)),
        Err(error) => findings.push(Finding::failed("snapshots", &error)),
    }
    findings.push(of_lease(config, &outbox.outbox_id.to_string()).await);
    findings.extend(wiring::lease_link(config).and_then(|link| Some(Finding::warning("lease", &link.warning()?))));
}

/// Each mistake that the newest messages show. `outbox messages explain` shows the same for one message.
fn of_mistakes(mistakes: &Mistakes) -> impl Iterator<Item = Finding> {
    let looked_at = mistakes.looked_at;
    let found = [
        (mistakes.encoded_twice, "have a payload that is a JSON string holding JSON: was it encoded twice?"),
        (
            mistakes.whole_hours,
            "are due before they were written, or a whole number of hours after it, to the minute: a time zone? Write times in UTC",
        ),
        (mistakes.in_future, "say that they were written in the future: a time zone? Leave created_at to its default"),
    ];
    found
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(move |(count, what)| Finding::warning("messages", &format!("{count} of the newest {looked_at} {what}")))
}

/// Nothing depends on it, but a lag is explained less well.
fn unseen(right: &'static str) -> Finding {
    let text = format!("/readyz cannot say for how long other roles hold their snapshots: {right} to this role");
    Finding::warning("snapshots", &text)
}

async fn of_lease(config: &Config, outbox_id: &str) -> Finding {
    let lease = match wiring::lease(config, outbox_id).await {
        Ok(lease) => lease,
        Err(error) => return Finding::failed("lease", &with_causes(&error)),
    };
    let answers = match wiring::lease_link(config) {
        None => "the lease store answers: a table of the database".to_owned(),
        Some(link) => format!("the lease store answers; {}", protection(link.tls, link.is_near)),
    };
    match lease.missing_rights().await {
        Ok(None) => {}
        Ok(Some(command)) => return Finding::failed("lease", &format!("{answers}; the user lacks rights: {command}")),
        Err(error) => return Finding::failed("lease", &error),
    }
    match lease.current(Shard::default()).await {
        Ok(Some(held)) => Finding::ok("lease", &format!("{answers}; {} polls", held.holder)),
        Ok(None) => Finding::ok("lease", &format!("{answers}; nobody polls")),
        Err(error) => Finding::failed("lease", &error),
    }
}

/// How a connection is protected. Without TLS it matters whether it leaves this machine.
fn protection(tls: Tls, is_near: bool) -> String {
    let stays = if tls == Tls::None && is_near { " (it does not leave this machine)" } else { "" };
    format!("{tls}{stays}")
}

async fn of_channels(config: &Config, findings: &mut Vec<Finding>) {
    let channels = match wiring::channels(config, config.admin.listen) {
        Ok(channels) => channels,
        Err(error) => return findings.push(Finding::failed("channels", &error)),
    };
    for channel in channels {
        let subject = format!("channel {}", channel.name);
        findings.push(match channel.adapter.check().await {
            Ok(text) => Finding::ok(&subject, &text),
            Err(text) => Finding::failed(&subject, &text),
        });
    }
}

impl Finding {
    fn new(subject: &str, verdict: Verdict, text: &dyn ToString) -> Self {
        Self { subject: subject.to_owned(), verdict, text: text.to_string() }
    }

    fn ok(subject: &str, text: &dyn ToString) -> Self {
        Self::new(subject, Verdict::Ok, text)
    }

    fn warning(subject: &str, text: &dyn ToString) -> Self {
        Self::new(subject, Verdict::Warning, text)
    }

    fn failed(subject: &str, text: &dyn ToString) -> Self {
        Self::new(subject, Verdict::Failed, text)
    }
}

impl CrashCost {
    fn of(config: &Config) -> Self {
        let ttl = config.lease.ttl;
        let longest = config.channels.values().map(|channel| channel.timeout).max().unwrap_or_default();
        Self {
            gap_seconds: tenths_up(ttl + longest_campaign_pause(ttl)),
            in_doubt_messages: config.dispatch.max_in_flight,
            settled_after_seconds: (ttl + longest + SETTLING_MARGIN).as_secs_f64(),
        }
    }
}

/// The seconds to one decimal, rounded up since the figure is an upper bound.
fn tenths_up(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10.0).ceil() / 10.0
}

fn in_words(report: &Report) -> Page {
    let rows = report.findings.iter().map(|finding| {
        let verdict = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Failed => "FAILED",
        };
        [Cell::whole(&finding.subject), Cell::state(verdict), finding.text.as_str().into()]
    });
    let mut page = Page::default();
    page.findings(["WHAT", "VERDICT", ""], rows);
    page.blank();
    let crash = &report.crash;
    page.line(format!(
        "A crash of the poller costs at most {:.1} s without deliveries, and leaves at most {} messages in doubt, \
         decided {:.1} s after the next poller begins.",
        crash.gap_seconds, crash.in_doubt_messages, crash.settled_after_seconds
    ));
    page
}
