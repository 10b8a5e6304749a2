//! One definition of the metrics. The listener shows them as Prometheus text, and they are sent over OTLP where an
//! endpoint is configured.
//!
//! Counters begin at zero for every label that is known at the start, so that their first increase is seen too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, MeterProvider};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use outbox_desk::RunsBy;
use outbox_store::alerts::AlertKind;
use outbox_store::retention::Pruned;
use outbox_store::{Connections, InDoubtPolicy, Shard, Status, TermEnd};
use prometheus::TextEncoder;

use super::counting::Counting;
use super::labels::Channels;
use super::names::Name;
use super::observed::Observed;
use super::tally::Tally;
use super::term_gauge::TermGauge;
use crate::schedule::WhyNot;
use outbox_desk::Vitals;

/// Bucket bounds of an attempt and of a poll, in seconds: from a neighbour on loopback to the longest timeout.
const SECONDS: [f64; 15] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Bucket bounds of a delivery, in seconds: those above, and then the times of retries.
const DELIVERY_SECONDS: [f64; 15] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0, 3600.0, 86400.0];

/// The metrics of the process. Every method is cheap and never waits.
#[derive(Debug)]
pub struct Metrics {
    registry: prometheus::Registry,
    provider: SdkMeterProvider,
    channels: Channels,
    observed: Arc<Observed>,
    attempts: Counter<u64>,
    attempt_duration: Histogram<f64>,
    delivery_latency: Histogram<f64>,
    misconfigured: Counter<u64>,
    encoded_twice: Counter<u64>,
    in_flight: Gauge<u64>,
    waiting: Gauge<u64>,
    terms: Counter<u64>,
    fenced_marks: Counter<u64>,
    lost_in_failover: Counter<u64>,
    in_doubt: Counter<u64>,
    poll_duration: Histogram<f64>,
    pruned: Counter<u64>,
    alerts: Counter<u64>,
    /// Attempts of this process that ended, whatever their channel.
    pub tally: Tally,
    /// The same by channel, until it is written as figures over time.
    pub counting: Counting,
}

