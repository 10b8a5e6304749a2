//! The command of a job, in a process group of its own, with everything that it starts.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// How often a command that was killed is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long what a command wrote last may take to be passed on, once nothing of it is left.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How long what was killed is waited for without a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// In the environment of a command: who holds its seat, which no other run has.
pub(crate) const HOLDER: &str = "OUTBOX_JOB_HOLDER";

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

/// The end of a command: its exit code or signal, and the last that it wrote.
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

    /// Tells the command to end. What was stopped hears nothing else before it goes on.
    pub(crate) fn tell(&self, signal: Signal) {
        self.signal(signal);
        self.signal(Signal::CONT);
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

    /// Takes the exits of what the command has left to this process.
    pub(crate) fn reap(&self, strangers: &[Pid]) {
        orphans(strangers).into_iter().filter(|orphan| *orphan != self.group).for_each(reap);
    }

    /// Kills what the command left behind, and waits until nothing is.
    pub(crate) async fn leave_nothing(mut self, status: ExitStatus, keep: usize, strangers: &[Pid]) -> Exit {
        let (began, mut warned) = (Instant::now(), false);
        loop {
            let group_is_gone = kill_process_group(self.group, Signal::KILL) == Err(Errno::SRCH);
            let orphans = orphans(strangers);
            for orphan in &orphans {
                let _ = kill_process(*orphan, Signal::KILL);
                reap(*orphan);
            }
            if orphans.is_empty() && group_is_gone {
                break;
            }
            if !warned && began.elapsed() > PATIENCE {
                warned = true;
                tracing::warn!(
                    group = self.group.as_raw_nonzero(),
                    "job.not_killed: something of the command cannot be killed, and is waited for"
                );
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let copied = async { while self.copies.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, copied).await;
        let tail = match self.tail {
            Some(tail) => Some(last_of(&String::from_utf8_lossy(&tail.lock().await), keep)),
            None => None,
        };
        Exit { code: status.code(), signal: status.signal(), tail }
    }
}

/// The last so many bytes of a text, as every database takes it.
fn last_of(text: &str, keep: usize) -> String {
    let text = text.replace('\0', "\u{fffd}");
    let from = (text.len().saturating_sub(keep)..=text.len()).find(|at| text.is_char_boundary(*at));
    text[from.unwrap_or_default()..].to_owned()
}

/// Kills what is left of a run whose guard ends nothing any more: its group, where that is known, and all processes that have the
/// holder in their environment, which only Linux shows. The guard may have died before it told of the group.
pub(crate) async fn kill_without_guard(group: Option<Pid>, holder: &str) {
    const LOOKS: usize = 20;
    let mut found_none = 0;
    while found_none < LOOKS {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let left = of_holder(holder);
        found_none = if left.is_empty() { found_none + 1 } else { 0 };
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The processes that have this holder in their environment, and live.
#[cfg(target_os = "linux")]
fn of_holder(holder: &str) -> Vec<Pid> {
    let wanted = format!("{HOLDER}={holder}");
    // That of a zombie is empty.
    let has = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let found = processes.flatten().filter(|process| has(&process.path()));
    found.filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(not(target_os = "linux"))]
fn of_holder(_: &str) -> Vec<Pid> {
    Vec::new()
}

/// Takes the exit of a process that this one has inherited.
fn reap(orphan: Pid) {
    let _ = rustix::process::waitpid(Some(orphan), rustix::process::WaitOptions::NOHANG);
}

/// The children of this process but for these.
#[cfg(target_os = "linux")]
pub(crate) fn orphans(strangers: &[Pid]) -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let children = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<_> = children.collect();
    let ids = children.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse::<i32>().ok());
    ids.filter_map(Pid::from_raw).filter(|id| !strangers.contains(id)).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn orphans(_: &[Pid]) -> Vec<Pid> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_text_fits_and_has_no_zero() {
        assert_eq!(last_of("abc", 2), "bc");
        assert_eq!(last_of("aéé", 3), "é");
        assert_eq!(last_of("a\0", 8), "a\u{fffd}");
        assert!(last_of(&"\0".repeat(10), 10).len() <= 10);
        assert_eq!(last_of("", 5), "");
    }
}
