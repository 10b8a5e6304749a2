//! `outbox exclusive`: runs a command in one place of a fleet at a time.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use outbox_config::{Config, LogFormat};
use outbox_dispatcher::telemetry;
use outbox_dispatcher::term::clock::BootClock;
use outbox_dispatcher::term::trust::Trust;
use outbox_dispatcher::wiring;
use outbox_jobs::{FAILED, Guard, Keeper, OnLoss, Wait, guard, keep};
use outbox_store::Lineages;

use super::session::Misuse;

/// The connections of a keeper: one for its history.
const ONE: u32 = 1;

/// In the environment of a keeper: the process that guards the command. The rest of its command line is the same.
const KEEPER_OF: &str = "OUTBOX_KEEPER_OF";

/// The most characters that the history keeps of a command.
const LONGEST_COMMAND: usize = 255;

/// The longest name of a job.
const LONGEST_NAME: usize = 64;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox exclusive --per 1m ward-status -- ward-status   a line of cron, on each host
  outbox exclusive --every 20s ward-status -- ward-status
                                                         without cron, in each container
  outbox exclusive --wait forever bridge -- bridge --port 7000
                                                         a hot standby

What a fault costs, and how the command's own transactions are fenced: docs/exclusive.md.")]
pub(super) struct ExclusiveArgs {
    /// How long to wait for a run where another has the seat or it is not time yet: a time as 30s, or `forever`.
    #[arg(long, default_value = "0s", value_parser = wait)]
    wait: Wait,
    /// Start at most once in each such period of the database's clock, counted from 1970: 1m, 15m, 1day.
    #[arg(long, value_name = "PERIOD", value_parser = humantime::parse_duration)]
    per: Option<Duration>,
    /// Let no other start for at least so long after this one.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    at_least: Option<Duration>,
    /// End the run after so long. The seat is renewed as long as it lasts, with and without this.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Run it again so long after its end, until this process is asked to stop: where there is no cron.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with = "wait")]
    every: Option<Duration>,
    /// How long the seat stays where this process dies: what a crash costs.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// How long the command has after SIGTERM, before it is killed. At most half of --ttl.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    kill_after: Duration,
    /// What becomes of the command where the seat is lost.
    #[arg(long, value_enum, default_value = "stop")]
    on_loss: Loss,
    /// The exit code where no run began, since another has the seat, it is not time yet, or the job is paused.
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    skip_status: u8,
    /// Keep so many of the last bytes that the command writes, in the history. It then writes through pipes.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=65_535))]
    tail: u32,
    /// The job: letters, digits, dots, dashes and underscores.
    #[arg(value_parser = name)]
    name: String,
    /// The command and its arguments, after `--`. No shell reads them.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Loss {
    /// End it: another may run it now.
    Stop,
    /// Let it go on. Only the fence keeps its writes apart from those of another.
    GoOn,
}

fn wait(text: &str) -> Result<Wait, String> {
    if text == "forever" {
        return Ok(Wait::Forever);
    }
    humantime::parse_duration(text).map(Wait::For).map_err(|why| format!("{why}; allowed is a time as 30s, or forever"))
}

fn name(text: &str) -> Result<String, String> {
    let fits = |at: char| at.is_ascii_alphanumeric() || matches!(at, '.' | '-' | '_');
    let is_name = text.len() <= LONGEST_NAME && text.chars().all(fits) && text.starts_with(char::is_alphanumeric);
    let why = || {
        format!(
            "allowed are at most {LONGEST_NAME} letters, digits, dots, dashes and underscores, first a letter or digit"
        )
    };
    is_name.then(|| text.to_owned()).ok_or_else(why)
}

