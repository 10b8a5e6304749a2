//! The commands of the program.

use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::ArgValueCandidates;
use outbox_config::ConfigError;
use outbox_console::text;
use outbox_desk::DeskError;

use super::{
    audit, bench, channels, check, completions, config, dead_letters, destinations, enqueue, exclusive, failover,
    health, invalid_targets, jobs, messages, migrate, operations, ordering_keys, prune, recurring, replicas, run,
    session, status, top,
};
use crate::client::ReplicaSetupError;
use crate::settings::{Global, settings, settings_to_look};
use crate::version::VERSION;

/// Delivers what applications commit to their outbox.
///
/// At least once, with a stated bound on duplicates; at most once where a channel asks for it.
#[derive(Debug, Parser)]
#[command(name = "outbox", version = VERSION, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What whoever looks and changes by hand needs, where a right is missing.
const OPERATOR_RIGHTS: &str = "a right is missing: people who look and change by hand have a role with those of \
     grants/postgres_operator.sql or grants/mysql_operator.sql";

/// The same of a replay, which writes new rows.
const REPLAY_RIGHTS: &str = "a right is missing: a replay writes new rows, so its role has those of grants/postgres_replay.sql or \
     grants/mysql_replay.sql, beside those of grants/postgres_operator.sql or grants/mysql_operator.sql";

/// The commands that can ask a replica instead of the database. The others neither show `--url` nor take it.
const ASK_REPLICAS: [&str; 16] = [
    "status",
    "replicas",
    "audit",
    "failover",
    "messages",
    "dead-letters",
    "operations",
    "ordering-keys",
    "destinations",
    "recurring",
    "jobs",
    "invalid-targets",
    "prune",
    "top",
    "check",
    "health",
];

#[derive(Debug, Subcommand)]
enum Command {
    /// Dispatch: campaign for the lease, poll, send, mark. Its page is at `admin.listen`: 127.0.0.1:8640
    Run(run::RunArgs),
    /// Create or update the tables.
    Migrate(migrate::MigrateArgs),
    /// Write messages into the outbox.
    Enqueue(enqueue::EnqueueArgs),
    /// Who polls, what is due, what is dead.
    Status(status::StatusArgs),
    /// The same and what fails, as a view of the whole terminal that keeps itself up to date.
    Top(top::TopArgs),
    /// Which replicas run, who polls, and whose settings differ.
    Replicas(replicas::ReplicasArgs),
    /// What people did by hand: who, what and why.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// What failovers of the database lost: messages that went out and are gone.
    #[command(subcommand)]
    Failover(failover::FailoverCommand),
    /// List, show, explain, retry, cancel and replay messages.
    #[command(subcommand)]
    Messages(messages::MessagesCommand),
    /// Look at what could not be delivered, mend it, and redrive it.
    #[command(subcommand)]
    #[command(visible_alias = "dlq")]
    DeadLetters(dead_letters::DeadLettersCommand),
    /// Changes of many messages: how far they are, and stopping them.
    #[command(subcommand)]
    Operations(operations::OperationsCommand),
    /// Ordering keys that a dead letter halts.
    #[command(subcommand)]
    OrderingKeys(ordering_keys::OrderingKeysCommand),
    /// What holds destinations up, and pausing and resuming them.
    #[command(subcommand)]
    Destinations(destinations::DestinationsCommand),
    /// Messages that the poller writes again and again: when, and pausing, resuming and firing them.
    #[command(subcommand)]
    Recurring(recurring::RecurringCommand),
    /// Run a command in one place of a fleet at a time.
    Exclusive(exclusive::ExclusiveArgs),
    /// Commands of which one runs in a fleet: how they stand and ran, and pausing and resuming them.
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Targets that are known to be gone: dead device tokens, endpoints that answer 410.
    #[command(subcommand)]
    InvalidTargets(invalid_targets::InvalidTargetsCommand),
    /// Remove what is past its retention, as the poller does by itself.
    Prune(prune::PruneArgs),
    /// The channels of the settings; try one out.
    #[command(subcommand)]
    Channels(channels::ChannelsCommand),
    /// The settings as this program understands them.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Whether database, schema, lease store and channels can be used, and what a crash costs.
    Check(check::CheckArgs),
    /// Ask a running replica whether it is alive (for container health checks).
    Health(health::HealthArgs),
    /// What this reaches on your own servers, beside what they reach by themselves.
    Bench(bench::BenchArgs),
    /// What a shell must know to complete these commands, as a script.
    Completions(completions::CompletionsArgs),
    /// A part of a bench, which starts it.
    #[command(hide = true)]
    BenchPart,
    /// See it work: three replicas, a receiver and a kill -9, with nothing to install.
    Demo(outbox_demo::DemoArgs),
}

