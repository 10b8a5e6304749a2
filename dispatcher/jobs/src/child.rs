//! The command of a job, in a process group of its own, with everything that it starts.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// How often a command that was killed is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long what was read last is waited for, once the command has ended: something that it left behind may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The names of a command's environment.
pub(crate) const JOB: &str = "OUTBOX_JOB";
pub(crate) const RUN: &str = "OUTBOX_JOB_RUN";
pub(crate) const TOKEN: &str = "OUTBOX_JOB_TOKEN";
pub(crate) const LAST_SUCCESS: &str = "OUTBOX_JOB_LAST_SUCCESS";

/// The last bytes that a command wrote.
type Tail = Arc<Mutex<Vec<u8>>>;

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) group: Pid,
    tail: Option<Tail>,
    copies: JoinSet<()>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) tail: Option<String>,
}

impl Exit {
    /// As shells say it: the code, or 128 and the signal.
    pub(crate) fn as_code(&self) -> u8 {
        let code = self.code.or_else(|| self.signal.map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(u8::MAX)
    }
}

/// The exit code of a command that could not be started, as shells have it.
pub(crate) fn not_started(error: &io::Error) -> i32 {
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Has this process inherit what a command leaves behind, so that it is found and killed. Only Linux can.
pub(crate) fn inherit_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "job.no_subreaper: what a command puts into a group of its own is not found");
    }
}

impl Running {
    /// Starts a command. Its last so many bytes are kept, if any; then it writes through pipes.
    pub(crate) fn start(
        command: &[OsString],
        environment: Vec<(&'static str, String)>,
        keep: usize,
    ) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(environment).process_group(0);
        if keep > 0 {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?;
        let (tail, mut copies) = ((keep > 0).then(Tail::default), JoinSet::new());
        if let Some(tail) = &tail {
            if let Some(from) = child.stdout.take() {
                copies.spawn(copy(from, tokio::io::stdout(), tail.clone(), keep));
            }
            if let Some(from) = child.stderr.take() {
                copies.spawn(copy(from, tokio::io::stderr(), tail.clone(), keep));
            }
        }
        Ok(Self { child, group, tail, copies })
    }

    /// Waits for the end of the command itself.
    ///
    /// # Cancel safety
    /// Safe: it can be asked again.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Sends a signal to the command and all that is in its group.
    pub(crate) fn signal(&self, signal: Signal) {
        // Nobody is left of it where this fails.
        let _ = kill_process_group(self.group, signal);
    }

    /// Kills what the command left behind, and waits until nothing is.
    pub(crate) async fn leave_nothing(mut self, status: ExitStatus, keeper: Option<u32>) -> Exit {
        loop {
            self.signal(Signal::KILL);
            let orphans = orphans(keeper);
            for orphan in &orphans {
                let _ = kill_process(*orphan, Signal::KILL);
                reap(*orphan);
            }
            if orphans.is_empty() && kill_process_group(self.group, Signal::KILL).is_err() {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let copied = async { while self.copies.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, copied).await;
        let tail = match self.tail {
            Some(tail) => Some(String::from_utf8_lossy(&tail.lock().await).into_owned()),
            None => None,
        };
        Exit { code: status.code(), signal: status.signal(), tail }
    }
}

/// Kills what is left of a run whose guard is dead: its group, where that is known, and all processes that have the run in their
/// environment, which only Linux shows. The guard may have died before it told of the group, even before the command was there.
pub(crate) async fn kill_without_guard(group: Option<Pid>, job: &str, run: i64) {
    const LOOKS: usize = 20;
    let mut found_none = 0;
    while found_none < LOOKS {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let left = of_run(job, run);
        found_none = if left.is_empty() { found_none + 1 } else { 0 };
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The processes that have this run in their environment, and live.
#[cfg(target_os = "linux")]
fn of_run(job: &str, run: i64) -> Vec<Pid> {
    let has = |environment: &[u8], name: &str, value: &str| {
        let wanted = format!("{name}={value}");
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let is_of_run = |process: &std::path::Path| {
        // That of a zombie is empty.
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        has(&environment, JOB, job) && has(&environment, RUN, &run.to_string())
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let of_run = processes.flatten().filter(|process| is_of_run(&process.path()));
    of_run.filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(not(target_os = "linux"))]
fn of_run(_: &str, _: i64) -> Vec<Pid> {
    Vec::new()
}

/// Takes the exit of a process that this one has inherited.
fn reap(orphan: Pid) {
    let _ = rustix::process::waitpid(Some(orphan), rustix::process::WaitOptions::NOHANG);
}

/// The children of this process but for the keeper: what a command left behind, in whatever group.
#[cfg(target_os = "linux")]
fn orphans(keeper: Option<u32>) -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let children = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<_> = children.collect();
    let ids = children.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse::<i32>().ok());
    ids.filter(|id| keeper.is_none_or(|keeper| keeper.cast_signed() != *id)).filter_map(Pid::from_raw).collect()
}

#[cfg(not(target_os = "linux"))]
fn orphans(_: Option<u32>) -> Vec<Pid> {
    Vec::new()
}

/// Passes on what a command writes, and keeps the last of it.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, tail: Tail, keep: usize) {
    let mut some = vec![0; 8 * 1_024];
    while let Ok(read @ 1..) = from.read(&mut some).await {
        // Who reads it may be gone. The command goes on all the same.
        let _ = to.write_all(&some[..read]).await;
        let _ = to.flush().await;
        let mut tail = tail.lock().await;
        tail.extend_from_slice(&some[..read]);
        let over = tail.len().saturating_sub(keep);
        tail.drain(..over);
    }
}
