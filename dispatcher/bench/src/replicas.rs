//! The product: real replicas. Each is an `outbox run` in its own process.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::Child;

use super::grounds::{Grounds, Site};
use super::number::Percentiles;
use super::part::own_program;
use super::part::poster::bare_client;
use super::usage::Usage;
use outbox_config::LeaseProvider;

/// The longest time that a replica may take to listen, or to stop.
const LIMIT: Duration = Duration::from_secs(40);

/// How often the bench looks whether the replica listens.
const LOOK: Duration = Duration::from_millis(20);

/// The number of lines of a replica's log that an error shows.
const LAST_LINES: usize = 5;

/// The way in which the replicas run.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    /// The number of replicas.
    pub(super) replicas: usize,
    /// `dispatch.max_in_flight`.
    pub(super) in_flight: usize,
    /// `lease.term`. None: that of the operator's settings.
    pub(super) term: Option<Duration>,
    /// `retention.success`.
    pub(super) keep: &'static str,
    /// The channels.
    pub(super) channels: Value,
}

impl Manner {
    /// One replica with a channel `http` that reaches loopback.
    pub(super) fn plain(in_flight: usize) -> Self {
        let channels = json!({"http": {"kind": "http", "allow_networks": ["127.0.0.0/8"], "on_dead_ordered": "halt"}});
        Self { replicas: 1, in_flight, term: None, keep: "7d", channels }
    }

    /// The settings of the replicas for the outbox at `site`. Durability, lease, `max_bytes`, poll interval, wake-up and
    /// the schedule come from the operator's settings.
    fn settings(&self, grounds: &Grounds, site: &Site) -> anyhow::Result<String> {
        let config = &grounds.config;
        let seconds = |time: Duration| format!("{}ms", time.as_millis());
        let mut lease = json!({
            "ttl": seconds(config.lease.ttl),
            "term": seconds(self.term.unwrap_or(config.lease.term)),
        });
        match &config.lease.provider {
            LeaseProvider::Table | LeaseProvider::Session => lease["provider"] = json!(config.lease.provider.shown()),
            LeaseProvider::Redis { url, tls_ca } => {
                lease["provider"] = json!("redis");
                lease["url"] = json!(url.expose());
                lease["tls_ca"] = json!(tls_ca);
            }
        }
        let mut settings = json!({
            "database": {"url": site.url, "durability": config.database.durability.as_str()},
            "lease": lease,
            "dispatch": {
                "max_in_flight": self.in_flight,
                "max_bytes": format!("{} B", config.dispatch.max_bytes),
                "poll_interval": seconds(config.dispatch.poll_interval),
                "wakeup": config.dispatch.wakeup.as_str(),
            },
            "retention": {"success": self.keep, "dead": "never"},
            "admin": {"listen": "127.0.0.1:0"},
            "telemetry": {"log_format": "json"},
            "channels": self.channels,
        });
        if let Some(schema) = &site.schema {
            settings["database"]["schema"] = json!(schema);
        }
        Ok(toml::to_string(&settings)?)
    }
}

/// Running replicas. They end with this value, also after an error.
#[derive(Debug)]
pub(super) struct Replicas(Vec<Replica>);

#[derive(Debug)]
struct Replica {
    child: Child,
    log: PathBuf,
}

impl Replicas {
    /// Starts the replicas on an outbox. They may not poll yet when this returns.
    pub(super) async fn start(grounds: &Grounds, site: &Site, manner: &Manner) -> anyhow::Result<Self> {
        let settings = grounds.directory().join("outbox.toml");
        let text = manner.settings(grounds, site)?;
        tokio::fs::write(&settings, text).await.with_context(|| settings.display().to_string())?;
        let mut replicas = Vec::new();
        for number in 0..manner.replicas {
            let log = grounds.directory().join(format!("replica-{number}.log"));
            let file = std::fs::File::create(&log).with_context(|| log.display().to_string())?;
            let mut command = own_program()?;
            command.arg("--config").arg(&settings).arg("run");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
            let child = command.spawn().context("a replica cannot be started")?;
            replicas.push(Replica { child, log });
        }
        Ok(Self(replicas))
    }

