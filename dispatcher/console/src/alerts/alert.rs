//! What is told, in words and as JSON. There is nothing in it but counts, names of channels, reasons and the id of a message: no
//! payload, header, target or text of a receiver.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use outbox_desk::{DeadGroup, JobEntry};
use outbox_store::alerts::AlertKind;
use serde_json::{Value, json};

use outbox_config::{AlertFormat, AlertsConfig, DeadRate};

/// The most lines of counts in a text.
const LINES: usize = 10;

/// The longest name from a row, in characters.
const LONGEST: usize = 64;

/// Something to post to the webhook.
pub(super) enum Alert {
    /// More dead letters than the rate.
    DeadRate { rate: DeadRate, groups: Vec<DeadGroup> },
    /// No replica polls.
    NoPoller { nobody_for: Duration },
    /// A replica polls again.
    PollerAgain,
    /// Jobs that have not run for too long.
    JobLate { jobs: Vec<JobEntry> },
    /// A person wants to see that it arrives.
    Test,
}

/// The replica that posts an alert.
pub(super) struct Sender {
    pub(super) environment: String,
    pub(super) outbox_id: Option<String>,
    pub(super) replica: Option<String>,
}

impl Alert {
    /// What it is to the database.
    pub(super) fn kind(&self) -> AlertKind {
        match self {
            Self::DeadRate { .. } | Self::Test => AlertKind::DeadRate,
            Self::NoPoller { .. } => AlertKind::NoPoller,
            Self::PollerAgain => AlertKind::PollerAgain,
            Self::JobLate { .. } => AlertKind::JobLate,
        }
    }

    /// The first line, without the environment.
    pub(super) fn title(&self) -> String {
        match self {
            Self::DeadRate { rate, groups } => {
                format!(
                    "{} dead letters within {} (told from {} on)",
                    letters(groups),
                    in_words(rate.within),
                    rate.letters
                )
            }
            Self::NoPoller { nobody_for } => {
                format!("no replica has polled for {}: no message goes out", in_words(*nobody_for))
            }
            Self::PollerAgain => "a replica polls again".to_owned(),
            Self::JobLate { jobs } => format!("late jobs: {}", jobs.len()),
            Self::Test => "this is a test of `outbox check --alert`. What is told comes here".to_owned(),
        }
    }

    /// The body of the post.
    pub(super) fn body(&self, sender: &Sender, config: &AlertsConfig) -> Value {
        let text = self.text(sender, config);
        match config.format {
            AlertFormat::Slack => json!({ "text": for_slack(&text) }),
            AlertFormat::Json => self.fields(sender, config, &text),
        }
    }

    fn text(&self, sender: &Sender, config: &AlertsConfig) -> String {
        let mut text = format!("Outbox {}: {}", sender.environment, self.title());
        let mut line = |line: &str| {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\n{line}");
        };
        match self {
            Self::DeadRate { rate, groups } => {
                let counts = counts(groups);
                for ((channel, reason), count) in counts.iter().take(LINES) {
                    line(&format!("- {}: {count} {}", harmless(channel), harmless(reason)));
                }
                if let Some(more) = counts.len().checked_sub(LINES).filter(|more| *more > 0) {
                    line(&format!("- and {more} more kinds"));
                }
                if let Some(example) = example(groups) {
                    line(&format!("Why the newest died: outbox messages explain {example}"));
                }
                line(&format!("All of them: outbox dead-letters list --since {}", one_word(rate.within)));
            }
            Self::NoPoller { .. } => line("Why: outbox status, and the logs of the replicas"),
            Self::JobLate { jobs } => {
                for job in jobs.iter().take(LINES) {
                    let last = job
                        .started_at
                        .as_deref()
                        .map_or("it never began".to_owned(), |at| format!("it last began at {at}"));
                    line(&format!("- {}: {last}", harmless(&job.name)));
                }
                line("All of them: outbox jobs list");
            }
            Self::PollerAgain | Self::Test => {}
        }
        if let Some(page) = self.page(config) {
            line(&page);
        }
        if let Some(replica) = &sender.replica {
            let next = match self {
                Self::DeadRate { .. } | Self::NoPoller { .. } | Self::JobLate { .. } => {
                    format!("; this is told again after {} at the earliest", in_words(config.window))
                }
                Self::PollerAgain | Self::Test => String::new(),
            };
            line(&format!("Told by the replica {replica}{next}"));
        }
        text
    }

