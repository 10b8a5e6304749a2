//! `outbox config`: the settings as this program understands them.

use std::process::ExitCode;

use clap::Subcommand;

use outbox_config::{Config, ConfigError, schema};
use outbox_console::text::{Page, print_as};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// The settings in force and where each comes from. Secrets are hidden.
    Show {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// A JSON Schema of the settings file, for editors.
    Schema {
        /// As JSON, which it is without it too.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn config(
    settings: impl Fn() -> Result<Config, ConfigError>,
    command: &ConfigCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Show { json } => {
            let config = settings()?;
            print_as(*json, &config.to_json(), |_| Page::as_it_is(config.to_toml()))?;
        }
        // The schema is printed also where the settings are wrong: it helps to write them.
        ConfigCommand::Schema { .. } => print_as(true, &schema(), |_| Page::default())?,
    }
    Ok(ExitCode::SUCCESS)
}
