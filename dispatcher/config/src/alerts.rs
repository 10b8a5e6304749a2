//! The settings of `[alerts]`.

use std::fmt;
use std::time::Duration;

use outbox_adapters::http::Secret;

/// The settings of `[alerts]`, where there is something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertsConfig {
    /// The webhook. Nobody sees it.
    pub url: Secret,
    /// The form of the posts.
    pub format: AlertFormat,
    /// The rate of dead letters that is told. None: none is.
    pub on_dead_rate: Option<DeadRate>,
    /// How long no replica has polled when that is told. None: it is not told.
    pub on_no_poller: Option<Duration>,
    /// Whether jobs that are late are told.
    pub on_job_late: bool,
    /// How long a thing that was told is not told again: 1 s to 30 d.
    pub window: Duration,
    /// Where people reach the page. None: a post has no links.
    pub page_url: Option<String>,
}

/// What is posted to the webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertFormat {
    /// `{"text": "…"}`.
    Slack,
    /// Fields, and the same text.
    Json,
}

impl AlertFormat {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 2] = [("slack", Self::Slack), ("json", Self::Json)];

    /// The word in the settings.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, format)| *format == self).map_or("", |(word, _)| word)
    }
}

/// So many dead letters within so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadRate {
    /// From how many on they are told.
    pub letters: u64,
    /// The time in which they died.
    pub within: Duration,
}

impl fmt::Display for DeadRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} within {}", self.letters, humantime::format_duration(self.within))
    }
}
