//! A fleet: replicas of the real program, as processes.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, SystemTime};

use outbox_dispatcher::fault_point::{self, Point};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::eventually::eventually;
use crate::invariants::Limits;
use crate::servers::process_state;
use crate::tables::Tables;
use crate::{outbox_binary, outbox_binary_with_fault_points};

pub use crate::eventually::PATIENCE;

/// The settings of a fleet with one channel, `http`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `database.url`.
    pub database: String,
    /// `lease.url`; none: the table lease.
    pub redis: Option<String>,
    /// The channel's `base_url`.
    pub receiver: String,
    /// `lease.ttl`.
    pub ttl: Duration,
    /// `lease.term`.
    pub term: Duration,
    /// `dispatch.max_in_flight`.
    pub max_in_flight: u32,
    /// The channel's `timeout`.
    pub timeout: Duration,
    /// `retry.max_attempts`.
    pub max_attempts: usize,
    /// Whether the channel's `in_doubt` is `dead_letter`.
    pub at_most_once: bool,
    /// Whether the channel tells of each outcome, by a channel `told` to the same receiver.
    pub tells: bool,
    /// Further lines of the settings file, as `retry.base = "1s"`.
    pub more: String,
}

/// Where outcomes are told.
const TOLD: &str = "{ channel = \"told\", target = \"/outcomes\" }";

impl Settings {
    /// What they allow.
    pub fn limits(&self) -> Limits {
        let max_in_flight = usize::try_from(self.max_in_flight).unwrap();
        Limits { max_in_flight, max_attempts: self.max_attempts, at_most_once: self.at_most_once }
    }

    /// The settings file of one replica, which says in each request which one it is.
    fn text(&self, place: Place) -> String {
        let milliseconds = |time: Duration| format!("\"{}ms\"", time.as_millis());
        let mut text = self.more.clone();
        let mut set = |key: &str, value: String| writeln!(text, "\n{key} = {value}").unwrap();
        set("database.url", format!("\"{}\"", self.database));
        if let Some(redis) = &self.redis {
            set("lease.url", format!("\"{redis}\""));
        }
        set("lease.ttl", milliseconds(self.ttl));
        set("lease.term", milliseconds(self.term));
        set("dispatch.max_in_flight", self.max_in_flight.to_string());
        set("retry.max_attempts", self.max_attempts.to_string());
        set("admin.listen", "\"127.0.0.1:0\"".to_owned());
        set("telemetry.log_format", "\"json\"".to_owned());
        for channel in ["http", "told"].into_iter().take(if self.tells { 2 } else { 1 }) {
            let mut set = |key: &str, value: String| set(&format!("channels.{channel}.{key}"), value);
            set("kind", "\"http\"".to_owned());
            set("base_url", format!("\"{}\"", self.receiver));
            set("allow_networks", "[\"127.0.0.0/8\"]".to_owned());
            set("timeout", milliseconds(self.timeout));
            // All that these fleets send goes to one destination.
            set("max_in_flight", self.max_in_flight.to_string());
            set("in_doubt", format!("\"{}\"", if self.at_most_once { "dead_letter" } else { "resend" }));
            set("headers", format!("{{ x-replica = \"{place}\" }}"));
        }
        if self.tells {
            set("channels.http.on_dead", TOLD.to_owned());
            set("channels.http.on_success", TOLD.to_owned());
        }
        text
    }
}

/// One replica of a fleet, also after its end. They are numbered as they were started.
pub type Place = usize;

/// The poller of a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poller {
    /// Which replica it is.
    pub place: Place,
    /// Of its term.
    pub epoch: i64,
}

/// A term as the log of its replica tells it.
#[derive(Debug, Clone)]
pub struct Led {
    /// Which replica.
    pub place: Place,
    /// `holder`.
    pub holder: String,
    /// When it said that it began.
    pub began: SystemTime,
    /// When it said that it ended; none where it died before.
    pub ended: Option<SystemTime>,
}

