//! The parts that the commands share, such as opening the database of the settings and checking that it is the right
//! one.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use outbox_adapters::Lease;
use outbox_desk::{Author, ByHand, Desk, DeskError};
use outbox_schema::MessageId;
use outbox_store::migrate::{Meta, SchemaState};
use outbox_store::{ConnectError, DEFAULT_ENVIRONMENT, Database, Role, Store};
use uuid::Uuid;

use crate::client::Replica;
use outbox_config::{Config, Dialect, SecretText, SecretUrl};
use outbox_console::configured::Configured;
use outbox_console::configured::destination_named;
use outbox_console::explain::{Explanation, explain};
use outbox_console::health::replicas::Replicas;
use outbox_console::text::{self, Page, Screen};
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_dispatcher::telemetry::{self, Telemetry, TelemetryError};
use outbox_dispatcher::wiring;

/// The connections of a command that reads or writes once.
const FEW: u32 = 2;

/// Opens the outbox of the settings for a command.
pub(super) async fn open(config: &Config) -> anyhow::Result<(Database, Meta)> {
    let database = wiring::database(config, FEW).await?;
    let required = database.require(&config.database.environment).await;
    let outbox = required.with_context(|| wiring::which_database(config))?;
    Ok((database, outbox))
}

/// Opens the outbox of the settings for a command that changes nothing. It may be of any environment: who looks does no harm.
async fn look(config: &Config) -> anyhow::Result<Database> {
    let database = wiring::database(config, FEW).await?;
    let found = database.require_tables().await.with_context(|| wiring::which_database(config))?.environment;
    let asked = &config.database.environment;
    if *asked != found && asked != DEFAULT_ENVIRONMENT {
        text::warning(&format!(
            "this outbox is of the environment `{found}`, and database.environment is `{asked}`. It is shown all the same"
        ));
    }
    Ok(database)
}

/// What the fleet runs by, as its replicas say it. These settings, where no replica does: those of 0.1.0 as released do not, and
/// a role may lack the right to read their rows.
async fn configured(config: &Config, database: &Database) -> Configured {
    let replicas = Replicas::of(database).await.unwrap_or_default();
    replicas.runs_by().map_or_else(|| Configured::of(config), Configured::by)
}

/// What a command does with an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A command that changes nothing.
    Look,
    /// A command that changes something. The outbox must be of the environment of the settings.
    Change,
}

impl Purpose {
    /// That of a command that may change something, and does not where it only says what it would do.
    pub(super) fn of(dry_run: bool) -> Self {
        if dry_run { Self::Look } else { Self::Change }
    }
}

/// The way to an outbox: its database, or a replica that answers for it.
pub(super) enum OutboxAccess {
    /// The database, and what the fleet runs by. Where no replica says that: what the settings say.
    Database(Database, Configured),
    /// A replica, which has its own settings.
    Replica(Replica),
}

impl OutboxAccess {
    /// The access by `url` where the operator gives one, else by the database of the settings.
    pub(super) async fn by(config: &Config, url: Option<&str>, purpose: Purpose) -> anyhow::Result<Self> {
        let Some(url) = url else {
            let database = match purpose {
                Purpose::Look => look(config).await?,
                Purpose::Change => open(config).await?.0,
            };
            let configured = configured(config, &database).await;
            return Ok(Self::Database(database, configured));
        };
        let replica = Replica::new(url, config.admin.for_requests().map(SecretText::expose))?;
        if replica.sends_token_in_the_open() {
            text::warning("the token crosses the network unencrypted: put TLS before the replica and say https");
        }
        Ok(Self::Replica(replica))
    }

    /// The same for a shell that completes a line: nothing is said, and nothing asked but the outbox.
    pub(super) async fn in_silence(config: &Config, url: Option<&str>) -> anyhow::Result<Self> {
        let Some(url) = url else {
            let database = wiring::database(config, FEW).await?;
            let configured = configured(config, &database).await;
            return Ok(Self::Database(database, configured));
        };
        Ok(Self::Replica(Replica::new(url, config.admin.for_requests().map(SecretText::expose))?))
    }

    pub(super) fn desk(&self) -> Arc<dyn Desk> {
        match self {
            Self::Database(database, _) => Arc::new(database.clone()),
            Self::Replica(replica) => Arc::new(replica.clone()),
        }
    }

    pub(super) async fn explain(&self, id: MessageId) -> Result<Option<Explanation>, DeskError> {
        match self {
            Self::Database(database, configured) => explain(database, configured, &ScheduleNow::default(), id).await,
            Self::Replica(replica) => replica.explain(id).await,
        }
    }

    /// The destination or channel that `name` stands for. A replica resolves the name itself, since it knows its own
    /// channels.
    pub(super) fn destination(&self, name: &str) -> Result<String, Misuse> {
        match self {
            Self::Database(_, configured) => {
                destination_named(name, configured).map_err(|error| Misuse::new(error.to_string()))
            }
            Self::Replica(_) => Ok(name.to_owned()),
        }
    }

    /// The channels whose ordering keys halt at a dead letter. A replica knows them itself.
    pub(super) fn halting(&self) -> Vec<String> {
        match self {
            Self::Database(_, configured) => configured.halting(),
            Self::Replica(_) => Vec::new(),
        }
    }

    /// The channels of the settings. A replica has settings of its own, which nobody can ask for.
    pub(super) fn channels(&self) -> Vec<String> {
        match self {
            Self::Database(_, configured) => configured.channels.keys().cloned().collect(),
            Self::Replica(_) => Vec::new(),
        }
    }

