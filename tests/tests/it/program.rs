//! The program `outbox`, run as people run it, with settings of a test's own.

use std::fs::File;
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use outbox_tests::outbox_binary;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Far more than anything takes: the machine may be busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Settings of one channel, `http`, that reaches this machine.
pub(crate) const HTTP: &str = "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";

/// Where it runs: a directory with an `outbox.toml`, and an environment without settings.
#[derive(Debug)]
pub(crate) struct Program {
    home: TempDir,
    database: String,
}

/// How a view of the whole terminal is left.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leave {
    /// A line is typed.
    Line(&'static str),
    /// A key is pressed.
    Key(u8),
    /// The process gets SIGTERM.
    Terminate,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// What it printed, where it did what was asked.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The same as JSON.
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).unwrap()
    }

    /// What it says, where it could not do what was asked.
    pub(crate) fn failed(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        self.stderr
    }

    /// What it says, where it was not asked rightly.
    pub(crate) fn misused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        self.stderr
    }
}

impl Program {
    /// `settings` is TOML, without the sections `database` and `admin`.
    pub(crate) fn new(database: &str, settings: &str) -> Self {
        let program = Self { home: tempfile::tempdir().unwrap(), database: database.to_owned() };
        program.set(settings);
        program
    }

    /// Writes other settings, which a replica that runs does not read by itself.
    pub(crate) fn set(&self, settings: &str) {
        self.write("outbox.toml", &format!("[admin]\nlisten = \"127.0.0.1:0\"\n{settings}"));
    }

    /// Writes a file into the directory that it runs in, and gives its path. A replica that reads it meanwhile finds what was
    /// there or what is, and never an empty file.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let (path, new) = (self.path(name), self.path(&format!("{name}.new")));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, &path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The path of a file in that directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The URL of its database.
    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(outbox_binary());
        command.env_clear().env("OUTBOX_DATABASE__URL", &self.database).current_dir(self.home.path());
        command.args(arguments).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        end(self.command(arguments).spawn().unwrap()).await
    }

    /// Runs it with `input` on its standard input.
    pub(crate) async fn feed(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        end(child).await
    }

    /// Runs it on a terminal of so many columns, and gives what the terminal got.
    pub(crate) async fn on_terminal(&self, columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let (terminal, far) = pseudo_terminal(columns);
        let ends = || Stdio::from(far.try_clone().unwrap());
        let mut command = self.command(arguments);
        command.env("TERM", "xterm-256color").envs(environment.iter().copied());
        let mut child = command.stdin(ends()).stdout(ends()).stderr(ends()).spawn().unwrap();
        // The command holds the far end until it is dropped, and the terminal would have no end.
        drop((command, far));
        let read = tokio::task::spawn_blocking(move || all_of(terminal));
        let shown = timeout(PATIENCE, read).await.unwrap().unwrap();
        child.wait().await.unwrap();
        shown
    }

    /// Runs a view of the whole terminal until it shows `text`, and has it leave. Gives what the terminal got, after it was found
    /// as it was before.
    pub(crate) async fn leaving(&self, text: &'static str, arguments: &[&str], leave: Leave) -> String {
        let (terminal, far) = pseudo_terminal(120);
        let before = tcgetattr(&far).unwrap().local_modes;
        let ends = || Stdio::from(far.try_clone().unwrap());
        let mut command = self.command(arguments);
        command.env("TERM", "xterm-256color").stdin(ends()).stdout(ends()).stderr(ends());
        let mut child = command.spawn().unwrap();
        let process = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        drop((command, far));
        let read = tokio::task::spawn_blocking(move || {
            let (mut terminal, mut read, mut some, mut told) = (File::from(terminal), Vec::new(), [0; 4096], false);
            while let Ok(count @ 1..) = terminal.read(&mut some) {
                read.extend_from_slice(&some[..count]);
                if !told && String::from_utf8_lossy(&read).contains(text) {
                    told = true;
                    match leave {
                        Leave::Key(key) => terminal.write_all(&[key]).unwrap(),
                        Leave::Line(line) => terminal.write_all(line.as_bytes()).unwrap(),
                        Leave::Terminate => kill_process(process, Signal::TERM).unwrap(),
                    }
                }
            }
            assert_eq!(tcgetattr(&terminal).unwrap().local_modes, before, "{}", String::from_utf8_lossy(&read));
            String::from_utf8(read).unwrap()
        });
        let shown = timeout(PATIENCE, read).await.unwrap().unwrap();
        assert!(child.wait().await.unwrap().success(), "{shown}");
        shown
    }

    /// Delivers what is due, and gives the log.
    pub(crate) async fn deliver(&self) -> String {
        let ran = self.run(&["run", "--until-empty"]).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
        ran.stderr
    }

    /// Starts a replica that runs until it is told to stop. It reads its settings as it starts: keep the program.
    pub(crate) fn start(&self) -> Replica {
        let mut child = self.command(&["run"]).spawn().unwrap();
        let log = read_on(child.stderr.take().unwrap());
        Replica { child, log, home: None }
    }

    /// The same, and the replica keeps the program.
    pub(crate) fn start_for_good(self) -> Replica {
        let mut replica = self.start();
        replica.home = Some(self.home);
        replica
    }
}