    /// An error where a replica has ended by itself.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        for replica in &mut self.0 {
            if let Some(status) = replica.child.try_wait()? {
                bail!("a replica ended by itself ({status}); its last words:\n{}", last_words(&replica.log));
            }
        }
        Ok(())
    }

    /// The usage of all replicas so far.
    pub(super) fn usage(&self) -> Usage {
        Usage::together(self.0.iter().filter_map(|replica| replica.child.id()).map(Usage::of))
    }

    /// The durations of the attempts, from the metrics of the replicas.
    pub(super) async fn attempts(&mut self) -> anyhow::Result<Percentiles> {
        let client = bare_client()?;
        let mut sums: Vec<(f64, f64)> = Vec::new();
        for address in self.addresses().await? {
            let text = client.get(format!("http://{address}/metrics")).send().await?.text().await?;
            for (place, (bound, count)) in buckets(&text).into_iter().enumerate() {
                match sums.get_mut(place) {
                    Some((_, sum)) => *sum += count,
                    None => sums.push((bound, count)),
                }
            }
        }
        Ok(Percentiles::of_buckets(&sums))
    }

    /// Waits until all replicas listen, and returns their addresses.
    pub(super) async fn addresses(&mut self) -> anyhow::Result<Vec<String>> {
        let began = Instant::now();
        loop {
            self.check()?;
            let addresses: Option<Vec<String>> = self.0.iter().map(|replica| listening(&replica.log)).collect();
            match addresses {
                Some(addresses) => return Ok(addresses),
                None if began.elapsed() > LIMIT => bail!("a replica does not listen after {LIMIT:?}"),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Kills the replicas at once.
    pub(super) async fn kill(mut self) -> anyhow::Result<()> {
        self.check()?;
        for mut replica in self.0.drain(..) {
            replica.child.kill().await.context("a replica cannot be killed")?;
        }
        Ok(())
    }

    /// Stops the replicas with SIGTERM, and waits until they have ended.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        self.check()?;
        for replica in &self.0 {
            let pid = replica.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
            kill_process(pid.context("a replica has ended")?, Signal::TERM)?;
        }
        for mut replica in self.0.drain(..) {
            let Ok(status) = tokio::time::timeout(LIMIT, replica.child.wait()).await else {
                bail!("a replica did not stop within {LIMIT:?}; its last words:\n{}", last_words(&replica.log))
            };
            let status = status?;
            if !status.success() {
                bail!("a replica did not stop in order ({status}); its last words:\n{}", last_words(&replica.log));
            }
        }
        Ok(())
    }
}

/// The address of the listener, from the line of the log that names it.
fn listening(log: &Path) -> Option<String> {
    let text = std::fs::read_to_string(log).ok()?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut addresses = lines.filter(|line| line["message"] == "listening");
    addresses.find_map(|line| line["address"].as_str().map(str::to_owned))
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// The buckets of the durations of attempts, from the Prometheus text of the metrics.
fn buckets(metrics: &str) -> Vec<(f64, f64)> {
    let lines = metrics.lines().filter(|line| line.starts_with("outbox_attempt_duration_seconds_bucket{"));
    let bucket = |line: &str| {
        let bound = line.split_once("le=\"")?.1.split_once('"')?.0;
        let count = line.rsplit_once(' ')?.1;
        Some((bound.parse().unwrap_or(f64::INFINITY), count.parse().ok()?))
    };
    lines.filter_map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_read_in_their_order() {
        let text = "# TYPE outbox_attempt_duration_seconds histogram\n\
                    outbox_attempt_duration_seconds_bucket{channel=\"http\",le=\"0.001\"} 2\n\
                    outbox_attempt_duration_seconds_bucket{channel=\"http\",le=\"+Inf\"} 3\n\
                    outbox_attempt_duration_seconds_sum{channel=\"http\"} 1\n";
        assert_eq!(buckets(text), [(0.001, 2.0), (f64::INFINITY, 3.0)]);
    }
}
