//! `outbox config`: the settings as this program understands them.

use std::process::ExitCode;

use clap::Subcommand;

use super::text::print_as;
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// The settings in force and where each comes from. Secrets are hidden.
    Show {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn config(config: &Config, command: &ConfigCommand) -> anyhow::Result<ExitCode> {
    let ConfigCommand::Show { json } = command;
    print_as(*json, &config.to_json(), |_| config.to_toml())?;
    Ok(ExitCode::SUCCESS)
}
