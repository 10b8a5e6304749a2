//! Three replicas, each a process of this program. None outlives the demo, also after an error.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The names of the replicas in the demo.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// The longest time that a replica may take to stop after SIGTERM: its drain and a little more.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How long a replica may take until it listens.
const LISTENS: Duration = Duration::from_secs(30);

/// The replica of each holder of a term, as the logs name them.
type Holders = Arc<Mutex<HashMap<String, &'static str>>>;

/// The running replicas.
#[derive(Debug)]
pub(super) struct Fleet {
    replicas: Vec<Replica>,
    holders: Holders,
    /// Where the first replica listens that says so.
    address: watch::Sender<Option<String>>,
}

#[derive(Debug)]
struct Replica {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// The task that writes the log. It ends when the whole log is in the file.
    logging: JoinHandle<()>,
}

/// A log line: at the beginning of a term it names the holder, and once the replica listens its address.
#[derive(Deserialize)]
struct LogLine {
    message: String,
    holder: Option<String>,
    address: Option<String>,
}

impl Fleet {
    /// Starts the replicas with the settings in `config`; each logs to a file in `directory`.
    pub(super) async fn start(config: &Path, directory: &Path) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let (holders, address) = (Holders::default(), watch::Sender::new(None));
        let mut fleet = Self { replicas: Vec::new(), holders, address };
        for name in NAMES {
            let log = directory.join(format!("replica-{name}.log"));
            let mut child = command(&program, config)
                .spawn()
                .with_context(|| format!("replica {name} cannot be started: {}", program.display()))?;
            let stderr = child.stderr.take().context("a replica was started without a log")?;
            let file = File::create(&log).await.with_context(|| format!("cannot write {}", log.display()))?;
            let logging = tokio::spawn(keep_log(stderr, file, name, (fleet.holders.clone(), fleet.address.clone())));
            fleet.replicas.push(Replica { name, child, log, logging });
        }
        Ok(fleet)
    }

    /// The name and the process id of each replica, for people.
    pub(super) fn roll(&self) -> String {
        let names = self.replicas.iter().map(|replica| format!("{} (pid {})", replica.name, replica.pid()));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Where the page of a replica is, once one listens.
    pub(super) async fn page(&self) -> anyhow::Result<String> {
        let mut address = self.address.subscribe();
        let listens = tokio::time::timeout(LISTENS, address.wait_for(Option::is_some)).await;
        let address = listens.context("no replica listens; their logs say why")??.clone().unwrap_or_default();
        Ok(format!("http://{address}/"))
    }

    /// The replica that is the holder of a term. None until its log has named the term.
    pub(super) fn name_of(&self, holder: &str) -> Option<&'static str> {
        self.holders.lock().get(holder).copied()
    }

    /// An error where a replica has ended by itself.
    pub(super) async fn check(&mut self) -> anyhow::Result<()> {
        for replica in &mut self.replicas {
            if let Some(status) = replica.child.try_wait()? {
                (&mut replica.logging).await?;
                bail!("replica {} ended by itself ({status}); its log: {}", replica.name, replica.log.display());
            }
        }
        Ok(())
    }

    /// Kills the replica `name` with `kill -9`. Returns its process id.
    pub(super) async fn kill(&mut self, name: &str) -> anyhow::Result<u32> {
        let place = self.replicas.iter().position(|replica| replica.name == name);
        let mut killed = self.replicas.swap_remove(place.context("the replica is not running")?);
        let pid = killed.pid();
        killed.child.kill().await.context("the poller cannot be killed")?;
        killed.logging.await?;
        Ok(pid)
    }

    /// SIGTERM to all that are left; each finishes what it has in flight.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        for replica in &self.replicas {
            replica.terminate().with_context(|| format!("replica {} cannot be stopped", replica.name))?;
        }
        for mut replica in self.replicas.drain(..) {
            let log = replica.log.display();
            match tokio::time::timeout(STOP_LIMIT, replica.child.wait()).await {
                Ok(Ok(status)) if status.success() => replica.logging.await?,
                Ok(ended) => bail!("replica {} did not stop in order ({}); its log: {log}", replica.name, ended?),
                Err(_) => bail!("replica {} did not stop within {STOP_LIMIT:?}; its log: {log}", replica.name),
            }
        }
        Ok(())
    }
}

impl Replica {
    fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    fn terminate(&self) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())).context("it has ended")?;
        Ok(kill_process(pid, Signal::TERM)?)
    }
}

fn command(program: &Path, config: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--config").arg(config).arg("run");
    // Environment settings of the user who runs the demo must not lead the replicas to another database.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OUTBOX_")) {
        command.env_remove(name);
    }
    // The log lines about terms have the level info.
    command.env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Copies a replica's log to its file, and notes which terms the replica held and where one listens.
async fn keep_log(
    stderr: ChildStderr,
    mut file: File,
    name: &'static str,
    (holders, listens): (Holders, watch::Sender<Option<String>>),
) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(mut line)) = lines.next_line().await {
        match serde_json::from_str::<LogLine>(&line) {
            Ok(LogLine { message, holder: Some(holder), .. }) if message == "term.began" => {
                holders.lock().insert(holder, name);
            }
            Ok(LogLine { message, address: Some(address), .. }) if message == "listening" => {
                listens.send_if_modified(|known| known.is_none() && known.replace(address).is_none());
            }
            _ => {}
        }
        line.push('\n');
        // A full disk shows in the database too.
        let _ = file.write_all(line.as_bytes()).await;
    }
    let _ = file.flush().await;
}