    /// The replicas that run, and those that were killed within a day.
    pub(super) async fn replicas(&self) -> Result<Replicas, DeskError> {
        match self {
            Self::Database(database, _) => Replicas::of(database).await,
            Self::Replica(replica) => Ok(Replicas::told(replica.replicas().await?)),
        }
    }

    pub(super) fn by_hand(&self) -> Arc<dyn ByHand> {
        match self {
            Self::Database(database, _) => Arc::new(database.clone()),
            Self::Replica(replica) => Arc::new(replica.clone()),
        }
    }
}

/// The outbox that `run` is to dispatch. Creates the tables of an embedded database that has none: no other program
/// could have made them.
pub(super) async fn require_or_create(config: &Config, database: &Database) -> anyhow::Result<Meta> {
    let environment = &config.database.environment;
    let embedded = config.database.dialect == Dialect::Sqlite;
    if embedded && matches!(database.schema_state().await?, SchemaState::Absent { .. }) {
        let made = database.migrate(environment).await?;
        tracing::info!(database = %config.database.url, "run.tables_created");
        return Ok(made.meta);
    }
    database.require(environment).await.with_context(|| wiring::which_database(config))
}

/// Names each right of the shipped grants that the role lacks. Those that the poller's work needs are refused by
/// [`require_work`]; without the others the replica runs.
pub(super) async fn warn_of_missing_rights(database: &Database) {
    match database.missing_rights(Role::Dispatcher).await {
        Ok(missing) => {
            for grant in missing {
                tracing::warn!("run.right_missing: whoever owns the tables gives this role what it lacks: {grant}");
            }
        }
        Err(error) => tracing::warn!(%error, "run.rights_unseen"),
    }
}

/// The same of the user of the lease store, and what its settings had better say. A store that does not answer is told of elsewhere.
pub(super) async fn warn_of_the_lease(lease: Arc<dyn Lease>) {
    if let Ok(Some(command)) = lease.missing_rights().await {
        tracing::warn!("run.right_missing: the user of the lease store lacks rights: {command}");
    }
    if let Some(advice) = lease.advice() {
        tracing::warn!("run.lease_advice: {advice}");
    }
}

/// Tries the poller's statements before the poller sends anything. A fleet that sends and cannot mark would send each
/// message again. An error that may pass is only logged, so that a replica can start beside a database that is failing
/// over. Gives the outbox for a poller.
pub(super) async fn require_work(database: &Database) -> anyhow::Result<Arc<dyn Store>> {
    match database.tried_store().await {
        Err(error) if error.may_pass() => {
            tracing::warn!(error = %error, "run.trial_failed: the replica starts all the same, since this may pass");
            Ok(database.store())
        }
        outcome => Ok(outcome?),
    }
}

/// Refuses to dispatch from a server where no commit can wait for another one as the settings say, or where pollers are not fenced.
pub(super) async fn require_standby(config: &Config, database: &Database) -> anyhow::Result<()> {
    let replication = database.replication().await.map_err(ConnectError::Connect)?;
    replication.refusal(config.database.durability).map_or(Ok(()), |why| Err(anyhow::anyhow!(why)))
}

/// Starts logs, and also traces and metrics where the settings name an endpoint.
pub(super) fn telemetry(config: &Config) -> Result<Telemetry, TelemetryError> {
    let settings = &config.telemetry;
    let level = settings.log_level.to_string();
    telemetry::start(&telemetry::Settings {
        log_format: settings.log_format,
        log_level: Some(&level),
        otlp_endpoint: settings.otlp_endpoint.as_ref().map(SecretUrl::expose),
        instance: &Uuid::new_v4().to_string(),
    })
}

/// A wrong use of the command: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misuse(String);

impl Misuse {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

/// Who asks for a change, and why.
#[derive(Debug, Args)]
pub(super) struct AuthorArgs {
    /// Why, for the audit.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    why: String,
    /// Who, for the audit [default: the user of the system].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Who asks for a change that others have to live with, and why.
#[derive(Debug, Args)]
pub(super) struct ReasonedArgs {
    /// Why: others are told it while the change lasts, and the audit keeps it.
    #[arg(long, value_name = "TEXT", required = true)]
    why: String,
    /// Who, for the audit [default: the user of the system].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl ReasonedArgs {
    pub(super) fn into_author(self) -> Author {
        AuthorArgs { why: self.why, by: self.by }.into_author()
    }
}

impl AuthorArgs {
    pub(super) fn into_author(self) -> Author {
        let of_system = || ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let named = self.by.or_else(of_system).filter(|name| !name.is_empty());
        let who = named.unwrap_or_else(|| {
            let who = format!("uid {}", rustix::process::getuid().as_raw());
            text::warning(&format!("the audit will say `{who}`, which names nobody: say --by NAME, or set USER"));
            who
        });
        Author { who, why: self.why }
    }
}

/// Shows the operator what a change is about, asks, and waits for a yes or a no.
pub(super) fn confirmed(mut about: Page, question: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Misuse::new("standard input is no terminal, so nobody can be asked: say --yes").into());
    }
    about.line(format!("{question} [y/N]"));
    write!(io::stderr().lock(), "{} ", about.on(&Screen::of_stderr()).trim_end_matches('\n'))?;
    let mut answer = String::new();
    if io::stdin().read_line(&mut answer)? == 0 {
        // Nobody ended the line of the question.
        writeln!(io::stderr())?;
    }
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Reads the text of a file, or of standard input where the file is `-`.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| {
        let name = file.to_string_lossy();
        if name.trim_start().starts_with(['{', '[']) {
            return "this is JSON where the name of a file is expected: write it to a file, or give - and it on standard input".to_owned();
        }
        format!("{name} cannot be read")
    })
}