/// Replicas with the same settings. They end with this, and with the test process however that ends.
#[derive(Debug)]
pub struct Fleet {
    directory: TempDir,
    settings: Settings,
    program: PathBuf,
    replicas: Vec<Replica>,
}

#[derive(Debug)]
struct Replica {
    /// None once it has ended.
    child: Option<Child>,
    log: PathBuf,
}

impl Fleet {
    /// Starts so many replicas.
    pub fn start(settings: &Settings, replicas: usize) -> Self {
        Self::of(outbox_binary(), settings, replicas)
    }

    /// As [`Self::start`], with replicas that have fault points: see [`Self::arm`].
    pub fn with_fault_points(settings: &Settings, replicas: usize) -> Self {
        Self::of(outbox_binary_with_fault_points(), settings, replicas)
    }

    /// As [`Self::start`], with replicas of this program.
    pub fn of(program: &Path, settings: &Settings, replicas: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = program.to_owned();
        let mut fleet = Self { directory, settings: settings.clone(), program, replicas: Vec::new() };
        for _ in 0..replicas {
            fleet.add(&[]);
        }
        fleet
    }

    /// With what it was started.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Has a replica with fault points do something (`stop`, `kill`, `panic`, `hang`) when it next reaches this point.
    pub fn arm(&self, place: Place, point: Point, action: &str) {
        let points = self.fault_points(place);
        // Renamed into place, so that it is found whole.
        std::fs::write(points.join("next"), action).unwrap();
        let _ = std::fs::remove_file(points.join(format!("{}.reached", point.as_str())));
        std::fs::rename(points.join("next"), points.join(point.as_str())).unwrap();
    }

    /// Whether a replica has come to the point that it was armed at.
    pub fn reached(&self, place: Place, point: Point) -> bool {
        self.fault_points(place).join(format!("{}.reached", point.as_str())).exists()
    }

    /// Whether a running replica is stopped where it stands.
    pub fn is_frozen(&self, place: Place) -> bool {
        process_state(self.pid(place).as_raw_nonzero().get()).as_deref() == Some("T")
    }

    fn fault_points(&self, place: Place) -> PathBuf {
        self.directory.path().join(format!("fault-points-{place}"))
    }