    /// The page to look at.
    fn page(&self, config: &AlertsConfig) -> Option<String> {
        let base = config.page_url.as_ref()?.trim_end_matches('/');
        Some(match self {
            Self::DeadRate { rate, .. } => format!("{base}/dead-letters?since={}", one_word(rate.within)),
            Self::JobLate { .. } => format!("{base}/jobs"),
            Self::NoPoller { .. } | Self::PollerAgain | Self::Test => format!("{base}/"),
        })
    }

    fn fields(&self, sender: &Sender, config: &AlertsConfig, text: &str) -> Value {
        let Sender { environment, outbox_id, replica } = sender;
        let alert = match self {
            Self::Test => "test",
            Self::DeadRate { .. } | Self::NoPoller { .. } | Self::PollerAgain | Self::JobLate { .. } => {
                self.kind().as_str()
            }
        };
        let mut fields = json!({
            "alert": alert, "over": matches!(self, Self::PollerAgain), "text": text, "environment": environment,
            "outbox_id": outbox_id, "replica": replica, "page": self.page(config),
        });
        match self {
            Self::DeadRate { rate, groups } => {
                let counts = counts(groups);
                let counts = counts.iter().map(
                    |((channel, reason), count)| json!({ "channel": channel, "reason": reason, "dead_letters": count }),
                );
                fields["dead_letters"] = json!(letters(groups));
                fields["within_s"] = json!(rate.within.as_secs());
                fields["counts"] = counts.collect();
                fields["example"] = json!(example(groups));
            }
            Self::NoPoller { nobody_for } => fields["nobody_for_s"] = json!(nobody_for.as_secs()),
            Self::JobLate { jobs } => {
                let jobs = jobs.iter().map(|job| json!({ "name": job.name, "started_at": job.started_at }));
                fields["jobs"] = jobs.collect();
            }
            Self::PollerAgain | Self::Test => {}
        }
        fields
    }
}

fn letters(groups: &[DeadGroup]) -> u64 {
    groups.iter().map(|group| group.count).sum()
}

/// Dead letters by channel and reason, the most first.
fn counts(groups: &[DeadGroup]) -> Vec<((&str, &str), u64)> {
    let mut counts = BTreeMap::new();
    for group in groups {
        let reason = group.dead_reason.as_deref().unwrap_or("unknown");
        *counts.entry((group.channel.as_str(), reason)).or_insert(0) += group.count;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts
}

/// The newest message of the group whose last letter died latest.
fn example(groups: &[DeadGroup]) -> Option<i64> {
    groups.iter().max_by(|one, other| one.last_seen.cmp(&other.last_seen)).map(|group| group.example.0)
}

/// A name from a row, for a text that some program renders. A row is written by strangers: `<!channel>`, `@here` or a line break must
/// do nothing, whatever the program is. No name of the settings has anything but these characters.
fn harmless(name: &str) -> String {
    let shown = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '?' };
    name.chars().take(LONGEST).map(shown).collect()
}

/// The three characters that begin something in a text for Slack
/// (<https://docs.slack.dev/messaging/formatting-message-text#escaping>).
fn for_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn in_words(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}

