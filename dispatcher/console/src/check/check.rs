//! Whether everything that the settings name can be used, and what a crash costs with these settings: for `outbox check`, the
//! admin API and the page.

use std::sync::Arc;

use futures_util::future::join_all;
use outbox_adapters::Lease;
use outbox_store::migrate::Meta;
use outbox_store::mistakes::Mistakes;
use outbox_store::tls::Tls;
use outbox_store::{Database, Dialect, InDoubtPolicy, Replication, Role, Shard};

use super::recurring::of_recurring;
use super::report::{CheckReport, CrashCost, Finding, FindingVerdict};
use super::{rights, strict};
use crate::alerts::Alerts;
use crate::explain::named;
use crate::health::replicas::Replicas;
use crate::text::with_causes;
use outbox_config::Config;
use outbox_dispatcher::poller::channels::Channel;
use outbox_dispatcher::wiring;

/// Stands for the id of an outbox that cannot be read.
const NO_OUTBOX: &str = "check";

/// Checks settings, over connections of its own.
pub async fn check_settings(config: Config, strict: bool) -> CheckReport {
    let database = wiring::database(&config, 2).await.map_err(|error| with_causes(&error));
    let config = Arc::new(config);
    Subject { started: config.clone(), read: config, database, lease: None }.report(strict).await
}

/// Checks a replica, over its own connections. `started` are the settings of its start, and `read` those that it read last.
pub async fn check_replica(
    (started, read): (Arc<Config>, Arc<Config>),
    database: Database,
    lease: Arc<dyn Lease>,
    strict: bool,
) -> CheckReport {
    Subject { started, read, database: Ok(database), lease: Some(lease) }.report(strict).await
}

/// The settings and the connections that a check looks at.
struct Subject {
    /// The settings of the start: of the database, the lease and the loop.
    started: Arc<Config>,
    /// The settings that were read last: of the channels and the listener.
    read: Arc<Config>,
    /// The database, or why it cannot be opened.
    database: Result<Database, String>,
    /// The lease of a replica. None: that of the settings.
    lease: Option<Arc<dyn Lease>>,
}

impl Subject {
    async fn report(self, strict: bool) -> CheckReport {
        let (mut findings, of_channels) = tokio::join!(self.of_database_and_lease(strict), of_channels(&self.read));
        findings.extend(of_channels);
        findings.extend(of_recurring(&self.read));
        findings.extend(of_alerts(&self.read));
        if strict {
            findings.extend(strict::of_lease(&self.started).map(|what| Finding::warning("lease", &what)));
            let remarks = strict::remarks(&self.read).into_iter();
            findings.extend(remarks.map(|(key, what)| Finding::warning(&key, &what)));
        }
        let fails = |verdict| verdict == FindingVerdict::Failed || strict && verdict == FindingVerdict::Warning;
        let ok = !findings.iter().any(|finding| fails(finding.verdict));
        CheckReport { ok, findings, crash: CrashCost::of(&self.started, &self.read) }
    }

    /// The findings about the database, and about the lease, whose name holds the id of the outbox.
    async fn of_database_and_lease(&self, strict: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        let outbox = match &self.database {
            Ok(database) => of_database(self, database, strict, &mut findings).await,
            Err(error) => {
                findings.push(Finding::failed("database", error));
                None
            }
        };
        findings.extend(match &outbox {
            None if self.started.lease.provider.is_in_database() => {
                Some(Finding::failed("lease", &"not tried: it is in the database, which cannot be used"))
            }
            // It may not read the table, and need not.
            Some((_, Role::Application)) if self.started.lease.provider.is_in_database() => None,
            None => Some(of_lease(self, None).await),
            Some((outbox, _)) => Some(of_lease(self, Some(&outbox.outbox_id.to_string())).await),
        });
        let link = wiring::lease_link(&self.started);
        findings.extend(link.and_then(|link| Some(Finding::warning("lease", &link.warning()?))));
        if let (Ok(database), Some((_, role))) = (&self.database, &outbox) {
            findings.extend(elsewhere(&self.started, database).await);
            if *role != Role::Application {
                findings.extend(of_failovers(self, database).await);
            }
        }
        findings
    }
}