/// The command line. A command that cannot ask a replica hides `--url`.
pub(super) fn command_line() -> clap::Command {
    let assignments = ArgValueCandidates::new(completions::assignments);
    let whole = Cli::command().mut_arg("assignments", |argument| argument.add(assignments));
    let names: Vec<_> = whole.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().filter(|name| !ASK_REPLICAS.contains(&name.as_str())).fold(whole, |whole, name| {
        whole.mut_subcommand(name, |command| command.arg(Arg::new("url").long("url").global(true).hide(true)))
    })
}

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    if completions::answered(command_line) {
        return ExitCode::SUCCESS;
    }
    let matches = match command_line().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // What clap thinks similar may be far off.
            let Some(said) = meant(&error) else { error.exit() };
            text::warning(&said);
            return ExitCode::from(2);
        }
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let replays = matches!(&cli.command, Command::Messages(messages) if messages.replays());
    match execute(cli, matches.subcommand_name().unwrap_or_default()) {
        Ok(code) => code,
        Err(error) => {
            text::error_line(&error);
            if error.downcast_ref().is_some_and(DeskError::lacks_rights) {
                text::warning(if replays { REPLAY_RIGHTS } else { OPERATOR_RIGHTS });
            }
            ExitCode::from(if is_misuse(&error) { 2 } else { 1 })
        }
    }
}

/// The commands that may be meant where no command has the name that was given, but one of another command has it.
fn meant(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let meant = commands_called(name);
    let said = || format!("there is no command `{name}` by itself; did you mean {}?", meant.join(" or "));
    (!meant.is_empty()).then(said)
}

/// The commands of other commands that have this name.
fn commands_called(name: &str) -> Vec<String> {
    let whole = Cli::command();
    let has = |command: &&clap::Command| command.get_subcommands().any(|its| its.get_name() == name);
    whole.get_subcommands().filter(has).map(|command| format!("`outbox {} {name}`", command.get_name())).collect()
}

/// Whether the command was used wrongly. Wrong settings and a wrong --url count as wrong usage.
fn is_misuse(error: &anyhow::Error) -> bool {
    let of_replica = error.downcast_ref::<ReplicaSetupError>();
    error.is::<ConfigError>() || error.is::<session::Misuse>() || of_replica.is_some_and(ReplicaSetupError::is_misuse)
}

fn execute(cli: Cli, name: &str) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new()?;
    let Cli { global, command } = cli;
    let settings = if command.looks() { settings_to_look } else { settings };
    let url = global.url.as_deref();
    if url.is_some() && !ASK_REPLICAS.contains(&name) {
        let problem =
            format!("{name} takes no --url: it is for {}, and the rest needs no replica", ASK_REPLICAS.join(", "));
        return Err(session::Misuse::new(problem).into());
    }
    let outcome = runtime.block_on(async {
        match command {
            Command::Run(args) => {
                let global = global.clone();
                run::run(Arc::new(move || settings(&global)), args).await
            }
            Command::Migrate(args) => migrate::migrate(settings(&global)?, &args).await,
            Command::Enqueue(args) => enqueue::enqueue(settings(&global)?, args).await,
            Command::Status(args) => status::status(settings(&global)?, url, &args).await,
            Command::Top(args) => top::top(settings(&global)?, url, &args).await,
            Command::Replicas(args) => replicas::replicas(settings(&global)?, url, &args).await,
            Command::Audit(command) => audit::audit(settings(&global)?, url, command).await,
            Command::Failover(command) => failover::failover(settings(&global)?, url, command).await,
            Command::Messages(command) => messages::messages(settings(&global)?, url, command).await,
            Command::DeadLetters(command) => dead_letters::dead_letters(settings(&global)?, url, command).await,
            Command::Operations(command) => operations::operations(settings(&global)?, url, command).await,
            Command::OrderingKeys(command) => ordering_keys::ordering_keys(settings(&global)?, url, command).await,
            Command::Destinations(command) => destinations::destinations(settings(&global)?, url, command).await,
            Command::Recurring(command) => recurring::recurring(settings(&global)?, url, command).await,
            Command::Exclusive(args) => exclusive::exclusive(|| Ok(settings(&global)?), args).await,
            Command::Jobs(command) => jobs::jobs(settings(&global)?, url, command).await,
            Command::InvalidTargets(command) => {
                invalid_targets::invalid_targets(settings(&global)?, url, command).await
            }
            Command::Prune(args) => prune::prune(settings(&global)?, url, args).await,
            Command::Channels(command) => channels::channels(&settings(&global)?, command).await,
            Command::Config(command) => config::config(|| settings(&global), &command),
            Command::Check(args) => check::check(settings(&global)?, url, &args).await,
            Command::Health(args) => health::health(&settings(&global)?, url, &args).await,
            Command::Bench(args) => bench::bench(settings(&global)?, args).await,
            Command::Completions(args) => completions::completions(&args),
            Command::BenchPart => outbox_bench::be_a_part().await,
            Command::Demo(args) => outbox_demo::demo(args).await,
        }
    });
    // A thread that waits for a file that never comes must not keep the process alive.
    runtime.shutdown_background();
    outcome
}

