//! `outbox channels`: lists the channels of the settings, and tries one out.

mod list;
mod test;

use std::process::ExitCode;

use clap::Subcommand;
use outbox_dispatcher::config::Config;

#[derive(Debug, Subcommand)]
pub(super) enum ChannelsCommand {
    /// The channels of the settings here.
    List(list::ListArgs),
    /// Send one test message, from this machine and beside the outbox; show the request and the answer.
    Test(test::TestArgs),
}

pub(super) async fn channels(config: &Config, command: ChannelsCommand) -> anyhow::Result<ExitCode> {
    match command {
        ChannelsCommand::List(args) => list::list(config, &args).map(|()| ExitCode::SUCCESS),
        ChannelsCommand::Test(args) => test::test(config, args).await,
    }
}
