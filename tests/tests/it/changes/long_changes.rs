//! Changes of many dead letters: what is said while they go on, how they are stopped, and that an edit goes in batches.

use std::process::Stdio;
use std::time::Duration;

use outbox_console::text::grouped;
use outbox_desk::{Author, Change, DeadLetterFilter, OperationStatus, Operations, Ordered, Selection};
use outbox_store::{Database, Dialect};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Executor, MySqlTransaction, PgTransaction, SqliteTransaction};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

/// Rows of one statement: no database lets a statement count much further by itself.
const ROWS: u32 = 900;

/// Makes this many times [`ROWS`] dead letters of one cause.
pub(crate) async fn dead_letters(outbox: &Outbox, times: u32) {
    let now = match outbox.dialect() {
        Dialect::Postgres => "now()",
        Dialect::MySql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
    };
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})");
    let into = "INSERT INTO outbox (channel, target, payload, status, dead_reason, revision, attempts, last_status_code, \
                error_hash, first_attempt_at, finished_at)";
    let select = format!(
        "SELECT 'http', 'https://shop.example/hook', '{{}}', 'DEAD', 'permanent', 1, 1, 404, 'aaaaaaaaaaaa', {now}, {now} FROM n"
    );
    let insert = match outbox.dialect() {
        Dialect::MySql => format!("{into} {numbers} {select}"),
        Dialect::Postgres | Dialect::Sqlite => format!("{numbers} {into} {select}"),
    };
    for _ in 0..times {
        outbox.sql(&insert).await;
    }
}

pub(crate) async fn count(outbox: &Outbox, what: &str) -> i64 {
    outbox.number(&format!("SELECT count(*) FROM {what}")).await
}

#[tokio::test]
async fn an_edit_of_many_goes_in_batches_under_one_number_and_a_second_one_changes_nothing() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let change = ["dead-letters", "edit", "--reason", "permanent", "--move-target"];
        let moved = [&change[..], &["https://shop.example/=https://new.example/", "--yes", "--json"]].concat();
        let ran = program.run(&moved).await;
        assert!(ran.stderr.contains(": 900 messages; the audit keeps what is overwritten"), "{}", ran.stderr);
        let done = ran.json();
        assert_eq!((&done["edited"], &done["unchanged"], &done["meant"]), (&900.into(), &0.into(), &900.into()));
        let part = format!("outbox_audit WHERE action = 'edit' AND part_of = {}", done["audit_id"]);
        assert_eq!(count(&outbox, &part).await, 900);
        assert_eq!(count(&outbox, "outbox WHERE target = 'https://new.example/hook' AND revision = 2").await, 900);
        let keys = outbox.number("SELECT count(DISTINCT idempotency_key) FROM outbox").await;
        assert_eq!(keys, 900);
        let again = [&change[..], &["https://shop.example/=https://old.example/", "--yes", "--json"]].concat();
        let done = program.run(&again).await.json();
        assert_eq!((&done["edited"], &done["unchanged"]), (&0.into(), &900.into()));
    }
}

/// A command, and what it says.
struct Started {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Started {
    fn by(program: &Program, arguments: &[&str]) -> Self {
        let mut command = program.command(arguments);
        // Without it, a warning comes first that nobody in particular makes the change.
        command.env("USER", "operator");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Waits for the next line with these words.
    async fn says(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            let read = timeout(PATIENCE, self.said.read_line(&mut line)).await.unwrap().unwrap();
            assert!(read > 0, "it ended without saying {words:?}");
            if line.contains(words) {
                return line;
            }
        }
    }

    fn ctrl_c(&self) {
        kill_process(Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap(), Signal::INT).unwrap();
    }
}

/// Runs a command, stops it with Ctrl-C once its first line is there, and gives its exit status and what it said.
async fn stopped(program: &Program, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut started = Started::by(program, arguments);
    let first = started.says("").await;
    started.ctrl_c();
    let Started { mut child, mut said } = started;
    let mut rest = String::new();
    timeout(PATIENCE, said.read_to_string(&mut rest)).await.unwrap().unwrap();
    (child.wait().await.unwrap().code(), first, rest)
}

#[tokio::test]
async fn a_redrive_begins_with_its_number_and_ctrl_c_says_what_was_done() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 5).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let redrive = ["dead-letters", "redrive", "--all", "--rate", "1/s"];
        let (code, first, rest) = stopped(&program, &redrive).await;
        assert!(first.contains(": 4,500 messages; take back: outbox dead-letters undo "), "{first}");
        assert_eq!(code, Some(130), "{rest}");
        assert!(rest.contains("stopping after this batch") && rest.contains("stopped: "), "{rest}");
        let redriven = count(&outbox, "outbox WHERE status = 'PENDING'").await;
        assert!(redriven < 4_500, "{redriven} were redriven");
        let number = first.trim().rsplit(' ').next().unwrap();
        let undone = program.run(&["dead-letters", "undo", number]).await.done();
        assert!(undone.starts_with(&format!("{redriven} returned")), "{undone}");
        assert_eq!(count(&outbox, "outbox WHERE status = 'DEAD'").await, 4_500);
    }
}

