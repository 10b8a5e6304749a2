//! The process that outlives a test process for a moment, to stop its servers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use parking_lot::Mutex;
use uuid::Uuid;

/// One shell that keeps a directory and, mostly, the server that lives in it: see `supervise.sh`.
#[derive(Debug)]
pub(crate) struct Supervisor {
    directory: PathBuf,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    _shell: Child,
}

/// What a supervisor runs: shell commands, in the directory that it makes.
#[derive(Debug)]
pub struct Commands {
    /// Run once, before the first start.
    pub initialise: String,
    /// The server, in the foreground.
    pub server: String,
    /// Ends the server at once, leaving nothing behind: no process, no shared memory.
    pub end_signal: &'static str,
}

impl Supervisor {
    /// Makes a directory for a server, which is run by somebody unprivileged. `commands` is told its path.
    pub(crate) fn of_server(name: &str, commands: impl FnOnce(&Path) -> Commands) -> Self {
        let directory = fresh_path(name);
        let commands = commands(&directory);
        Self::spawn(directory, &commands, unprivileged_user())
    }

    /// Makes a directory for the tests themselves.
    pub(crate) fn of_directory() -> Self {
        let nothing = Commands { initialise: String::new(), server: String::new(), end_signal: "KILL" };
        Self::spawn(fresh_path("files"), &nothing, None)
    }

    fn spawn(directory: PathBuf, commands: &Commands, user: Option<User>) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", include_str!("supervise.sh"), "supervise.sh"]).arg(&directory);
        shell.args([commands.end_signal, &commands.initialise, &commands.server]);
        // A Ctrl-C at the terminal is for the tests: this process still has its work to do.
        shell.process_group(0).current_dir("/").env("LC_ALL", "C").env("TZ", "UTC");
        if let Some(user) = user {
            shell.uid(user.id).gid(user.group);
        }
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().expect("`sh` starts");
        let orders = shell.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(shell.stdout.take().expect("stdout is piped"));
        let supervisor = Self { directory, pipes: Mutex::new((orders, answers)), _shell: shell };
        let made = supervisor.pipes.lock().1.read_line(&mut String::new()).is_ok_and(|length| length > 0);
        assert!(made, "{} cannot be made", supervisor.directory.display());
        supervisor
    }

    /// Gives an order of `supervise.sh` and waits for its answer. Blocks.
    pub(crate) fn order(&self, order: &str) -> String {
        let (orders, answers) = &mut *self.pipes.lock();
        writeln!(orders, "{order}").expect("the supervisor lives");
        let mut line = String::new();
        answers.read_line(&mut line).expect("the supervisor answers");
        line.trim_end().to_owned()
    }

    /// Removed at the end.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The end of what the server has said, for the message of a failure.
    pub(crate) fn log_tail(&self) -> String {
        let log = std::fs::read(self.directory.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

fn fresh_path(name: &str) -> PathBuf {
    let random = Uuid::new_v4().simple().to_string();
    std::env::temp_dir().join(format!("outbox-test-{name}-{}", &random[..12]))
}

struct User {
    id: u32,
    group: u32,
}

/// PostgreSQL refuses to run as root and MariaDB complains: `nobody` runs the servers then.
fn unprivileged_user() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let passwd = std::fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
    let nobody = passwd.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        (fields[0] == "nobody").then(|| User { id: fields[2].parse().unwrap(), group: fields[3].parse().unwrap() })
    });
    Some(nobody.expect("there is a user `nobody`, as whom the servers run when the tests run as root"))
}