    /// Starts one more, with these settings of its own: variables of the environment.
    pub fn add(&mut self, environment: &[(&str, &str)]) -> Place {
        let place = self.replicas.len();
        let log = self.directory.path().join(format!("replica-{place}.log"));
        let config = self.directory.path().join(format!("replica-{place}.toml"));
        std::fs::write(&config, self.settings.text(place)).unwrap();
        std::fs::create_dir(self.fault_points(place)).unwrap();
        // The kernel kills it when the thread that runs the test ends, for whatever reason.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.program).arg("run").arg("--config").arg(config);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OUTBOX_")) {
            command.env_remove(name);
        }
        command.env(fault_point::DIRECTORY, self.fault_points(place));
        command.env_remove("RUST_LOG").envs(environment.iter().copied()).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap()).kill_on_drop(true);
        let child = command.spawn().expect("`setpriv` of util-linux starts");
        self.replicas.push(Replica { child: Some(child), log });
        place
    }

    /// Replicas that are added from now on run this program.
    pub fn upgrade(&mut self, program: &Path) {
        program.clone_into(&mut self.program);
    }

    /// The replicas that nobody has stopped.
    pub fn running(&self) -> Vec<Place> {
        (0..self.replicas.len()).filter(|place| self.replicas[*place].child.is_some()).collect()
    }

    /// Waits until the newest term is that of a running replica which has said that it began, and not that it ended.
    pub async fn poller(&self, tables: &Tables) -> Poller {
        let probe = async || {
            let newest = tables.newest_term().await;
            let place = self.leader_of(&newest.holder)?;
            Some(Poller { place, epoch: newest.epoch })
        };
        eventually("a running replica polls", PATIENCE, probe).await
    }

    /// Each holder of a term, and which replica it was, as the logs tell.
    pub fn holders(&self) -> HashMap<String, Place> {
        let of = |place: Place| self.lines(place, "term.began").into_iter().map(move |line| (holder(&line), place));
        (0..self.replicas.len()).flat_map(of).collect()
    }

    /// Every term of every replica, as the logs tell.
    pub fn led(&self) -> Vec<Led> {
        (0..self.replicas.len()).flat_map(|place| self.led_by(place)).collect()
    }

    /// Every term of a replica, as its log tells.
    pub fn led_by(&self, place: Place) -> Vec<Led> {
        let ended = self.lines(place, "term.ended");
        let led = |line: Value| {
            let end = ended.iter().find(|ended| ended["holder"] == line["holder"]);
            Led { place, holder: holder(&line), began: moment(&line), ended: end.map(moment) }
        };
        self.lines(place, "term.began").into_iter().map(led).collect()
    }

    /// What a replica logged under this name, as `term.began`.
    pub fn lines(&self, place: Place, name: &str) -> Vec<Value> {
        self.log(place).into_iter().filter(|line| line["message"] == name).collect()
    }

    /// What a replica logged.
    pub fn log(&self, place: Place) -> Vec<Value> {
        let log = std::fs::read_to_string(&self.replicas[place].log).unwrap();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The process of a running replica.
    pub fn pid(&self, place: Place) -> Pid {
        let id = self.replicas[place].child.as_ref().and_then(Child::id).expect("the replica runs");
        Pid::from_raw(id.cast_signed()).unwrap()
    }

    /// The address at which a replica answers for itself.
    pub fn listener(&self, place: Place) -> String {
        let line = self.lines(place, "listening").into_iter().next().expect("a replica listens before it polls");
        line["address"].as_str().expect("an address").to_owned()
    }

    /// The most memory that a running replica has used so far, in bytes.
    pub fn peak_memory(&self, place: Place) -> u64 {
        let pid = self.pid(place).as_raw_nonzero();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a process has a peak");
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Sends a signal to a running replica: `STOP` freezes it, `CONT` thaws it.
    pub fn signal(&self, place: Place, signal: Signal) {
        kill_process(self.pid(place), signal).unwrap();
    }

    /// `kill -9`, and waits for its end.
    pub async fn kill(&mut self, place: Place) {
        self.signal(place, Signal::KILL);
        self.ended(place).await;
    }

    /// SIGTERM, and waits for its end.
    pub async fn stop(&mut self, place: Place) -> ExitStatus {
        self.signal(place, Signal::TERM);
        self.ended(place).await
    }

    /// [`Self::stop`] for all that run, which must end in good order.
    pub async fn stop_all(&mut self) {
        for place in self.running() {
            self.signal(place, Signal::TERM);
        }
        for place in self.running() {
            let status = self.ended(place).await;
            assert!(status.success(), "replica {place} ended with {status}");
        }
    }

    /// Waits for the end of a replica.
    pub async fn ended(&mut self, place: Place) -> ExitStatus {
        let mut child = self.replicas[place].child.take().expect("the replica runs");
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
        ended.unwrap_or_else(|_| panic!("replica {place} does not end")).unwrap()
    }

    fn leader_of(&self, holder: &str) -> Option<Place> {
        let tells = |place: &Place, name: &str| self.lines(*place, name).iter().any(|line| line["holder"] == holder);
        self.running().into_iter().find(|place| tells(place, "term.began") && !tells(place, "term.ended"))
    }
}

fn holder(line: &Value) -> String {
    line["holder"].as_str().expect("a term has a holder").to_owned()
}

fn moment(line: &Value) -> SystemTime {
    let written = line["timestamp"].as_str().expect("a line has a time");
    humantime::parse_rfc3339(written).expect("a time of RFC 3339")
}

impl Drop for Fleet {
    /// Where the test fails, says how each replica's log ends.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for (place, replica) in self.replicas.iter().enumerate() {
            let log = std::fs::read_to_string(&replica.log).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("replica {place}:\n{}\n", lines[lines.len().saturating_sub(12)..].join("\n"));
        }
    }
}
