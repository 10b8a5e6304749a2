//! How far something long is: a bar on a terminal, and on a pipe the words alone.

use outbox_console::text::grouped;
use outbox_store::Database;
use outbox_store::migrate::SCHEMA_VERSION;
use outbox_tests::eventually;
use sqlx::{AssertSqlSafe, PgTransaction};

use crate::changes::long_changes::{count, dead_letters};
use crate::database::migrate::of_version_1;
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

/// A locale of UTF-8 and one without, and how a bar begins there.
const LOCALES: [(&str, &str); 2] = [("C.UTF-8", "█"), ("C", "[#")];

/// Keeps a change from its beginning: rows that are locked it would leave as they are.
const AUDIT: &str = "LOCK TABLE outbox_audit IN EXCLUSIVE MODE";

/// Keeps a migration from the first change of the table.
const READ: &str = "LOCK TABLE outbox IN ACCESS SHARE MODE";

/// A lock on PostgreSQL, which alone shows who waits, and for how long.
struct Held<'a> {
    outbox: &'a Outbox,
    transaction: PgTransaction<'a>,
    process: i32,
}

impl<'a> Held<'a> {
    async fn by(outbox: &'a Outbox, lock: &str) -> Self {
        let Database::Postgres(pool) = &outbox.database else { panic!("{:?}", outbox.dialect()) };
        let mut transaction = pool.begin().await.unwrap();
        let lock = format!("SET LOCAL idle_in_transaction_session_timeout = 0; {lock}");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *transaction).await.unwrap();
        let process = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *transaction).await.unwrap();
        Self { outbox, transaction, process }
    }

    /// Lets go once a program has waited for longer than a terminal or a pipe waits for news.
    async fn release(self) {
        let waits = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE {} = ANY (pg_blocking_pids(pid)) \
             AND clock_timestamp() - query_start > interval '2500 ms'",
            self.process
        );
        let probe = async || (self.outbox.number(&waits).await > 0).then_some(());
        eventually("the program waits for the lock", PATIENCE, probe).await;
        self.transaction.rollback().await.unwrap();
    }
}

/// The lines that were written over each other. Each fits the terminal.
fn frames(shown: &str, columns: usize) -> Vec<String> {
    let frames: Vec<_> = shown.split("\r\u{1b}[K").skip(1).map(str::to_owned).collect();
    let (last, frames) = frames.split_last().unwrap_or_else(|| panic!("nothing was written over: {shown:?}"));
    assert!(!last.starts_with(['█', '░', '[']), "a bar stays on the terminal: {shown:?}");
    assert!(frames.iter().all(|frame| frame.chars().count() < columns && !frame.contains('\n')), "{frames:?}");
    frames.to_vec()
}

#[tokio::test]
async fn a_change_of_many_shows_a_bar_on_a_terminal_and_words_on_a_pipe() {
    let outbox = &outboxes::migrated().await[0];
    dead_letters(outbox, 1).await;
    let program = Program::new(&outbox.test.url, HTTP);
    let redrive = ["dead-letters", "redrive", "--all", "--by", "ada"];
    for (locale, full) in LOCALES {
        let held = Held::by(outbox, AUDIT).await;
        let environment = [("LANG", locale)];
        let (shown, ()) = tokio::join!(program.on_terminal(80, &redrive, &environment), held.release());
        let frames = frames(&shown, 80);
        let last = frames.iter().rfind(|frame| !frame.is_empty()).unwrap();
        assert!(last.starts_with(full) && last.contains(" of 900 redriven, ") && last.ends_with(" left"), "{last:?}");
        assert_eq!(count(outbox, "outbox WHERE status = 'PENDING'").await, 900);
        outbox.sql("UPDATE outbox SET status = 'DEAD', dead_reason = 'permanent', finished_at = now(), revision = revision + 1").await;
    }
    let held = Held::by(outbox, AUDIT).await;
    let (piped, ()) = tokio::join!(program.run(&redrive), held.release());
    assert!(piped.stderr.contains("\n500 of 900 redriven, "), "{piped:?}");
    assert!(!piped.stderr.contains(['█', '\u{1b}', '\r']), "{piped:?}");
}

#[tokio::test]
async fn a_migration_shows_a_bar_of_its_versions_on_a_terminal_and_words_on_a_pipe() {
    let [outbox, ..] = outboxes::empty().await;
    of_version_1(&outbox).await;
    let program = Program::new(&outbox.test.url, HTTP);
    let held = Held::by(&outbox, READ).await;
    let environment = [("LANG", "C")];
    let (shown, ()) = tokio::join!(program.on_terminal(80, &["migrate"], &environment), held.release());
    let words = format!(" of {}, ", grouped(u64::from(SCHEMA_VERSION.unsigned_abs())));
    let frames = frames(&shown, 80);
    assert!(
        frames
            .iter()
            .any(|frame| frame.starts_with("[#") && frame.contains(".] making version ") && frame.contains(&words)),
        "{frames:?}"
    );
    assert!(shown.contains("Brought the outbox tables from version 1 to "), "{shown}");

    let [outbox, ..] = outboxes::empty().await;
    of_version_1(&outbox).await;
    let held = Held::by(&outbox, READ).await;
    let program = Program::new(&outbox.test.url, HTTP);
    let (ran, ()) = tokio::join!(program.run(&["migrate"]), held.release());
    assert!(ran.stderr.starts_with("making version ") && ran.stderr.ends_with("s so far\n"), "{ran:?}");
    assert!(!ran.stderr.contains(['[', '\u{1b}', '\r']), "{ran:?}");
    ran.done();
}
