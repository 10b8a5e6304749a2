//! The options that every command has, and the settings that they lead to.

use std::path::PathBuf;

use clap::Args;
use outbox_config::{Config, ConfigError, Sources, parse_assignment};
use outbox_console::text;

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// Behind all options of a command's own.
const LAST: usize = 1_000;

#[derive(Debug, Clone, Args)]
pub(super) struct Global {
    /// Settings file [default: what `OUTBOX_CONFIG` names, or outbox.toml, if there is one].
    // Not `env` of clap: its usage would then show the option as one that must be given.
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL, display_order = LAST)]
    pub(super) config: Option<PathBuf>,
    /// Where the outbox is; the setting database.url.
    #[arg(long, global = true, value_name = "URL", help_heading = GLOBAL, display_order = LAST)]
    pub(super) database: Option<String>,
    /// Any setting, for example --set lease.ttl=5s. May be repeated.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = parse_assignment, help_heading = GLOBAL, display_order = LAST)]
    pub(super) assignments: Vec<(String, String)>,
    /// Ask a running replica instead, at its admin.listen, with admin.token of these settings.
    #[arg(long, global = true, value_name = "URL", help_heading = GLOBAL, display_order = LAST)]
    pub(super) url: Option<String>,
}

/// The settings without the channels that are wrong, each of which is told.
pub(super) fn settings_to_look(global: &Global) -> Result<Config, ConfigError> {
    let loaded = sources(global).and_then(|sources| Config::load_without_wrong_channels(&sources));
    let (config, wrong) = loaded.inspect_err(|_| {
        text::warning(
            "no settings can be read; to look all the same: outbox --config /dev/null --database URL COMMAND",
        );
    })?;
    if !wrong.is_empty() {
        let wrong: Vec<_> = wrong.iter().map(|problem| format!("\n  {problem}")).collect();
        text::warning(&format!(
            "settings of channels are wrong, so no replica starts by them, and these channels are left out where no replica that runs \
             says what it runs by:{}",
            wrong.concat()
        ));
    }
    Ok(config)
}

pub(super) fn settings(global: &Global) -> Result<Config, ConfigError> {
    Config::load(&sources(global)?)
}

fn sources(global: &Global) -> Result<Sources, ConfigError> {
    let mut flags = global.assignments.clone();
    flags.extend(global.database.iter().map(|url| ("database.url".to_owned(), url.clone())));
    let named = std::env::var_os("OUTBOX_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from);
    let file = global.config.clone().or(named);
    Sources::of_process(file.as_deref(), flags)
}