/// A time as a flag or a query takes it.
fn one_word(time: Duration) -> String {
    in_words(time).to_string().replace(' ', "")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use outbox_adapters::http::Secret;
    use outbox_schema::MessageId;

    use super::*;

    fn group(channel: &str, reason: &str, count: u64, last_seen: &str, example: i64) -> DeadGroup {
        DeadGroup {
            fingerprint: String::new(),
            channel: channel.to_owned(),
            dead_reason: Some(reason.to_owned()),
            status_code: Some(404),
            error: Some("order 4711 <secret>".to_owned()),
            count,
            first_seen: String::new(),
            last_seen: last_seen.to_owned(),
            example: MessageId(example),
        }
    }

    fn config(format: AlertFormat, page_url: Option<&str>) -> AlertsConfig {
        AlertsConfig {
            url: Secret::Literal("https://hooks.example/s3cret".to_owned()),
            format,
            on_dead_rate: None,
            on_no_poller: None,
            on_job_late: false,
            window: Duration::from_hours(1),
            page_url: page_url.map(str::to_owned),
        }
    }

    fn sender() -> Sender {
        Sender {
            environment: "production".to_owned(),
            outbox_id: Some("an-id".to_owned()),
            replica: Some("<web-1> & co".to_owned()),
        }
    }

    fn dead(groups: Vec<DeadGroup>) -> Alert {
        Alert::DeadRate { rate: DeadRate { letters: 3, within: Duration::from_mins(90) }, groups }
    }

    #[test]
    fn a_text_counts_by_channel_and_reason_and_says_what_to_run() {
        let alert = dead(vec![
            group("orders", "permanent", 2, "2026-01-01T00:00:00Z", 7),
            group("orders", "permanent", 3, "2026-01-03T00:00:00Z", 9),
            group("hooks", "exhausted", 7, "2026-01-02T00:00:00Z", 8),
        ]);
        let body = alert.body(&sender(), &config(AlertFormat::Slack, Some("https://outbox.example/")));
        let expected = "Outbox production: 12 dead letters within 1h 30m (told from 3 on)\n- hooks: 7 exhausted\n- orders: 5 permanent\n\
                        Why the newest died: outbox messages explain 9\nAll of them: outbox dead-letters list --since 1h30m\n\
                        https://outbox.example/dead-letters?since=1h30m\n\
                        Told by the replica &lt;web-1&gt; &amp; co; this is told again after 1h at the earliest";
        assert_eq!(body, json!({ "text": expected }));
    }

    #[test]
    fn a_hostile_name_is_harmless_in_a_text_and_whole_in_a_field() {
        let name = "<!channel> @here\n*x* `y` https://evil.example";
        let alert = dead(vec![group(name, "permanent", 4, "", 1)]);
        let text = alert.body(&sender(), &config(AlertFormat::Slack, None))["text"].as_str().unwrap().to_owned();
        assert!(text.contains("\n- ??channel???here??x???y??https???evil.example: 4 permanent\n"), "{text}");
        let fields = alert.body(&sender(), &config(AlertFormat::Json, None));
        assert_eq!(fields["counts"], json!([{ "channel": name, "reason": "permanent", "dead_letters": 4 }]));
        assert!(!fields["text"].as_str().unwrap().contains('@'), "{fields}");
        assert!(!format!("{text}{fields}").contains("4711"), "no text of a receiver");
    }

    #[test]
    fn many_kinds_are_cut_short() {
        let alert = dead((0..14).map(|n| group(&format!("c{n}"), "expired", 1, "", 1)).collect());
        let text = alert.text(&sender(), &config(AlertFormat::Json, None));
        assert_eq!(text.matches("expired").count(), 10, "{text}");
        assert!(text.contains("- and 4 more kinds"), "{text}");
    }

    #[test]
    fn the_fields_of_each_alert_are_stable() {
        let fields = |alert: &Alert| {
            let fields = alert.body(&sender(), &config(AlertFormat::Json, None));
            let names: Vec<_> = fields.as_object().unwrap().keys().cloned().collect();
            (fields["alert"].clone(), fields["over"].clone(), names.join(" "))
        };
        let common = "alert environment outbox_id over page replica text";
        let of = |alert: &Alert, kind: &str, over: bool, names: &str| {
            assert_eq!(fields(alert), (json!(kind), json!(over), names.to_owned()));
        };
        of(&Alert::PollerAgain, "no_poller", true, common);
        of(&Alert::Test, "test", false, common);
        let nobody = Alert::NoPoller { nobody_for: Duration::from_secs(61) };
        of(&nobody, "no_poller", false, "alert environment nobody_for_s outbox_id over page replica text");
        let late = JobEntry { name: "ward-status".to_owned(), ..JobEntry::default() };
        of(
            &Alert::JobLate { jobs: vec![late] },
            "job_late",
            false,
            "alert environment jobs outbox_id over page replica text",
        );
        let names = "alert counts dead_letters environment example outbox_id over page replica text within_s";
        of(&dead(Vec::new()), "dead_rate", false, names);
    }
}
