//! The commands of `outbox channels`.

use std::process::ExitCode;

use clap::Subcommand;
use outbox_config::Config;

use super::{list, test};

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelsCommand {
    /// The channels of the settings here.
    List(list::ListArgs),
    /// Send one test message, from this machine and beside the outbox; show the request and the answer.
    Test(test::TestArgs),
}

pub(crate) async fn channels(config: &Config, command: ChannelsCommand) -> anyhow::Result<ExitCode> {
    match command {
        ChannelsCommand::List(args) => list::list(config, &args).map(|()| ExitCode::SUCCESS),
        ChannelsCommand::Test(args) => test::test(config, args).await,
    }
}
