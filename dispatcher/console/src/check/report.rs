//! What a check found, and what a crash costs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::alerts::Alerts;
use outbox_config::Config;
use outbox_dispatcher::poller::claim::SETTLING_MARGIN;
use outbox_dispatcher::term::leadership::longest_campaign_pause;

/// The findings of a check.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CheckReport {
    /// Whether all can be used. For a strict check: whether there is no warning either.
    pub ok: bool,
    /// The findings, each about one subject.
    pub findings: Vec<Finding>,
    /// The cost of a crash.
    pub crash: CrashCost,
}

/// The finding about one subject.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// What was looked at: `database`, `schema`, `rights`, `lease`, a channel, a recurring message, `alerts`, or the key of a setting.
    pub subject: String,
    /// Whether what was looked at can be used.
    pub verdict: FindingVerdict,
    /// What was found, and what to do about it.
    pub text: String,
}

/// Whether a subject can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingVerdict {
    /// The subject works.
    Ok,
    /// The subject works, and something about it is to be looked at.
    Warning,
    /// The subject does not work.
    Failed,
}

/// The cost of a crash of the poller with these settings.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CrashCost {
    /// The longest pause of all deliveries, in seconds.
    pub gap_seconds: f64,
    /// The most messages in doubt.
    pub in_doubt_messages: u32,
    /// The time from the start of the next poller until those messages are decided, in seconds, where none of them had timed out
    /// before. Such a message has up to a minute to answer.
    pub settled_after_seconds: f64,
}

impl CheckReport {
    /// Posts a test to the webhook of the alerts, and adds what came of it.
    pub async fn try_alert(&mut self, config: &Config) {
        let tried = match Alerts::of(config) {
            Ok(Some(alerts)) => alerts.try_out(&config.database.environment).await,
            Ok(None) => {
                Err("nothing is told: set alerts.url, and alerts.on_dead_rate or alerts.on_no_poller".to_owned())
            }
            // The check has said why.
            Err(_) => return,
        };
        self.ok &= tried.is_ok();
        self.findings.push(match tried {
            Ok(()) => Finding::ok("alerts", &"the webhook has taken a test post"),
            Err(why) => Finding::failed("alerts", &format!("no test post was taken: {why}")),
        });
    }
}

impl Finding {
    fn new(subject: &str, verdict: FindingVerdict, text: &dyn ToString) -> Self {
        Self { subject: subject.to_owned(), verdict, text: text.to_string() }
    }

    pub(super) fn ok(subject: &str, text: &dyn ToString) -> Self {
        Self::new(subject, FindingVerdict::Ok, text)
    }

    pub(super) fn warning(subject: &str, text: &dyn ToString) -> Self {
        Self::new(subject, FindingVerdict::Warning, text)
    }

    pub(super) fn failed(subject: &str, text: &dyn ToString) -> Self {
        Self::new(subject, FindingVerdict::Failed, text)
    }
}

impl CrashCost {
    pub(super) fn of(started: &Config, read: &Config) -> Self {
        let ttl = started.lease.ttl;
        let longest = read.channels.values().map(|channel| channel.timeout).max().unwrap_or_default();
        Self {
            gap_seconds: tenths_up(ttl + longest_campaign_pause(ttl)),
            in_doubt_messages: started.dispatch.max_in_flight,
            settled_after_seconds: (ttl + longest + SETTLING_MARGIN).as_secs_f64(),
        }
    }

    /// The same as a sentence.
    pub fn in_words(&self) -> String {
        format!(
            "A crash of the poller costs at most {:.1} s without deliveries, and leaves at most {} messages in doubt, decided {:.1} s \
             after the next poller begins.",
            self.gap_seconds, self.in_doubt_messages, self.settled_after_seconds
        )
    }
}

/// The seconds to one decimal, rounded up since the figure is an upper bound.
fn tenths_up(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10.0).ceil() / 10.0
}