/// The findings about the database. Gives its outbox, where that can be used, and for whom the role is.
async fn of_database(
    subject: &Subject,
    database: &Database,
    strict: bool,
    findings: &mut Vec<Finding>,
) -> Option<(Meta, Role)> {
    let config = &subject.started;
    let url = &config.database.url;
    let tls = match database.tls().await {
        Ok(tls) => tls,
        Err(error) => {
            findings.push(Finding::failed("database", &error));
            return None;
        }
    };
    let protected = tls.map_or_else(String::new, |tls| format!("; {}", protection(tls, database.is_near())));
    findings.push(Finding::ok("database", &format!("{url} answers{protected}")));
    if strict && let Some(tls) = tls {
        findings.extend(
            strict::unverified("database.url", url.expose(), tls).map(|what| Finding::warning("database", &what)),
        );
    }
    let outbox = match database.require(&config.database.environment).await {
        Ok(outbox) => outbox,
        Err(error) => {
            findings.push(Finding::failed("schema", &error));
            return None;
        }
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
    match outbox_desk::strangers_may_create(database).await {
        Ok(warnings) => findings.extend(warnings.into_iter().map(|warning| Finding::warning("rights", &warning))),
        Err(error) => findings.push(Finding::failed("rights", &error)),
    }
    match outbox_desk::durability(database).await {
        Ok(warnings) => findings.extend(warnings.into_iter().map(|warning| Finding::warning("durability", &warning))),
        Err(error) => findings.push(Finding::failed("durability", &error)),
    }
    match database.replication().await {
        Ok(replication) => findings.extend(of_replication(subject, database, &replication)),
        Err(error) => findings.push(Finding::failed("durability", &error)),
    }
    match outbox_desk::prepared_transactions(database).await {
        Ok(warning) => findings.extend(warning.map(|warning| Finding::warning("wakeup", &warning))),
        Err(error) => findings.push(Finding::failed("wakeup", &error)),
    }
    if role == Role::Application {
        // It may not read more.
        return Some((outbox, role));
    }
    match database.mistakes().await {
        Ok(mistakes) => findings.extend(of_mistakes(&mistakes)),
        Err(error) => findings.push(Finding::failed("messages", &error)),
    }
    match outbox_desk::held_back(database).await {
        Ok(seen) => findings.extend(seen.missing_right.map(unseen)),
        Err(error) => findings.push(Finding::failed("snapshots", &error)),
    }
    Some((outbox, role))
}

/// What a failover of the database can lose, and which channels then send twice what they should send once at most.
fn of_replication<'a>(
    subject: &'a Subject,
    database: &Database,
    replication: &Replication,
) -> impl Iterator<Item = Finding> + use<'a> {
    let durability = subject.started.database.durability;
    let said = match replication.refusal(durability) {
        Some(why) => Finding::failed("durability", &why),
        None => Finding::ok("durability", &replication.in_words(durability)),
    };
    let fails_over = database.dialect() != Dialect::Sqlite;
    let loses = fails_over && replication.loses_commits(durability);
    let at_most_once =
        subject.read.channels.values().filter(move |channel| loses && channel.in_doubt == InDoubtPolicy::DeadLetter);
    let told = "unless the storage itself is replicated, the last commits can be lost at a failover, and at most once with them: see \
                database.durability";
    let of_channels = at_most_once.map(move |channel| Finding::ok(&format!("channel {}", channel.name), &told));
    fails_over.then_some(said).into_iter().chain(of_channels)
}

/// What replicas are not told when the database fails over. A file does not.
async fn of_failovers(subject: &Subject, database: &Database) -> Vec<Finding> {
    let mut findings = Vec::new();
    if subject.started.lease.provider.is_in_database() && database.dialect() != Dialect::Sqlite {
        let text =
            "with the lease in the database, failovers have no witness beside the database: see docs/failover.md";
        findings.push(Finding::ok("failover", &text));
    }
    match outbox_desk::hidden_system(database).await {
        Ok(hidden) => findings.extend(hidden.map(|text| Finding::ok("failover", &text))),
        Err(error) => findings.push(Finding::failed("failover", &error)),
    }
    findings
}