impl Metrics {
    /// The metrics of a process with these channels that campaigns for these shards. `otlp` also sends them, every 60 s
    /// or as `OTEL_METRIC_EXPORT_INTERVAL` (milliseconds) says.
    pub fn new<'a>(
        channels: impl IntoIterator<Item = &'a str>,
        shards: &[Shard],
        resource: Resource,
        otlp: Option<MetricExporter>,
    ) -> Result<Self, OTelSdkError> {
        let registry = prometheus::Registry::new();
        // The names are complete already, with unit and `_total`.
        let prometheus = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .without_units()
            .without_counter_suffixes()
            .without_target_info()
            .scope_info_enabled(false)
            .build()?;
        let mut provider = SdkMeterProvider::builder().with_resource(resource).with_reader(prometheus);
        if let Some(exporter) = otlp {
            provider = provider.with_reader(PeriodicReader::builder(exporter).build());
        }
        let provider = provider.build();
        let meter = provider.meter("outbox");
        let names: Vec<String> = channels.into_iter().map(str::to_owned).collect();
        let metrics = Self {
            registry,
            channels: Channels::new(&names),
            counting: Counting::new(&names),
            observed: Observed::register(&meter, names, shards),
            attempts: counter(&meter, Name::Attempts),
            attempt_duration: histogram(&meter, Name::AttemptDuration, &SECONDS),
            delivery_latency: histogram(&meter, Name::DeliveryLatency, &DELIVERY_SECONDS),
            misconfigured: counter(&meter, Name::Misconfigured),
            encoded_twice: counter(&meter, Name::EncodedTwice),
            in_flight: meter.u64_gauge(Name::InFlight.as_str()).with_description(Name::InFlight.help()).build(),
            waiting: meter.u64_gauge(Name::Waiting.as_str()).with_description(Name::Waiting.help()).build(),
            terms: counter(&meter, Name::Terms),
            fenced_marks: counter(&meter, Name::FencedMarks),
            lost_in_failover: counter(&meter, Name::LostInFailover),
            in_doubt: counter(&meter, Name::InDoubt),
            poll_duration: histogram(&meter, Name::PollDuration, &SECONDS),
            pruned: counter(&meter, Name::Pruned),
            alerts: counter(&meter, Name::Alerts),
            tally: Tally::default(),
            provider,
        };
        metrics.begin_at_zero(shards);
        Ok(metrics)
    }

    /// Replaces the channels. The counts of former channels stay.
    pub fn reconfigure<'a>(&self, channels: impl IntoIterator<Item = &'a str>) {
        let names: Vec<String> = channels.into_iter().map(str::to_owned).collect();
        self.channels.replace(&names);
        self.counting.reconfigure(&names);
        self.observed.reconfigure(names);
        self.attempts_begin_at_zero();
    }

    /// An attempt of `channel` ended with `outcome` ([`outbox_store::Outcome::as_str`]).
    pub fn attempt(&self, channel: &str, outcome: &'static str, duration: Option<Duration>) {
        self.channels.with_outcome(channel, outcome, |labels| self.attempts.add(1, labels));
        if let Some(duration) = duration {
            self.channels.with(channel, |labels| self.attempt_duration.record(duration.as_secs_f64(), labels));
        }
    }

    /// The receiver accepted a message of `channel`, `latency` after it was created.
    pub fn delivered(&self, channel: &str, latency: Duration) {
        self.channels.with(channel, |labels| self.delivery_latency.record(latency.as_secs_f64(), labels));
    }

    /// Counts an attempt at a payload that is a JSON string that holds JSON.
    pub fn encoded_twice(&self, channel: &str) {
        self.channels.with(channel, |labels| self.encoded_twice.add(1, labels));
    }

    /// A message of `channel` died of a fault in the channel's set-up.
    pub fn misconfigured(&self, channel: &str) {
        self.channels.with(channel, |labels| self.misconfigured.add(1, labels));
    }

    /// Shows the number of messages that are claimed here and not yet marked.
    pub fn in_flight(&self, messages: usize) {
        self.in_flight.record(messages as u64, &[]);
    }

    /// Shows how many due messages wait for each of these reasons.
    pub fn waiting(&self, why: &BTreeMap<WhyNot, usize>) {
        for reason in WhyNot::ALL {
            let messages = why.get(&reason).copied().unwrap_or_default() as u64;
            self.waiting.record(messages, &[KeyValue::new("why", reason.as_str())]);
        }
    }

    /// This process leads `term` from now on. Its numbers are read from the term whenever the metrics are read.
    pub fn term_began(&self, term: Arc<dyn TermGauge>) {
        self.observed.term_began(term);
    }

    /// A term of this process on `shard` is over.
    pub fn term_ended(&self, shard: Shard, end: TermEnd) {
        self.terms.add(1, &term_labels(shard, end));
    }

    /// Counts refused marks.
    pub fn fenced(&self, marks: u64) {
        self.fenced_marks.add(marks, &[]);
    }

    /// Counts messages that went out and that a failover lost.
    pub fn lost_in_failover(&self, messages: u64) {
        self.lost_in_failover.add(messages, &[]);
    }

    /// Counts rows that were found in doubt and decided by `policy`.
    pub fn in_doubt(&self, policy: InDoubtPolicy, rows: u64) {
        self.in_doubt.add(rows, &[KeyValue::new("policy", policy_word(policy))]);
    }

    /// Records the duration of a poll.
    pub fn polled(&self, duration: Duration) {
        self.poll_duration.record(duration.as_secs_f64(), &[]);
    }

    /// Counts messages that were removed because they were past their retention.
    pub fn pruned(&self, removed: Pruned) {
        for (status, messages) in [(Status::Success, removed.success), (Status::Dead, removed.dead)] {
            self.pruned.add(messages, &[KeyValue::new("status", status.as_str())]);
        }
    }

    /// Counts something that was told, or could not be told.
    pub fn alert(&self, kind: AlertKind, told: bool) {
        self.alerts.add(1, &alert_labels(kind, told));
    }

    /// The furthest that a message was found to be past its retention; zero where there is none. The number is taken to
    /// grow until the next call.
    pub fn retention_behind(&self, by: Duration) {
        self.observed.retention_behind(by);
    }

    /// Shows the answer of `/readyz`.
    pub fn ready(&self, ready: bool) {
        self.observed.ready(ready);
    }

    /// Shows the connections of a pool to the outbox database, as `count` counts them whenever the metrics are read.
    pub fn pool(&self, name: &'static str, count: impl Fn() -> Connections + Send + 'static) {
        self.observed.pool(name, count);
    }

    /// Shows what this process runs by.
    pub fn runs_by(&self, runs_by: &RunsBy) {
        let lease = match runs_by.lease_store.as_str() {
            "table" => "table",
            "session" => "session",
            _ => "redis",
        };
        self.observed.settings(runs_by.settings_hash(), lease);
    }

    /// Notes that this process read settings, and whether it took them up.
    pub fn settings_read(&self, taken_up: bool) {
        self.observed.settings_read(taken_up);
    }

    /// Shows the version of the program. Without this call it is that of the package.
    pub fn version(&self, version: &'static str) {
        self.observed.version(version);
    }

    /// The database's last answer. None where it could not be asked: its numbers are then left out, and no old ones are
    /// repeated.
    pub fn vitals(&self, vitals: Option<Arc<Vitals>>) {
        self.observed.vitals(vitals);
    }

    /// All metrics as Prometheus text, <https://prometheus.io/docs/instrumenting/exposition_formats/>.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// The provider that sends the metrics, to be flushed at the end.
    pub(crate) fn provider(&self) -> SdkMeterProvider {
        self.provider.clone()
    }

    fn begin_at_zero(&self, shards: &[Shard]) {
        self.attempts_begin_at_zero();
        for shard in shards {
            for end in TermEnd::ALL {
                self.terms.add(0, &term_labels(*shard, end));
            }
        }
        self.fenced(0);
        self.lost_in_failover(0);
        self.in_doubt(InDoubtPolicy::Resend, 0);
        self.in_doubt(InDoubtPolicy::DeadLetter, 0);
        self.in_flight(0);
        self.waiting(&BTreeMap::new());
        self.pruned(Pruned::default());
        for kind in [AlertKind::DeadRate, AlertKind::NoPoller, AlertKind::JobLate] {
            for told in [true, false] {
                self.alerts.add(0, &alert_labels(kind, told));
            }
        }
    }

    fn attempts_begin_at_zero(&self) {
        self.channels.each(|labels| self.misconfigured.add(0, labels));
        self.channels.each(|labels| self.encoded_twice.add(0, labels));
        self.channels.each_outcome(|labels| self.attempts.add(0, labels));
    }
}

fn alert_labels(kind: AlertKind, told: bool) -> [KeyValue; 2] {
    [KeyValue::new("alert", kind.as_str()), KeyValue::new("result", if told { "told" } else { "failed" })]
}

fn counter(meter: &Meter, name: Name) -> Counter<u64> {
    meter.u64_counter(name.as_str()).with_description(name.help()).build()
}

fn histogram(meter: &Meter, name: Name, bounds: &[f64]) -> Histogram<f64> {
    meter
        .f64_histogram(name.as_str())
        .with_description(name.help())
        .with_unit("s")
        .with_boundaries(bounds.to_vec())
        .build()
}

fn term_labels(shard: Shard, end: TermEnd) -> [KeyValue; 2] {
    [KeyValue::new("end", end.as_str()), KeyValue::new("shard", i64::from(shard.0))]
}

fn policy_word(policy: InDoubtPolicy) -> &'static str {
    match policy {
        InDoubtPolicy::Resend => "resend",
        InDoubtPolicy::DeadLetter => "dead_letter",
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