/// Both processes come here: the guard first, and by it the keeper, which alone reads the settings.
pub(super) async fn exclusive(
    settings: impl FnOnce() -> anyhow::Result<Config>,
    args: ExclusiveArgs,
) -> anyhow::Result<ExitCode> {
    check(&args)?;
    let log = |format| {
        let level = Some("warn");
        telemetry::start(&telemetry::Settings {
            log_format: format,
            log_level: level,
            otlp_endpoint: None,
            instance: "",
        })
    };
    let guarded_by = std::env::var(KEEPER_OF).ok().and_then(|guard| guard.parse().ok());
    if let Some(of) = guarded_by {
        let config = settings()?;
        let _telemetry = log(config.telemetry.log_format)?;
        keep(keeper(config, of, args).await?).await;
        return Ok(ExitCode::SUCCESS);
    }
    let _telemetry = log(LogFormat::Text)?;
    let program = std::env::current_exe().context("finding this program, to start it as the keeper of the seat")?;
    let mut keeper = tokio::process::Command::new(program);
    keeper.args(std::env::args_os().skip(1)).env(KEEPER_OF, std::process::id().to_string());
    let guarded = Guard {
        job: args.name,
        command: args.command,
        timeout: args.timeout,
        kill_after: args.kill_after,
        on_loss: args.on_loss.into(),
        skip_status: args.skip_status,
        tail: usize::try_from(args.tail)?,
    };
    let code = guard(guarded, keeper).await.unwrap_or_else(|error| {
        tracing::error!(%error, "job.not_begun");
        FAILED
    });
    Ok(code.into())
}

impl From<Loss> for OnLoss {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Stop => Self::Stop,
            Loss::GoOn => Self::GoOn,
        }
    }
}

fn check(args: &ExclusiveArgs) -> anyhow::Result<()> {
    const SHORTEST: Duration = Duration::from_secs(1);
    let refused = |problem: &str| Err(Misuse::new(problem).into());
    if args.ttl < SHORTEST {
        return refused("--ttl is too short; allowed is 1s or more");
    }
    if args.kill_after > args.ttl / 2 {
        return refused(
            "--kill-after is more than half of --ttl: SIGTERM comes so long before the seat can be another's, and renewals need the rest",
        );
    }
    if [args.per, args.every].into_iter().flatten().any(|time| time < SHORTEST) {
        return refused("--per and --every are too short; allowed is 1s or more");
    }
    Ok(())
}

/// A keeper by the settings.
async fn keeper(mut config: Config, guard: u32, args: ExclusiveArgs) -> anyhow::Result<Keeper> {
    config.lease.ttl = args.ttl;
    let lineages = Arc::new(Lineages::default());
    let database = wiring::database_to_poll(&config, ONE, &lineages).await?;
    let outbox = database.require(&config.database.environment).await;
    let outbox = outbox.with_context(|| wiring::which_database(&config))?;
    let lease = wiring::lease(&config, &outbox.outbox_id.to_string(), &lineages).await?;
    let program = args.command.first().map(|program| Path::new(program).file_name().unwrap_or(program));
    Ok(Keeper {
        job: args.name,
        // Arguments may be secrets.
        command: program.unwrap_or_default().to_string_lossy().chars().take(LONGEST_COMMAND).collect(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        guard,
        wait: args.wait,
        per: args.per,
        at_least: args.at_least,
        every: args.every,
        kill_after: args.kill_after,
        on_loss: args.on_loss.into(),
        trust: Trust { lease, clock: Arc::new(BootClock), ttl: args.ttl },
        store: Arc::new(database),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_few_characters_and_begins_with_a_letter_or_a_digit() {
        for fits in ["ward-status", "a", "9", "a.b_c-D", &"x".repeat(64)] {
            assert!(name(fits).is_ok(), "{fits}");
        }
        for refused in ["", "-x", ".x", "a b", "ä", "a/b", "a:b", &"x".repeat(65)] {
            assert!(name(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_wait_is_a_time_or_for_ever() {
        assert_eq!(wait("forever"), Ok(Wait::Forever));
        assert_eq!(wait("30s"), Ok(Wait::For(Duration::from_secs(30))));
        assert!(wait("soon").is_err_and(|why| why.contains("forever")));
    }
}
