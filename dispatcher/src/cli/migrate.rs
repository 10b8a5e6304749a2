//! `outbox migrate`: the tables.

use std::process::ExitCode;

use clap::Args;
use outbox_schema::migrate::migrations_sql;

use crate::config::Config;
use crate::text::print;
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
    let meta = if args.adopt_environment {
        database.confirm_environment(&settings.environment).await?
    } else {
        database.migrate(&settings.environment).await?.meta
    };
    print(&format!(
        "The outbox at {} has schema version {} and is of the environment `{}` (outbox id {}).",
        settings.url, meta.schema_version, meta.environment, meta.outbox_id
    ))?;
    Ok(ExitCode::SUCCESS)
}