/// A terminal of so many columns, and the end that a program gets.
fn pseudo_terminal(columns: u16) -> (OwnedFd, OwnedFd) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let far = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&far, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (terminal, far.into())
}

/// What comes out of a terminal until no program holds its far end. That end is an error (EIO) on Linux.
fn all_of(terminal: OwnedFd) -> String {
    let (mut terminal, mut read) = (File::from(terminal), Vec::new());
    let _ = terminal.read_to_end(&mut read);
    String::from_utf8(read).unwrap().replace("\r\n", "\n")
}

async fn end(child: Child) -> Ran {
    let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    Ran { code: output.status.code(), stdout, stderr }
}

/// The lines of a log, read as they come: a process whose log nobody reads stands still once the pipe is full.
fn read_on(log: ChildStderr) -> mpsc::UnboundedReceiver<String> {
    let (into, lines) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut log = BufReader::new(log).lines();
        while let Some(line) = log.next_line().await.unwrap() {
            let _ = into.send(line);
        }
    });
    lines
}

/// `outbox run`. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Replica {
    child: Child,
    log: mpsc::UnboundedReceiver<String>,
    /// Where it runs, as long as that is its own.
    home: Option<TempDir>,
}

impl Replica {
    /// The next line of its log that holds `text`.
    pub(crate) async fn says(&mut self, text: &str) -> String {
        let mut said = String::new();
        let found = async {
            while let Some(line) = self.log.recv().await {
                if line.contains(text) {
                    return Some(line);
                }
                said += &line;
                said.push('\n');
            }
            None
        };
        let found = timeout(PATIENCE, found).await.ok().flatten();
        found.unwrap_or_else(|| panic!("it does not say {text:?}:\n{said}"))
    }

    /// Where its listener is, by its log.
    pub(crate) async fn listener(&mut self) -> String {
        let line = self.says("listening").await;
        let (_, page) = line.split_once("page=").unwrap();
        page.trim().trim_end_matches('/').to_owned()
    }

    /// Has it read its settings anew.
    pub(crate) fn hang_up(&self) {
        kill_process(self.pid(), Signal::HUP).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap()
    }

    /// Sends a signal and waits for the end: the exit status, and the rest of the log.
    pub(crate) async fn stop(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(self.pid(), signal).unwrap();
        let mut rest = String::new();
        while let Some(line) = timeout(PATIENCE, self.log.recv()).await.unwrap() {
            rest += &line;
            rest.push('\n');
        }
        (self.child.wait().await.unwrap().code(), rest)
    }
}

impl Drop for Replica {
    /// A test that fails shows what its replica has said last.
    fn drop(&mut self) {
        const LINES: usize = 30;
        if std::thread::panicking() {
            let said: Vec<String> = std::iter::from_fn(|| self.log.try_recv().ok()).collect();
            let last = &said[said.len().saturating_sub(LINES)..];
            eprintln!("the end of what a replica said that nobody waited for:\n{}", last.join("\n"));
        }
    }
}
