//! SIGHUP: the replica reads these settings anew: the channels with their secrets, recurring messages, the retention,
//! the alerts, and the tokens of the listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use outbox_desk::{RefusedSettings, RunsBy};
use tokio::signal::unix::Signal;

use outbox_admin::api::ApiState;
use outbox_admin::listener::Tokens;
use outbox_config::{Config, ConfigError};
use outbox_console::alerts::Alerts;
use outbox_console::configured::Configured;
use outbox_console::text;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::poller::channels::Channel;
use outbox_dispatcher::poller::handle::Handle;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::wiring;

/// The longest time for reading the settings, and the files that they name.
const READING_LIMIT: Duration = Duration::from_secs(30);

/// A function that reads the settings of this process anew.
pub(super) type ReadSettings = Arc<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>;

/// The settings in force that a reload replaces, and what it needs for that.
pub(super) struct Reload {
    pub(super) read: ReadSettings,
    /// What the listener answers from. It holds the settings of the start, and those in force that a reload replaces.
    pub(super) api_state: ApiState,
    /// The address of the listener, which no message may reach.
    pub(super) listening_on: SocketAddr,
    pub(super) dispatcher: Handle,
    pub(super) metrics: Arc<Metrics>,
    pub(super) runs_by: Reloadable<RunsBy>,
    pub(super) tokens: Reloadable<Tokens>,
    pub(super) alerts: Reloadable<Option<Alerts>>,
}

impl Reload {
    /// Takes up new settings at each of these signals. Where anything in them is wrong, all settings stay as they were.
    pub(super) async fn at_each(self, mut hang_ups: Signal) {
        while hang_ups.recv().await.is_some() {
            let reloaded = self.reload().await;
            self.metrics.settings_read(reloaded.is_ok());
            if let Err(error) = reloaded {
                self.refuse(&problems(&error));
            }
        }
    }

    async fn reload(&self) -> anyhow::Result<()> {
        let (read, own) = (self.read.clone(), self.listening_on);
        // The read waits for a disk, and the loop must not.
        let reading = tokio::task::spawn_blocking(move || -> anyhow::Result<(Config, Vec<Channel>, Option<Alerts>)> {
            let config = read()?;
            let channels = wiring::channels(&config, own)?;
            let alerts = Alerts::of(&config)?;
            Ok((config, channels, alerts))
        });
        let reading = tokio::time::timeout(READING_LIMIT, reading).await;
        let reading =
            reading.with_context(|| format!("a file of the settings was not read within {READING_LIMIT:?}"))?;
        let (config, channels, alerts) = reading.context("reading the settings failed")??;
        let ApiState { started, config: read_last, configured, retention, .. } = &self.api_state;
        if started.comes_from_a_file() && !config.comes_from_a_file() {
            bail!("the settings file is gone or empty, and all of it would be back at its defaults");
        }
        let tokens = Tokens::under(&config, started.admin.user_header.as_ref());
        tokens.guard(started.admin.listen)?;

        let lease = configured.current().lease;
        configured.replace(Configured { lease, ..Configured::of(&config) });
        self.runs_by.replace(Configured::runs_by(&config, started));
        retention.replace(wiring::retention(&config));
        self.tokens.replace(tokens);
        self.alerts.replace(alerts);
        self.dispatcher.reconfigure(channels);

        let channels: Vec<_> = config.channels.keys().collect();
        tracing::info!(signal = "SIGHUP", ?channels, "settings.reloaded");
        let keys = started.needs_restart(&config);
        if !keys.is_empty() {
            tracing::warn!(?keys, "settings.restart_needed: these have changed, and are read at the start only");
        }
        read_last.replace(config);
        Ok(())
    }

    /// Logs each problem, and has the replica say the first of them wherever it speaks of its settings.
    fn refuse(&self, problems: &[String]) {
        for error in problems {
            tracing::error!(signal = "SIGHUP", error, "settings.not_reloaded: those of before stay in force");
        }
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let more = match problems.len() {
            0 | 1 => String::new(),
            count => format!("; and {} more", count - 1),
        };
        let why = problems.first().map_or_else(String::new, |first| format!("{first}{more}"));
        let refused = Some(RefusedSettings { at, why });
        self.runs_by.replace(RunsBy { refused, ..(*self.runs_by.current()).clone() });
    }
}

/// What is wrong with the settings, one text for each problem.
fn problems(error: &anyhow::Error) -> Vec<String> {
    match error.downcast_ref::<ConfigError>() {
        Some(ConfigError { problems }) => problems.iter().map(ToString::to_string).collect(),
        None => vec![text::with_causes(error)],
    }
}
