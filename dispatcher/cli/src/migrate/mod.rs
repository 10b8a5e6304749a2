//! `outbox migrate`: the tables.

mod form;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use outbox_schema::migrate::{Migrated, SCHEMA_VERSION, migrations_sql};

use crate::session::Misuse;
use outbox_dispatcher::config::Config;
use outbox_dispatcher::text::{print, print_as_it_is, warning};
use outbox_dispatcher::wiring;

use form::{Migration, Tool};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox migrate                                         make the tables, or bring them to this version
  outbox migrate --print                                 the SQL, for psql, mariadb or sqlite3
  outbox migrate --print --for flyway --out db/migration the same as a migration of Flyway
  outbox migrate --print --for alembic --from 1 --after 4b2a
                                                         what version 1 lacks, after the application's revision 4b2a

--print connects to nothing: the URL says for which database. docs/migrations.md has each tool.")]
pub(super) struct MigrateArgs {
    /// Print the SQL instead of running it, for those with a migration tool of their own.
    #[arg(long, conflicts_with = "adopt_environment")]
    print: bool,
    /// Print a migration of this tool. Its first lines say where it belongs, and by which setting the tool leaves the
    /// tables alone.
    #[arg(long = "for", value_name = "TOOL", requires = "print")]
    tool: Option<Tool>,
    /// Print what this version of the tables lacks [default: all, for a database without them].
    #[arg(long, value_name = "VERSION", requires = "print", value_parser = clap::value_parser!(i32).range(1..SCHEMA_VERSION.into()))]
    from: Option<i32>,
    /// The migration that this one follows: a revision of Alembic, or APP.MIGRATION of Django.
    #[arg(long, value_name = "MIGRATION", requires = "tool")]
    after: Option<String>,
    /// Write a file into this folder instead, under the name that the tool expects.
    #[arg(long, value_name = "DIR", requires = "tool")]
    out: Option<PathBuf>,
    /// Make this copy of an outbox (after a restore, say) one of the environment in the settings.
    #[arg(long)]
    adopt_environment: bool,
}

pub(super) async fn migrate(config: Config, args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    if args.print {
        print_migration(&config, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = &config.database;
    let database = wiring::database(&config, 1).await?;
    let (done, meta) = if args.adopt_environment {
        (String::new(), database.confirm_environment(&settings.environment).await?)
    } else {
        let migrated = database.migrate(&settings.environment).await?;
        if migrated.anew {
            warning(
                "there had been an outbox here, and its tables were gone with all their messages: most likely a migration tool \
                 dropped them. They were made anew, empty. `outbox migrate --help` says how tools leave them alone",
            );
        }
        (done(&migrated), migrated.meta)
    };
    print(&format!(
        "{done}The outbox at {} has schema version {} and is of the environment `{}` (outbox id {}).",
        settings.url, meta.schema_version, meta.environment, meta.outbox_id
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What a migration did, as a line.
fn done(migrated: &Migrated) -> String {
    let now = migrated.meta.schema_version;
    match migrated.from {
        None => "Made the outbox tables.\n".to_owned(),
        Some(before) if before < now => format!("Brought the outbox tables from version {before} to {now}.\n"),
        Some(_) => "Nothing to do.\n".to_owned(),
    }
}

fn print_migration(config: &Config, args: &MigrateArgs) -> anyhow::Result<()> {
    let settings = &config.database;
    let (schema, from) = (settings.schema.as_deref(), args.from.unwrap_or(0));
    let Some(tool) = args.tool else {
        print(&migrations_sql(settings.dialect, schema, &settings.environment, from))?;
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
    print(&format!("Wrote {}. Its first lines say what to set.", file.display()))?;
    Ok(())
}

/// A migration that is there may have been applied: it is not written anew.
fn write_new(file: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    fs::File::create_new(file)?.write_all(text.as_bytes())
}
