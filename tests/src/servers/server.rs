//! A server process that a test can stop, freeze and kill.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use uuid::Uuid;

pub use super::supervisor::Commands;
use super::supervisor::Supervisor;
use crate::eventually;

/// How long a server may take until it answers: the machine may be busy with other tests.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// Ports to choose from: below the ephemeral range of Linux (32768 to 60999). A client that reconnects to a port of
/// that range while the server is down may be given the very port as its own, and then the server cannot return.
const PORTS: std::ops::Range<u16> = 10_240..32_768;

/// One kind of server.
pub trait Kind: std::fmt::Debug + Send + Sync + 'static {
    /// For the names of directories and for messages.
    const NAME: &'static str;
    /// Asks it to end in good order.
    const STOP: Signal;

    /// What is run, in `directory`.
    fn commands(directory: &Path, port: u16) -> Commands;

    /// Connects and disconnects; an error says why the server does not answer.
    fn ask(port: u16) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// A running server. It ends, and its directory is removed, when this is dropped and when the test process ends.
#[derive(Debug)]
pub struct Server<K> {
    supervisor: Arc<Supervisor>,
    port: u16,
    /// 0 while it is down.
    pid: AtomicI32,
    kind: std::marker::PhantomData<K>,
}

impl<K: Kind> Server<K> {
    /// Initialises a server in a new directory, starts it and waits until it answers.
    pub async fn start() -> Self {
        Self::start_as(K::commands).await
    }

    /// [`Self::start`] with other commands than those of its kind.
    pub(super) async fn start_as(commands: impl FnOnce(&Path, u16) -> Commands + Send + 'static) -> Self {
        let port = free_port();
        let supervisor = blocking(move || {
            let supervisor = Supervisor::of_server(K::NAME, |directory| commands(directory, port));
            let status = supervisor.order("initialise");
            assert_eq!(status, "0", "{} could not be initialised:\n{}", K::NAME, supervisor.log_tail());
            supervisor
        });
        let server = Self {
            supervisor: Arc::new(supervisor.await),
            port,
            pid: AtomicI32::new(0),
            kind: std::marker::PhantomData,
        };
        server.launch().await;
        server
    }

    /// On 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its files are.
    pub(super) fn directory(&self) -> &Path {
        self.supervisor.directory()
    }

    /// Of the parent process.
    ///
    /// # Panics
    /// While it is down.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.pid.load(Ordering::SeqCst)).unwrap_or_else(|| panic!("{} is not running", K::NAME))
    }

    /// Ends it in good order and waits for its end.
    pub async fn stop(&self) {
        kill_process(self.pid(), K::STOP).unwrap();
        self.ended().await;
    }

    /// Ends it with `SIGKILL`, every process of it, and waits for their end: a PostgreSQL refuses to start as long as
    /// a process of the last one has its memory.
    pub async fn kill(&self) {
        let killed = self.signal_all(Signal::KILL);
        self.ended().await;
        let gone = async || (!killed.iter().any(|child| is_alive(child.as_raw_nonzero().get()))).then_some(());
        eventually("the processes of a killed server are gone", START_TIMEOUT, gone).await;
    }

    /// Stops every process of it where it stands (`SIGSTOP`): connections stay open, nothing answers.
    pub fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Undoes [`Self::freeze`].
    pub fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    /// Starts it on the same port with the same data, stopping it first where it still runs.
    pub async fn restart(&self) {
        if self.pid.load(Ordering::SeqCst) != 0 {
            self.stop().await;
        }
        self.launch().await;
    }

    async fn launch(&self) {
        let pid: i32 = self.order("start").await.parse().expect("a process id");
        self.pid.store(pid, Ordering::SeqCst);
        let began = Instant::now();
        while let Some(why) = Self::silent(self.port).await {
            let waited = began.elapsed();
            assert!(
                is_alive(pid) && waited < START_TIMEOUT,
                "{} (process {pid}, port {}) does not answer after {waited:?}: {why}\n{}",
                K::NAME,
                self.port,
                self.supervisor.log_tail()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Why it does not answer, if it does not.
    async fn silent(port: u16) -> Option<String> {
        let answer = tokio::time::timeout(Duration::from_secs(5), K::ask(port)).await;
        answer.map_or_else(|_| Some("no answer".to_owned()), |answer| answer.err().map(|error| format!("{error:#}")))
    }

    async fn ended(&self) {
        self.order("wait").await;
        self.pid.store(0, Ordering::SeqCst);
    }

    async fn order(&self, order: &'static str) -> String {
        let supervisor = Arc::clone(&self.supervisor);
        blocking(move || supervisor.order(order)).await
    }

    /// The children that were signalled. The parent stands still meanwhile: it makes none beside them.
    fn signal_all(&self, signal: Signal) -> Vec<Pid> {
        let parent = self.pid();
        kill_process(parent, Signal::STOP).unwrap();
        let children = children(parent.as_raw_nonzero().get());
        for child in &children {
            // It may have ended meanwhile.
            let _ = kill_process(*child, signal);
        }
        kill_process(parent, signal).unwrap();
        children
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}

/// A port of the loopback address that nobody listens on, and that this process has not given to another server.
pub(super) fn free_port() -> u16 {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock();
    loop {
        let (random, _) = Uuid::new_v4().as_u64_pair();
        let port = PORTS.start + u16::try_from(random % PORTS.len() as u64).unwrap();
        if !given.contains(&port) && std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            given.push(port);
            return port;
        }
    }
}

/// The fields of `/proc/PID/stat` after the command's name: state, parent, …
fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// The state of a process as `/proc` has it: `T` is stopped, `Z` a zombie.
pub(crate) fn process_state(pid: i32) -> Option<String> {
    Some(stat(pid)?.swap_remove(0))
}

/// Whether the process runs: a zombie does not.
fn is_alive(pid: i32) -> bool {
    process_state(pid).is_some_and(|state| state != "Z")
}

/// PostgreSQL's backends are sessions of their own: no process group reaches them.
fn children(parent: i32) -> Vec<Pid> {
    let parent = parent.to_string();
    let entries = std::fs::read_dir("/proc").expect("/proc can be read").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|fields| fields[1] == parent)).filter_map(Pid::from_raw).collect()
}