/// Keeps batches from their end: where a row can be locked, by the lock of the operation's own.
enum Held<'a> {
    Postgres(PgTransaction<'a>),
    MySql(MySqlTransaction<'a>),
    Sqlite(SqliteTransaction<'a>),
}

impl<'a> Held<'a> {
    async fn take(outbox: &'a Outbox) -> Self {
        let lock = "SELECT id FROM outbox_operation FOR UPDATE";
        match &outbox.database {
            Database::Postgres(pool) => {
                let mut held = pool.begin().await.unwrap();
                held.execute(lock).await.unwrap();
                Self::Postgres(held)
            }
            Database::MySql(pool) => {
                let mut held = pool.begin().await.unwrap();
                held.execute(lock).await.unwrap();
                Self::MySql(held)
            }
            Database::Sqlite(pool) => Self::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await.unwrap()),
        }
    }

    async fn release(self) {
        match self {
            Self::Postgres(held) => held.rollback().await.unwrap(),
            Self::MySql(held) => held.rollback().await.unwrap(),
            Self::Sqlite(held) => held.rollback().await.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_second_ctrl_c_ends_a_change_at_once_and_its_present_batch_is_undone() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 5).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let mut redrive = Started::by(&program, &["dead-letters", "redrive", "--all", "--rate", "1/s"]);
        let first = redrive.says("take back: outbox dead-letters undo ").await;
        let held = Held::take(&outbox).await;
        let made = count(&outbox, "outbox WHERE status = 'PENDING'").await;
        redrive.ctrl_c();
        redrive.says("stopping after this batch; again to stop at once").await;
        redrive.ctrl_c();
        let stopped = redrive.says("stopped: ").await;
        assert!(stopped.contains(" of 4,500 redriven so far; take back: "), "{stopped}");
        held.release().await;
        assert_eq!(timeout(PATIENCE, redrive.child.wait()).await.unwrap().unwrap().code(), Some(130));

        // The poller does not go on with it either.
        let id = first.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let operation = outbox_desk::operation(&outbox.database, id).await.unwrap().unwrap();
        assert_eq!(operation.status, OperationStatus::Stopped);
        assert_eq!(i64::try_from(operation.changed).unwrap(), made);
        assert_eq!(count(&outbox, "outbox WHERE status = 'PENDING'").await, made);
        assert!(made < 4_500, "{made} were redriven");
    }
}

#[tokio::test]
async fn ctrl_c_ends_the_following_of_an_operation_and_not_the_operation() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        let purge = Change::Purge { selection: Selection::Filter(DeadLetterFilter::default()) };
        let author = Author { who: "ada".to_owned(), why: "they are gone".to_owned() };
        let Ordered::Begun(id) = outbox_desk::begin(&outbox.database, &purge, &author, Duration::ZERO).await.unwrap()
        else {
            panic!("it was carried out")
        };
        let program = Program::new(&outbox.test.url, HTTP);
        let mut follow = Started::by(&program, &["operations", "follow", &id.to_string()]);
        follow.says("it waits for the poller").await;
        follow.ctrl_c();
        let ended = timeout(PATIENCE, follow.child.wait()).await.unwrap().unwrap();
        assert_eq!(ended.code(), Some(130));
        assert_eq!(outbox.database.waiting(10).await.unwrap(), [id]);
        outbox.database.go_on(id, &|| true).await.unwrap();
        assert_eq!(count(&outbox, "outbox").await, 0);
    }
}

#[tokio::test]
async fn a_replica_tells_how_far_a_change_is_and_ends_it_for_a_client_that_goes() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 5).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        let url = replica.listener().await;
        let redrive = ["--url", &url, "dead-letters", "redrive", "--all", "--rate", "1/s"];
        let (code, first, rest) = stopped(&program, &redrive).await;
        assert!(first.contains(": 4,500 messages; take back: outbox dead-letters undo "), "{first}");
        assert_eq!(code, Some(130), "{rest}");
        let stopped = count(&outbox, "outbox_audit WHERE action = 'redrive' AND part_of IS NOT NULL").await;
        let said = format!("stopped: {} of 4,500 redriven; ", grouped(stopped.cast_unsigned()));
        assert!(rest.contains(&said), "{said:?} is not in {rest}");
        let purge = ["--url", &url, "dead-letters", "purge", "--reason", "permanent", "--yes", "--json"];
        let ran = program.run(&purge).await;
        assert!(ran.stderr.contains("; nothing takes this back"), "{}", ran.stderr);
        let left = ran.json()["purged"].as_i64().unwrap();
        let redriven = count(&outbox, "outbox_audit WHERE action = 'redrive' AND part_of IS NOT NULL").await;
        assert!(redriven < 4_500 && redriven + left >= 4_500, "{redriven} redriven, {left} deleted");
    }
}

#[tokio::test]
async fn an_edit_of_many_reads_no_payload_and_moves_one_that_could_not_be_enqueued() {
    for outbox in outboxes::each().await {
        dead_letters(&outbox, 1).await;
        if outbox.dialect() != Dialect::Postgres {
            // PostgreSQL would not take it.
            let payload = if outbox.dialect() == Dialect::MySql { r#"{"a": "\\u0000"}"# } else { r#"{"a": "\u0000"}"# };
            outbox.sql(&format!("UPDATE outbox SET payload = '{payload}'")).await;
        }
        let program = Program::new(&outbox.test.url, HTTP);
        let edit =
            ["dead-letters", "edit", "--reason", "permanent", "--target", "https://new.example/", "--yes", "--json"];
        let done = program.run(&edit).await.json();
        assert_eq!((&done["edited"], &done["left"]), (&900.into(), &serde_json::json!([])));
    }
}

#[tokio::test]
async fn a_removal_by_hand_says_how_much_there_is_to_remove_by_a_replica_too() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        let url = replica.listener().await;
        for arguments in [&["prune", "--dead", "0s"] as &[&str], &["--url", &url, "prune", "--dead", "0s"]] {
            dead_letters(&outbox, 1).await;
            let ran = program.run(arguments).await;
            assert!(ran.stderr.contains(": 900 messages; nothing takes this back"), "{arguments:?}: {}", ran.stderr);
            assert_eq!(ran.done(), "0 delivered messages and 900 dead letters removed\n");
        }
    }
}
