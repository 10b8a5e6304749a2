//! `outbox completions`: the script by which a shell asks this program what could come next, and the answers. A shell asks while
//! somebody types: an answer takes a second at most, and where something is wrong it is empty.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Command};
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use outbox_desk::{DeadLetterFilter, Selection};

use super::session::OutboxAccess;
use super::settings::{Global, settings};
use outbox_config::{Config, parse_assignment};
use outbox_console::text::print_as_it_is;

const PROGRAM: &str = "outbox";

/// The variable in which the script names its shell. No setting begins with an underscore.
const ASKED_BY: &str = "_OUTBOX_COMPLETE";

/// The name of what is hidden.
const UNTYPED: &str = "\0";

/// The longest time for an answer.
const LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// For which shell. In bash: source <(outbox completions bash)
    shell: Shell,
}

/// Prints the script of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let (name, shells, mut script) = (args.shell.to_string(), Shells::builtins(), Vec::new());
    if let Some(shell) = shells.completer(&name) {
        shell.write_registration(ASKED_BY, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    }
    print_as_it_is(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The command line as a shell completes it. A shell is offered what is hidden too, where nothing else begins as the word does.
/// So what is hidden gets a name that nobody types.
fn completed(mut command_line: Command) -> Command {
    // Every command then has the global options.
    command_line.build();
    without_hidden(command_line)
}

fn without_hidden(command: Command) -> Command {
    command
        .mut_args(|argument| if argument.is_hide_set() { argument.long(UNTYPED) } else { argument })
        .mut_subcommands(|inner| if inner.is_hide_set() { inner.name(UNTYPED) } else { without_hidden(inner) })
}

/// Answers a shell where one asks. A question that cannot be answered is answered with nothing: an error would stand in the middle of
/// the line that somebody types.
pub(super) fn answered(command_line: fn() -> Command) -> bool {
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| completed(command_line())).var(ASKED_BY);
    asked.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// The channels of the settings, of the fleet, and of messages.
pub(super) fn channels() -> Vec<CompletionCandidate> {
    let of_settings = settings(&global()).map(|config| config.channels.keys().cloned().collect()).unwrap_or_default();
    let of_outbox = of_outbox(async |outbox| {
        let mut channels = outbox.channels();
        channels.extend(outbox.desk().vitals(&[]).await?.channels.into_iter().map(|channel| channel.channel));
        Ok(channels)
    });
    candidates([of_settings, of_outbox].concat())
}

/// The recurring messages of the settings, and of the outbox.
pub(super) fn recurring() -> Vec<CompletionCandidate> {
    let of_settings = settings(&global()).map(|config| config.recurring.keys().cloned().collect()).unwrap_or_default();
    let of_outbox = of_outbox(async |outbox| {
        Ok(outbox.desk().recurring().await?.into_iter().map(|recurring| recurring.name).collect())
    });
    candidates([of_settings, of_outbox].concat())
}

/// The jobs that have run.
pub(super) fn jobs() -> Vec<CompletionCandidate> {
    candidates(of_outbox(async |outbox| Ok(outbox.desk().jobs().await?.into_iter().map(|job| job.name).collect())))
}

/// The fingerprints of the dead letters that there are.
pub(super) fn fingerprints() -> Vec<CompletionCandidate> {
    candidates(of_outbox(async |outbox| {
        let groups = outbox.desk().dead_groups(&Selection::Filter(DeadLetterFilter::default())).await?;
        Ok(groups.into_iter().map(|group| group.fingerprint).collect())
    }))
}

/// The settings, each as it begins: `lease.ttl=`.
pub(super) fn assignments() -> Vec<CompletionCandidate> {
    let keys = settings(&global()).map_or_else(|_| Config::fixed_keys(), |config| config.keys());
    candidates(keys.into_iter().map(|key| format!("{key}=")).collect())
}

fn candidates(mut names: Vec<String>) -> Vec<CompletionCandidate> {
    names.sort();
    names.dedup();
    // Rows are written by strangers, and a shell writes the answer into a line that somebody runs.
    names.retain(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=".contains(c)));
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// What the outbox answers within the limit. Nothing where it does not.
fn of_outbox(ask: impl AsyncFnOnce(OutboxAccess) -> anyhow::Result<Vec<String>>) -> Vec<String> {
    let global = global();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let answer = runtime.block_on(async {
        let asked = async { ask(OutboxAccess::in_silence(&settings(&global)?, global.url.as_deref()).await?).await };
        tokio::time::timeout(LIMIT, asked).await
    });
    // A name that is looked up for long must not keep the shell waiting.
    runtime.shutdown_background();
    answer.ok().and_then(Result::ok).unwrap_or_default()
}

/// The global options among the words that were typed. The shell gives them behind `--`.
fn global() -> Global {
    read(std::env::args_os().skip_while(|word| word != "--").skip(1))
}

fn read(words: impl Iterator<Item = OsString>) -> Global {
    let mut global = Global { config: None, database: None, assignments: Vec::new(), url: None };
    let mut words = words.filter_map(|word| word.into_string().ok());
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        // A shell may give the sign by itself.
        let mut value = || value.clone().or_else(|| words.find(|word| word != "="));
        match name.as_str() {
            "--config" => global.config = value().map(Into::into),
            "--database" => global.database = value(),
            "--url" => global.url = value(),
            "--set" => global.assignments.extend(value().and_then(|text| parse_assignment(&text).ok())),
            _ => {}
        }
    }
    global
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command_line;

    /// What is offered for the last of these words.
    fn offered(words: &[String]) -> Vec<String> {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let last = words.len() - 1;
        let candidates = clap_complete::engine::complete(&mut completed(command_line()), words, last, None);
        candidates
            .into_iter()
            .flatten()
            .filter_map(|candidate| candidate.get_value().to_str().map(str::to_owned))
            .collect()
    }

    /// Every command that is shown, with the words that lead to it.
    fn each(command: &Command, words: &[String], look: &mut dyn FnMut(&Command, &[String])) {
        let words = [words, &[command.get_name().to_owned()]].concat();
        look(command, &words);
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        shown.for_each(|inner| each(inner, &words, look));
    }

    #[test]
    fn each_option_and_command_is_offered_where_help_shows_it_and_not_where_it_is_hidden() {
        let mut whole = command_line();
        whole.build();
        let mut hidden = 0;
        each(&whole, &[], &mut |command, words| {
            let asked = |word: &str| offered(&[words, &[word.to_owned()]].concat());
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long().map(|long| format!("--{long}")) else { continue };
                hidden += usize::from(argument.is_hide_set());
                assert_eq!(asked(&long).contains(&long), !argument.is_hide_set(), "{words:?} {long}");
            }
            for inner in command.get_subcommands() {
                hidden += usize::from(inner.is_hide_set());
                let name = inner.get_name();
                assert_eq!(asked(name).contains(&name.to_owned()), !inner.is_hide_set(), "{words:?} {name}");
            }
        });
        assert!(hidden > 10, "{hidden} are hidden");
    }

    #[test]
    fn the_global_options_are_read_wherever_they_stand() {
        let words = "outbox --config=a.toml messages list --database sqlite://b --set lease.ttl=5s --set x --url http://c --channel";
        let global = read(words.split(' ').map(Into::into));
        assert_eq!(global.config.as_deref(), Some(std::path::Path::new("a.toml")));
        assert_eq!((global.database.as_deref(), global.url.as_deref()), (Some("sqlite://b"), Some("http://c")));
        assert_eq!(global.assignments, [("lease.ttl".to_owned(), "5s".to_owned())]);
    }
}