impl Command {
    /// Whether the command only shows what an outbox has. It is needed most while settings are wrong.
    fn looks(&self) -> bool {
        match self {
            Self::Status(_)
            | Self::Top(_)
            | Self::Replicas(_)
            | Self::Audit(_)
            | Self::Failover(_)
            | Self::OrderingKeys(_) => true,
            Self::Messages(command) => command.looks(),
            Self::DeadLetters(command) => command.looks(),
            Self::Operations(command) => command.looks(),
            Self::Destinations(command) => command.looks(),
            Self::Recurring(command) => command.looks(),
            Self::Jobs(command) => command.looks(),
            Self::InvalidTargets(command) => command.looks(),
            Self::Run(_)
            | Self::Migrate(_)
            | Self::Enqueue(_)
            | Self::Exclusive(_)
            | Self::Prune(_)
            | Self::Channels(_)
            | Self::Config(_)
            | Self::Check(_)
            | Self::Health(_)
            | Self::Bench(_)
            | Self::Completions(_)
            | Self::BenchPart
            | Self::Demo(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: [(&str, &str); 3] = [
        ("docs/runbook.md", include_str!("../../../docs/runbook.md")),
        ("docs/dead-letters.md", include_str!("../../../docs/dead-letters.md")),
        ("docs/destinations.md", include_str!("../../../docs/destinations.md")),
    ];

    /// The commands in the shell blocks of a page.
    fn commands(page: &str) -> impl Iterator<Item = &str> {
        let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        blocks.flat_map(str::lines).map(str::trim).filter(|line| line.starts_with("outbox "))
    }

    /// The words of a command, without its comment, as a shell splits them. Quotes keep words together.
    fn words(command: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in command.chars() {
            match (c, quote) {
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('#', None) if word.is_empty() => break,
                (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
                (c, _) => word.push(c),
            }
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
        words
    }

    #[test]
    fn the_commands_that_pages_for_an_incident_name_exist() {
        for (page, text) in PAGES {
            let mut read = 0;
            for command in commands(text) {
                if let Err(why) = Cli::try_parse_from(words(command)) {
                    panic!("{page}: {command}: {why}");
                }
                read += 1;
            }
            assert!(read > 5, "{page} has {read} commands");
        }
    }

    #[test]
    fn a_wrong_url_of_a_replica_is_wrong_usage() {
        let refused = crate::client::base("x").map_err(anyhow::Error::from);
        assert!(refused.is_err_and(|error| is_misuse(&error)));
        assert!(!is_misuse(&anyhow::anyhow!("the replica does not answer")));
    }

    #[test]
    fn a_command_of_another_command_is_found_by_its_name() {
        assert_eq!(commands_called("replay"), ["`outbox messages replay`"]);
        assert_eq!(commands_called("redrive"), ["`outbox dead-letters redrive`"]);
        assert!(commands_called("nonsense").is_empty());
    }

    #[test]
    fn a_command_is_split_as_a_shell_does() {
        assert_eq!(words("outbox a --why \"it's back\" 1  # or 2"), ["outbox", "a", "--why", "it's back", "1"]);
    }
}
