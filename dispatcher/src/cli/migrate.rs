//! `outbox migrate`: the tables.

use std::process::ExitCode;

use clap::Args;
use outbox_schema::migrate::{Migrated, migrations_sql};

use crate::config::Config;
use crate::text::{print, warning};
use crate::wiring;

#[derive(Debug, Args)]
pub(super) struct MigrateArgs {
    /// Print the SQL instead of running it, for those with a migration tool of their own.
    #[arg(long, conflicts_with = "adopt_environment")]
    print: bool,
    /// Make this copy of an outbox (after a restore, say) one of the environment in the settings.
    #[arg(long)]
    adopt_environment: bool,
}

pub(super) async fn migrate(config: Config, args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let settings = &config.database;
    if args.print {
        print(&migrations_sql(settings.dialect, settings.schema.as_deref(), &settings.environment))?;
        return Ok(ExitCode::SUCCESS);
    }
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
