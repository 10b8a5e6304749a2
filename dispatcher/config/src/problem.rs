//! What is wrong with settings, for the person who wrote them.

use std::fmt;

use super::key::{Key, RECURRING};
use super::setting::{Origin, Setting};

/// All wrong settings, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The problems: at least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(f, "a setting is wrong: {problem}"),
            problems => {
                write!(f, "{} settings are wrong:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

/// Puts problems in the order in which a person meets the settings: files by line, then what is not in a file.
pub(super) fn in_order(problems: &mut [Problem]) {
    problems.sort_by_cached_key(|problem| {
        let origin = problem.origin.clone().unwrap_or_default();
        match origin.rsplit_once(':').and_then(|(file, line)| Some((file.to_owned(), line.parse::<usize>().ok()?))) {
            Some((file, line)) => (0, file, line),
            None => (1, origin, 0),
        }
    });
}

/// One wrong setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file and line, the environment variable or the flag. None for a default.
    pub origin: Option<String>,
    /// The key as a person writes it. Empty where the problem is a whole file.
    pub key: String,
    /// The value as it was given, without secrets.
    pub value: Option<String>,
    /// What is wrong and what is allowed.
    pub advice: String,
    /// The channel whose setting this is.
    pub(super) channel: Option<String>,
}

impl Problem {
    /// The problem of a value that is not allowed.
    pub(super) fn with_value(setting: &Setting, advice: impl Into<String>) -> Self {
        Self { value: Some(setting.shown().to_string()), ..Self::with_key(&setting.origin, &setting.key, advice) }
    }

    /// The problem of a key that should not be there, or that is missing.
    pub(super) fn with_key(origin: &Origin, key: &Key, advice: impl Into<String>) -> Self {
        let channel = key.channel().map(str::to_owned);
        Self { origin: origin.place(), key: key.to_string(), value: None, advice: advice.into(), channel }
    }

    /// Whether this is about a recurring message.
    pub(super) fn is_of_recurring(&self) -> bool {
        self.key.strip_prefix(RECURRING).is_some_and(|rest| rest.starts_with('.'))
    }

    /// The problem of a source that could not be read at all.
    pub(super) fn with_source(place: String, advice: impl Into<String>) -> Self {
        Self { origin: Some(place), key: String::new(), value: None, advice: advice.into(), channel: None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        f.write_str(&self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}:")?;
        }
        let gap = if self.key.is_empty() { "" } else { " " };
        write!(f, "{gap}{}", self.advice)
    }
}
