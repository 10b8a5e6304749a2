//! `outbox completions`: the script that a shell needs to complete the command line.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use outbox_dispatcher::text::print_as_it_is;

const PROGRAM: &str = "outbox";

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// For which shell. In bash: source <(outbox completions bash)
    shell: Shell,
}

/// The command without its hidden commands, which the scripts would otherwise offer.
fn shown(whole: &Command) -> Command {
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .args(whole.get_arguments())
        .subcommands(shown)
}

pub(super) fn completions(whole: &Command, args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let (mut command, mut script) = (shown(whole), Vec::new());
    generate(args.shell, &mut command, PROGRAM, &mut script);
    print_as_it_is(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