/// A lease store of the fleet that is not the one of these settings. What the latter says then tells nothing of the fleet.
async fn elsewhere(config: &Config, database: &Database) -> Option<Finding> {
    let own = config.lease.provider.shown();
    // Without the right to read their rows nothing is known of the replicas.
    let replicas = Replicas::of(database).await.unwrap_or_default();
    let other = replicas.running().find_map(|replica| {
        let by = replica.replica.runs_by.as_ref()?;
        (by.lease_store != own).then_some((&replica.replica.row.name, &by.lease_store))
    });
    let (name, store) = other?;
    let text = format!(
        "the replica {name} has its lease in {store}, and these settings name {own}: set [lease] as the replicas have it"
    );
    Some(Finding::warning("lease", &text))
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

/// The lease. Its name holds the id of the outbox: without that, only whether the store answers can be found out.
async fn of_lease(subject: &Subject, outbox_id: Option<&str>) -> Finding {
    let lease = match &subject.lease {
        Some(lease) => Ok(lease.clone()),
        None => wiring::lease(&subject.started, outbox_id.unwrap_or(NO_OUTBOX), &Arc::default()).await,
    };
    let lease = match lease {
        Ok(lease) => lease,
        Err(error) => return Finding::failed("lease", &with_causes(&error)),
    };
    let answers = match wiring::lease_link(&subject.started) {
        None => format!("the lease store answers: a {} of the database", subject.started.lease.provider.shown()),
        Some(link) => format!("the lease store answers; {}", protection(link.tls, link.is_near)),
    };
    match lease.missing_rights().await {
        Ok(None) => {}
        Ok(Some(command)) => return Finding::failed("lease", &format!("{answers}; the user lacks rights: {command}")),
        Err(error) => return Finding::failed("lease", &with_advice(&error.to_string(), &*lease)),
    }
    let polls = match lease.current(&Shard::default().into()).await {
        Ok(Some(held)) => format!("{} polls", replica_of(subject, &held.holder).await),
        Ok(None) if outbox_id.is_none() => "who polls is not known without the database".to_owned(),
        Ok(None) => "nobody polls".to_owned(),
        Err(error) => return Finding::failed("lease", &with_advice(&error.to_string(), &*lease)),
    };
    let finding = if lease.advice().is_some() { Finding::warning } else { Finding::ok };
    finding("lease", &with_advice(&format!("{answers}; {polls}"), &*lease))
}

/// What was found, and what the settings had better say.
fn with_advice(found: &str, lease: &dyn Lease) -> String {
    lease.advice().map_or_else(|| found.to_owned(), |advice| format!("{found}; {advice}"))
}

/// A holder behind the name of its replica, where the replica has a row that this role may read.
async fn replica_of(subject: &Subject, holder: &str) -> String {
    let replicas = match &subject.database {
        Ok(database) => Replicas::of(database).await.unwrap_or_default(),
        Err(_) => Replicas::default(),
    };
    named(holder, replicas.holder(holder).map(|replica| replica.replica.row.name.as_str()))
}

/// How a connection is protected. Without TLS it matters whether it leaves this machine.
fn protection(tls: Tls, is_near: bool) -> String {
    let stays = if tls == Tls::None && is_near { " (it does not leave this machine)" } else { "" };
    format!("{tls}{stays}")
}

/// Each channel. They are asked at once: one may take as long as its timeout.
async fn of_channels(config: &Config) -> Vec<Finding> {
    let channels = match wiring::channels(config, config.admin.listen) {
        Ok(channels) => channels,
        Err(error) => return vec![Finding::failed("channels", &error)],
    };
    let check = async |channel: &Channel| {
        let subject = format!("channel {}", channel.name);
        match channel.adapter.check().await {
            Ok(text) => Finding::ok(&subject, &text),
            Err(text) => Finding::failed(&subject, &text),
        }
    };
    join_all(channels.iter().map(check)).await
}

/// What is told to people. None where nothing is.
fn of_alerts(config: &Config) -> Vec<Finding> {
    let alerts = match Alerts::of(config) {
        Ok(Some(alerts)) => alerts,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Finding::failed("alerts", &with_causes(&error))],
    };
    let clear = "alerts.url begins with http://: who is on the network can read it, and post there";
    let clear = alerts.is_in_the_clear().then(|| Finding::warning("alerts", &clear));
    [Finding::ok("alerts", &alerts.in_words())].into_iter().chain(clear).collect()
}
