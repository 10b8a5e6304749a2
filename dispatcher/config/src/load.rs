//! From the sources to all settings, checked.

use std::collections::BTreeSet;

use outbox_adapters::values::Checked;

use super::config::Config;
use super::known::{KNOWN, Known};
use super::problem::{self, ConfigError, Problem};
use super::source::{self, Sources};
use super::{check, first_try, merge};

impl Config {
    /// Puts the sources over the defaults, and checks all settings.
    ///
    /// # Errors
    /// Every unknown key and every wrong value in the sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Self::of(sources, &KNOWN)
    }

    /// The same for who looks at an outbox and sends nothing: channels and recurring messages whose settings are wrong are left
    /// out, and what is wrong with them is told beside. A channel stays that tells its outcomes to one which is left out.
    ///
    /// # Errors
    /// As [`Self::load`], where something else is wrong.
    pub fn load_without_wrong_channels(sources: &Sources) -> Result<(Self, Vec<Problem>), ConfigError> {
        let (config, problems) = Self::read(sources, &KNOWN);
        let others = problems.iter().filter(|problem| !problem.is_of_recurring());
        let wrong: Option<BTreeSet<_>> = others.map(|problem| problem.channel.as_deref()).collect();
        match (config, wrong) {
            (Ok(config), Some(wrong)) => Ok((config.without(&wrong), problems)),
            _ => Err(ConfigError { problems }),
        }
    }

    /// Loads the settings of a program that knows these.
    pub(super) fn of(sources: &Sources, known: &'static Known) -> Result<Self, ConfigError> {
        let (config, problems) = Self::read(sources, known);
        config.ok().filter(|_| problems.is_empty()).ok_or(ConfigError { problems })
    }

    /// The settings, and all that is wrong with them. Channels may be wrong or missing.
    fn read(sources: &Sources, known: &'static Known) -> (Checked<Self>, Vec<Problem>) {
        let mut problems = Vec::new();
        let fixed: Vec<_> = known.fixed().map(|(key, _)| key).collect();
        let givens = source::gather(sources, &fixed, &mut problems);
        let settings = merge::complete(givens, known, &mut problems);
        let file = sources.file.as_ref().map(|(path, _)| path.as_path());
        let no_default_database = first_try::refusal(&settings, file);
        let config = check::config(settings, known, no_default_database, &mut problems);
        problem::in_order(&mut problems);
        (config, problems)
    }

    fn without(mut self, channels: &BTreeSet<&str>) -> Self {
        self.channels.retain(|name, _| !channels.contains(name.as_str()));
        self.settings.0.retain(|setting| setting.key.channel().is_none_or(|name| !channels.contains(name)));
        self
    }
}
