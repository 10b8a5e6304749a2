//! From the sources to all settings, checked.

use std::collections::BTreeSet;

use super::config::Config;
use super::problem::{self, ConfigError, Problem};
use super::source::{self, Sources};
use super::{check, first_try, key, known, merge};

impl Config {
    /// Puts the sources over the defaults, and checks all settings.
    ///
    /// # Errors
    /// Every unknown key and every wrong value in the sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Self::of(sources, &known::KNOWN, |_| true)
    }

    /// The same for who looks at an outbox and sends nothing: channels whose settings are wrong are left out, and what is wrong with
    /// them is told beside.
    ///
    /// # Errors
    /// As [`Self::load`], where something else is wrong.
    pub fn load_without_wrong_channels(sources: &Sources) -> Result<(Self, Vec<Problem>), ConfigError> {
        let error = match Self::load(sources) {
            Ok(config) => return Ok((config, Vec::new())),
            Err(error) => error,
        };
        let named =
            |problem: &Problem| key::Key::dotted(&problem.key).channel().map(|name| name.trim_matches('"').to_owned());
        let wrong: BTreeSet<_> = error.problems.iter().filter_map(named).collect();
        let is_right = |key: &key::Key| key.channel().is_none_or(|name| !wrong.contains(name));
        match Self::of(sources, &known::KNOWN, is_right) {
            Ok(config) => Ok((config, error.problems)),
            Err(_) => Err(error),
        }
    }

    /// Loads the settings whose keys are `wanted`, of those that are `known`.
    pub(super) fn of(
        sources: &Sources,
        known: &'static known::Known,
        wanted: impl Fn(&key::Key) -> bool,
    ) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let fixed: Vec<_> = known.fixed().map(|(key, _)| key).collect();
        let mut givens = source::gather(sources, &fixed, &mut problems);
        givens.retain(|key, _| wanted(key));
        let settings = merge::complete(givens, known, &mut problems);
        let file = sources.file.as_ref().map(|(path, _)| path.as_path());
        let no_default_database = first_try::refusal(&settings, file);
        let config = check::config(settings, known, no_default_database, &mut problems);
        problem::in_order(&mut problems);
        config.ok().filter(|_| problems.is_empty()).ok_or(ConfigError { problems })
    }
}
