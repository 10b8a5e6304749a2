//! `outbox migrate`: the tables.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use outbox_desk::ReplicaRow;
use outbox_store::migrate::{IndexBuild, Migrated, SCHEMA_VERSION, SERVES_FROM, migration_statements, migrations_sql};
use outbox_store::{Database, Dialect, Meta, MigrateError, SchemaState};
use serde::Serialize;

use crate::session::{Misuse, confirmed};
use outbox_config::Config;
use outbox_console::configured::Configured;
use outbox_console::text::{Advance, print, print_as, print_as_it_is, span, visible, warning};
use outbox_dispatcher::wiring;

use super::form::{Migration, Tool};

/// The version of the tables from which on there is `outbox_replica`.
const REPLICAS_FROM: i32 = 3;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox migrate                                         make the tables, or bring them to this version
  outbox migrate --print                                 the SQL, for psql, mariadb or sqlite3
  outbox migrate --print --for flyway --out db/migration the same as a migration of Flyway
  outbox migrate --print --for alembic --from 1 --after 4b2a
                                                         what version 1 lacks, after the application's revision 4b2a

--print connects to nothing: the URL says for which database. docs/migrations.md has each tool.")]
pub(crate) struct MigrateArgs {
    /// Print the SQL instead of running it, for those with a migration tool of their own.
    #[arg(long, conflicts_with = "adopt_environment")]
    print: bool,
    /// Print a migration of this tool. Its first lines say where it belongs, and by which setting the tool leaves the
    /// tables alone.
    #[arg(long = "for", value_name = "TOOL", requires = "print")]
    tool: Option<Tool>,
    /// Print what this version of the tables lacks [default: all, for a database without them].
    #[arg(long, value_name = "VERSION", requires = "print", value_parser = clap::value_parser!(i32).range(1..=i64::from(SCHEMA_VERSION)))]
    from: Option<i32>,
    /// The migration that this one follows: a revision of Alembic, or APP.MIGRATION of Django.
    #[arg(long, value_name = "MIGRATION", requires = "tool")]
    after: Option<String>,
    /// Write a file into this folder instead, under the name that the tool expects.
    #[arg(long, value_name = "DIR", requires = "tool")]
    out: Option<PathBuf>,
    #[command(flatten)]
    adopting: AdoptArgs,
    /// What was done, as JSON.
    #[arg(long, conflicts_with = "print")]
    json: bool,
}

#[derive(Debug, Args)]
struct AdoptArgs {
    /// Make this copy of an outbox (after a restore, say) one of the environment in the settings.
    #[arg(long)]
    adopt_environment: bool,
    /// Do not ask.
    #[arg(long, requires = "adopt_environment")]
    yes: bool,
}

/// The change that a migration made to the tables.
#[derive(Debug, Serialize)]
struct Outcome {
    did: Did,
    /// The version before. None where there were no tables.
    from: Option<i32>,
    /// Whether there had been tables before, which were dropped with their messages.
    anew: bool,
    database: String,
    #[serde(flatten)]
    meta: Meta,
}

/// The result of a migration, as `--json` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Did {
    Made,
    Updated,
    ReplacedFunctions,
    Nothing,
    /// Gave a copy of an outbox the environment of the settings.
    AdoptedEnvironment,
}

pub(crate) async fn migrate(config: Config, args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    config.require_database()?;
    if args.print {
        print_migration(&config, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = &config.database;
    // On PostgreSQL a second one asks how far an index is.
    let connections = if settings.dialect == Dialect::Postgres { 2 } else { 1 };
    let database = wiring::database_or_new_file(&config, connections).await?;
    let (did, Migrated { from, anew, meta, .. }) = if args.adopting.adopt_environment {
        let Some(meta) = adopt(&config, &database, args.adopting.yes).await? else { return Ok(ExitCode::FAILURE) };
        let from = Some(meta.schema_version);
        (Did::AdoptedEnvironment, Migrated { from, anew: false, functions: false, meta })
    } else {
        let before = running(&database).await;
        let too_old: Vec<_> = before.iter().filter(|replica| replica.schema_version < SERVES_FROM).collect();
        if !too_old.is_empty() {
            warning(&format!(
                "these replicas are too old for tables of version {SCHEMA_VERSION}, and cannot be started again on them: {}. \
                 Replace each by the release before this one first; else replace them at once",
                named(&too_old)
            ));
        }
        let migrated = in_steps(&database, &settings.environment).await?;
        let older: Vec<_> = before.iter().filter(|replica| replica.schema_version < SCHEMA_VERSION).collect();
        if !older.is_empty() && too_old.is_empty() {
            warning(&format!(
                "these replicas are of an older release, and go on: {}. Replace them before the next `outbox migrate`",
                named(&older)
            ));
        }
        if migrated.anew {
            warning(
                "there had been an outbox here, and its tables were gone with all their messages: most likely a migration tool \
                 dropped them. They were made anew, empty. `outbox migrate --help` says how tools leave them alone",
            );
        }
        outbox_desk::strangers_may_create(&database).await?.iter().for_each(|told| warning(told));
        (did(&migrated), migrated)
    };
    print_as(args.json, &Outcome { did, from, anew, database: settings.url.to_string(), meta }, in_words)?;
    Ok(ExitCode::SUCCESS)
}

/// Migrates, and says which version is being made where that takes long.
async fn in_steps(database: &Database, environment: &str) -> Result<Migrated, MigrateError> {
    let (mut advance, began) = (Advance::new("made"), Instant::now());
    let version = AtomicI32::new(0);
    let told = |making| version.store(making, Ordering::Relaxed);
    let mut migrating = std::pin::pin!(database.migrate_watched(environment, &told));
    loop {
        tokio::select! {
            migrated = &mut migrating => return migrated,
            index = some_time_later(database, &advance) => {
                let (share, words) = step(version.load(Ordering::Relaxed), began.elapsed(), index);
                advance.say(share, &words);
            }
        }
    }
}

/// Waits until there is something to say again, and asks how far an index is, for a terminal. None as well where that cannot be
/// read in time.
async fn some_time_later(database: &Database, advance: &Advance) -> Option<IndexBuild> {
    tokio::time::sleep(advance.each()).await;
    if !advance.is_on_terminal() {
        return None;
    }
    tokio::time::timeout(advance.each(), database.index_build()).await.ok()?.ok()?
}

/// What is said of the version that is being made, and how many of all versions are made.
fn step(making: i32, since: Duration, index: Option<IndexBuild>) -> (Option<(u64, u64)>, String) {
    let so_far = span(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    if making == 0 {
        return (None, format!("waiting for the tables, {so_far} so far"));
    }
    let index = match index {
        Some(IndexBuild::Reading { percent }) => format!("; index: {percent}% read"),
        Some(IndexBuild::Sorting) => "; index: sorting".to_owned(),
        Some(IndexBuild::Writing { percent }) => format!("; index: {percent}% written"),
        None => String::new(),
    };
    let share = u64::try_from(making - 1).ok().zip(u64::try_from(SCHEMA_VERSION).ok());
    (share, format!("making version {making} of {SCHEMA_VERSION}, {so_far} so far{index}"))
}

/// Gives the outbox the environment of the settings, where nobody works on it and the operator says yes. None where the operator
/// says no.
async fn adopt(config: &Config, database: &Database, yes: bool) -> anyhow::Result<Option<Meta>> {
    let asked = &config.database.environment;
    if let SchemaState::Ours(Meta { environment: found, .. }) = database.schema_state().await?
        && found != *asked
    {
        let users = users(config, database).await?;
        if !users.is_empty() {
            bail!(
                "this outbox of the environment `{found}` is in use, and its replicas would stand still: {}. Stop them first. In a \
                 restored copy they are those of the original: wait until they are old",
                users.join("; ")
            );
        }
        let about = format!(
            "The outbox at {} is of the environment `{found}`. It becomes an outbox of `{asked}`, with a new id. Replicas and \
             commands of `{found}` are refused from then on.",
            config.database.url
        );
        if !yes && !confirmed(about.into(), "Go on?")? {
            return Ok(None);
        }
    }
    Ok(Some(database.confirm_environment(asked).await?))
}

/// Who works on the outbox now, as far as its tables show it: replicas, and terms that nobody ended.
async fn users(config: &Config, database: &Database) -> anyhow::Result<Vec<String>> {
    let rows = rows(database).await;
    let replica = |row: &ReplicaRow| format!("the replica {} {} was seen {} ago", row.name, row.id, span(row.seen_ms));
    let mut users: Vec<_> = rows.iter().filter(|row| row.runs()).map(replica).collect();
    let longest = Configured::of(config).lease.longest_term();
    for term in outbox_desk::open_terms(database).await? {
        let has_row = rows.iter().any(|row| row.holds(&term.holder));
        if !has_row && Duration::from_millis(term.age_ms.try_into().unwrap_or(0)) <= longest {
            users.push(format!("the term {} of shard {} began {} ago", term.epoch, term.shard, span(term.age_ms)));
        }
    }
    Ok(users)
}

/// The replicas that run, as far as they say so: those of 0.1.0 as released do not, and tables of before have no room for it.
async fn running(database: &Database) -> Vec<ReplicaRow> {
    rows(database).await.into_iter().filter(ReplicaRow::runs).collect()
}

async fn rows(database: &Database) -> Vec<ReplicaRow> {
    let Ok(SchemaState::Ours(Meta { schema_version: REPLICAS_FROM.., .. })) = database.schema_state().await else {
        return Vec::new();
    };
    match outbox_desk::replicas(database).await {
        Ok(replicas) => replicas,
        Err(error) => {
            warning(&format!("which replicas run cannot be read: {error}"));
            Vec::new()
        }
    }
}

fn named(replicas: &[&ReplicaRow]) -> String {
    let name = |replica: &&ReplicaRow| format!("{} {} (version {})", replica.name, replica.id, replica.version);
    replicas.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn did(migrated: &Migrated) -> Did {
    match migrated.from {
        None => Did::Made,
        Some(before) if before < migrated.meta.schema_version => Did::Updated,
        Some(_) if migrated.functions => Did::ReplacedFunctions,
        Some(_) => Did::Nothing,
    }
}

fn in_words(Outcome { did, from, database, meta, .. }: &Outcome) -> String {
    let Meta { schema_version: now, outbox_id, environment } = meta;
    let did = match did {
        Did::Made => "Made the outbox tables.\n".to_owned(),
        Did::Updated => format!("Brought the outbox tables from version {} to {now}.\n", from.unwrap_or_default()),
        Did::ReplacedFunctions => "Replaced the functions of the outbox.\n".to_owned(),
        Did::Nothing => "Nothing to do.\n".to_owned(),
        Did::AdoptedEnvironment => String::new(),
    };
    format!(
        "{did}The outbox at {database} has schema version {now} and is of the environment `{environment}` (outbox id {outbox_id})."
    )
}

fn print_migration(config: &Config, args: &MigrateArgs) -> anyhow::Result<()> {
    let settings = &config.database;
    let (schema, from) = (settings.schema.as_deref(), args.from.unwrap_or(0));
    if migration_statements(settings.dialect, schema, &settings.environment, from).is_empty() {
        let nothing = "--from: tables of this version are those of this program, so there is nothing to apply";
        return Err(Misuse::new(nothing).into());
    }
    let Some(tool) = args.tool else {
        print_as_it_is(&visible(&migrations_sql(settings.dialect, schema, &settings.environment, from)))?;
        return Ok(());
    };
    let migration = Migration {
        dialect: settings.dialect,
        schema,
        environment: &settings.environment,
        from,
        after: args.after.as_deref(),
        time: std::time::SystemTime::now(),
    };
    let text = migration.text(tool).map_err(Misuse::new)?;
    let Some(folder) = &args.out else {
        print_as_it_is(&text)?;
        return Ok(());
    };
    let file = folder.join(migration.file(tool).map_err(Misuse::new)?);
    write_new(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    print(format!("Wrote {}. Its first lines say what to set.", file.display()))?;
    Ok(())
}

/// A migration that is there may have been applied: it is not written anew.
fn write_new(file: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    fs::File::create_new(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_which_version_is_made_and_how_far_its_index_is() {
        let of = |making, index| step(making, Duration::from_secs(8), index);
        assert_eq!(of(0, None), (None, "waiting for the tables, 8.0s so far".to_owned()));
        let last = u64::from(SCHEMA_VERSION.unsigned_abs());
        let says = |words: &str| (Some((7, last)), format!("making version 8 of {SCHEMA_VERSION}, 8.0s so far{words}"));
        assert_eq!(of(8, None), says(""));
        assert_eq!(of(8, Some(IndexBuild::Reading { percent: 41 })), says("; index: 41% read"));
        assert_eq!(of(8, Some(IndexBuild::Sorting)), says("; index: sorting"));
        assert_eq!(of(8, Some(IndexBuild::Writing { percent: 7 })), says("; index: 7% written"));
    }
}
