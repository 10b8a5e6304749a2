//! What the database keeps of jobs: who may begin a run, which token is the newest, and how runs ended.

use std::time::Duration;

use outbox_desk::{Author, ByHand, Desk, JobAction, JobEntry};
use outbox_store::jobs::{JobRun, JobStart, JobStore, NotYet, RunEnd, RunEnded, Started};
use outbox_store::{Dialect, Holder, StoreError};
use outbox_tests::eventually;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, SqliteConnection};

use crate::outboxes::{self, Outbox};
use crate::program::PATIENCE;

pub(crate) const JOB: &str = "ward-status";

/// An hour: no test lasts so long.
const HOUR: Duration = Duration::from_hours(1);

/// An ordinary start.
fn start(holder: &Holder) -> JobStart<'_> {
    let (host, command) = ("web-1", "/bin/ward-status --all");
    JobStart { job: JOB, holder, host, pid: 17, command, per: None, at_least: None, due_within: None }
}

pub(crate) fn ended(because: RunEnd) -> RunEnded {
    RunEnded { because, exit_code: None, signal: None, tail: None, rest: None }
}

/// What comes of a start that is ordinary but for what `with` makes of it.
async fn try_begin(outbox: &Outbox, with: impl Fn(JobStart<'_>) -> JobStart<'_>) -> Started {
    let holder = Holder::new("web-1", "a");
    outbox.database.begin_run(&with(start(&holder))).await.unwrap()
}

/// An ordinary run.
pub(crate) async fn begin(outbox: &Outbox) -> JobRun {
    outbox.database.know_job(JOB).await.unwrap();
    match try_begin(outbox, |start| start).await {
        Started::Run(run) => run,
        refused => panic!("{refused:?}"),
    }
}

pub(crate) async fn end(outbox: &Outbox, run: &JobRun, because: RunEnd) {
    outbox.database.end_run(JOB, run, &ended(because)).await.unwrap();
}

async fn entry(outbox: &Outbox) -> JobEntry {
    outbox.database.jobs().await.unwrap().remove(0)
}

/// Why a run ended, as its row says. Empty: it goes on.
async fn why(outbox: &Outbox, run: &JobRun) -> String {
    let found = outbox.database.job_run(JOB, run.token).await.unwrap().unwrap();
    found.ended_because.unwrap_or_default()
}

async fn change(outbox: &Outbox, action: JobAction) {
    let author = Author { who: "ada".to_owned(), why: String::new() };
    let done = outbox.database.change_job(JOB, action, &author).await.unwrap().unwrap();
    assert!(done.audit_id.is_some(), "{done:?}");
}

#[tokio::test]
async fn each_run_has_a_higher_token_and_the_end_of_the_last_one_is_how_the_job_stands() {
    for outbox in outboxes::each().await {
        outbox.database.know_job(JOB).await.unwrap();
        assert_eq!((entry(&outbox).await.state.as_str(), entry(&outbox).await.token), ("never", None));
        let first = begin(&outbox).await;
        assert_eq!((first.last_success_ms, entry(&outbox).await.state.as_str()), (None, "running"));
        let told = RunEnded { exit_code: Some(0), tail: Some("two wards".to_owned()), ..ended(RunEnd::Finished) };
        for _ in 0..2 {
            outbox.database.end_run(JOB, &first, &told).await.unwrap();
        }
        let job = entry(&outbox).await;
        assert_eq!((job.state.as_str(), job.exit_code, job.ends.finished), ("completed", Some(0), 1), "{job:?}");
        assert!(job.last_success_at.is_some() && job.took_ms.is_some_and(|took| took >= 0), "{job:?}");
        let second = begin(&outbox).await;
        assert!(second.token > first.token && second.last_success_ms.is_some(), "{second:?}");
        end(&outbox, &second, RunEnd::Failed).await;
        let job = entry(&outbox).await;
        assert_eq!((job.state.as_str(), job.ends.failed, job.token), ("failed", 1, Some(second.token)), "{job:?}");
        let page = outbox.database.job_runs(JOB, None, 1).await.unwrap().unwrap();
        assert_eq!((page.runs[0].token, page.next, &page.runs[0].tail), (second.token, Some(second.token), &None));
        let page = outbox.database.job_runs(JOB, page.next, 1).await.unwrap().unwrap();
        assert_eq!((page.runs[0].token, page.next), (first.token, None));
        let shown = outbox.database.job_run(JOB, first.token).await.unwrap().unwrap();
        assert_eq!((shown.tail.as_deref(), shown.host.as_str(), shown.pid), (Some("two wards"), "web-1", 17));
        assert!(outbox.database.job_run(JOB, 99).await.unwrap().is_none());
        assert!(outbox.database.job_runs("nobody", None, 9).await.unwrap().is_none());
        let status = outbox.text("SELECT status FROM outbox_job_status").await;
        assert_eq!(status, "FAILED");
    }
}

#[tokio::test]
async fn a_period_has_one_run_and_the_next_period_another() {
    for outbox in outboxes::each().await {
        outbox.database.know_job(JOB).await.unwrap();
        let second = Duration::from_secs(1);
        let began = async || match try_begin(&outbox, |start| JobStart { per: Some(second), ..start }).await {
            Started::Run(run) => Some(run),
            Started::Paused | Started::NotYet(..) => None,
        };
        for _ in 0..3 {
            let run = eventually("the next period has a run", PATIENCE, began).await;
            end(&outbox, &run, RunEnd::Finished).await;
        }
        let seconds = match outbox.dialect() {
            Dialect::Postgres => "floor(extract(epoch FROM started_at))",
            Dialect::MySql => "FLOOR(UNIX_TIMESTAMP(started_at))",
            Dialect::Sqlite => "started_at / 1000",
        };
        let periods = outbox.number(&format!("SELECT count(DISTINCT {seconds}) FROM outbox_job_run")).await;
        assert_eq!((periods, outbox.number("SELECT count(*) FROM outbox_job_run").await), (3, 3));
        let refused = try_begin(&outbox, |start| JobStart { per: Some(HOUR * 24 * 365), ..start }).await;
        let Started::NotYet(NotYet::Period, left) = refused else { panic!("{refused:?}") };
        assert!(left <= HOUR * 24 * 365 && !left.is_zero(), "{left:?}");
        assert_eq!(outbox.number("SELECT max(token) FROM outbox_job_token").await, 3, "a refusal mints none");
    }
}

#[tokio::test]
async fn a_run_keeps_others_away_from_its_begin_on_or_from_its_end_on() {
    for outbox in outboxes::each().await {
        outbox.database.know_job(JOB).await.unwrap();
        let held = try_begin(&outbox, |start| JobStart { at_least: Some(HOUR), ..start }).await;
        let Started::Run(run) = held else { panic!("{held:?}") };
        // A shorter rest does not shorten it.
        let rests = RunEnded { rest: Some(Duration::from_millis(1)), ..ended(RunEnd::Finished) };
        outbox.database.end_run(JOB, &run, &rests).await.unwrap();
        let refused = try_begin(&outbox, |start| start).await;
        let Started::NotYet(NotYet::Held, left) = refused else { panic!("{refused:?}") };
        assert!(left > HOUR / 2 && left <= HOUR, "{left:?}");

        outbox.sql("UPDATE outbox_job SET held_until = NULL").await;
        let run = begin(&outbox).await;
        let rests = RunEnded { rest: Some(HOUR), ..ended(RunEnd::Failed) };
        outbox.database.end_run(JOB, &run, &rests).await.unwrap();
        let refused = try_begin(&outbox, |start| start).await;
        let Started::NotYet(NotYet::Held, left) = refused else { panic!("{refused:?}") };
        assert!(left > HOUR / 2 && left <= HOUR, "{left:?}");
    }
}

#[tokio::test]
async fn a_paused_job_begins_no_run_and_the_one_that_goes_on_is_left_alone() {
    for outbox in outboxes::each().await {
        let run = begin(&outbox).await;
        change(&outbox, JobAction::Pause).await;
        assert_eq!(entry(&outbox).await.state, "running");
        assert!(outbox.database.run_goes_on(&run).await.unwrap());
        end(&outbox, &run, RunEnd::Finished).await;
        assert!(!outbox.database.run_goes_on(&run).await.unwrap());
        let job = entry(&outbox).await;
        assert_eq!((job.state.as_str(), job.paused_by.as_deref()), ("paused", Some("ada")), "{job:?}");
        assert_eq!(try_begin(&outbox, |start| start).await, Started::Paused);
        outbox.database.skip_run(JOB).await.unwrap();
        change(&outbox, JobAction::Resume).await;
        begin(&outbox).await;
        assert_eq!(entry(&outbox).await.skips, 1);
    }
}

#[tokio::test]
async fn a_run_of_which_nobody_told_the_end_has_crashed_once_another_begins_and_its_late_end_counts() {
    for outbox in outboxes::each().await {
        let first = begin(&outbox).await;
        assert_eq!(why(&outbox, &first).await, "");
        let second = begin(&outbox).await;
        assert_eq!((why(&outbox, &first).await.as_str(), why(&outbox, &second).await.as_str()), ("crashed", ""));
        assert!(!outbox.database.run_goes_on(&first).await.unwrap());
        for because in [RunEnd::Lost, RunEnd::Finished] {
            end(&outbox, &first, because).await;
            assert_eq!(why(&outbox, &first).await, "lost", "the first end that is told counts");
        }
        let job = entry(&outbox).await;
        assert_eq!((job.state.as_str(), job.ends.crashed, job.ends.lost, job.ends.finished), ("running", 1, 1, 0));
    }
}

#[tokio::test]
async fn a_silent_run_without_an_end_is_found_and_crashes_once_and_its_late_end_counts() {
    for outbox in outboxes::each().await {
        let silent = async |time| outbox.database.silent_job_runs(time).await.unwrap();
        let [overtaken, run] = [begin(&outbox).await, begin(&outbox).await];
        assert_eq!(silent(HOUR).await, []);
        let found = silent(Duration::ZERO).await;
        let tokens: Vec<_> = found.iter().map(|run| (run.name.as_str(), run.token)).collect();
        assert_eq!(tokens, [(JOB, run.token)], "{overtaken:?}");
        for _ in 0..2 {
            outbox.database.job_run_crashed(&found[0]).await.unwrap();
        }
        let job = entry(&outbox).await;
        assert_eq!((job.state.as_str(), job.ends.crashed, why(&outbox, &run).await.as_str()), ("failed", 2, "crashed"));
        assert_eq!((silent(Duration::ZERO).await, outbox.database.run_goes_on(&run).await.unwrap()), (vec![], false));
        end(&outbox, &run, RunEnd::Finished).await;
        outbox.database.job_run_crashed(&found[0]).await.unwrap();
        assert_eq!(entry(&outbox).await.state, "completed");
    }
}

#[tokio::test]
async fn a_job_is_late_once_it_has_not_run_for_twice_its_period_unless_it_is_paused() {
    for outbox in outboxes::each().await {
        outbox.database.know_job(JOB).await.unwrap();
        let due = try_begin(&outbox, |start| JobStart { due_within: Some(HOUR), ..start }).await;
        let Started::Run(run) = due else { panic!("{due:?}") };
        end(&outbox, &run, RunEnd::Finished).await;
        let ago = |minutes: i64| match outbox.dialect() {
            Dialect::Postgres => format!("clock_timestamp() - interval '{minutes} minutes'"),
            Dialect::MySql => format!("UTC_TIMESTAMP(3) - INTERVAL {minutes} MINUTE"),
            Dialect::Sqlite => format!("CAST(unixepoch('subsec') * 1000 AS INTEGER) - {minutes} * 60000"),
        };
        for (minutes, late) in [(119, false), (121, true)] {
            outbox.sql(&format!("UPDATE outbox_job_run SET ended_at = {}", ago(minutes))).await;
            assert_eq!(entry(&outbox).await.late, late, "{minutes} minutes ago");
        }
        change(&outbox, JobAction::Pause).await;
        assert!(!entry(&outbox).await.late);
    }
}

#[tokio::test]
async fn old_runs_are_removed_but_for_the_newest_of_each_job_and_their_counts_stay() {
    for outbox in outboxes::each().await {
        let [first, second] = [begin(&outbox).await, begin(&outbox).await];
        end(&outbox, &second, RunEnd::Finished).await;
        assert!(!outbox.database.remove_job_runs(HOUR).await.unwrap());
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_job_run").await, 2, "none of them is old");
        let then = if outbox.dialect() == Dialect::Sqlite { "1000" } else { "'2001-01-01 00:00:00'" };
        outbox.sql(&format!("UPDATE outbox_job_run SET started_at = {then}")).await;
        assert!(!outbox.database.remove_job_runs(HOUR).await.unwrap());
        assert!(outbox.database.job_run(JOB, first.token).await.unwrap().is_none());
        let job = entry(&outbox).await;
        assert_eq!((job.token, job.ends.crashed, job.ends.finished), (Some(second.token), 1, 1), "{job:?}");
    }
}

/// A job's own connection.
enum Own {
    Postgres(PgConnection),
    MySql(MySqlConnection),
    Sqlite(SqliteConnection),
}

impl Own {
    async fn of(outbox: &Outbox) -> Self {
        let url = &outbox.test.url;
        match outbox.dialect() {
            Dialect::Postgres => Self::Postgres(PgConnection::connect(url).await.unwrap()),
            Dialect::MySql => Self::MySql(MySqlConnection::connect(url).await.unwrap()),
            Dialect::Sqlite => Self::Sqlite(SqliteConnection::connect(url).await.unwrap()),
        }
    }

    async fn run(&mut self, sql: &str) -> sqlx::Result<()> {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Postgres(own) => own.execute(sql).await.map(drop),
            Self::MySql(own) => own.execute(sql).await.map(drop),
            Self::Sqlite(own) => own.execute(sql).await.map(drop),
        }
    }

    async fn fence(&mut self, token: i64) -> sqlx::Result<()> {
        let sql = match self {
            Self::Postgres(_) => format!("SELECT outbox_job_fence('{JOB}', {token})"),
            Self::MySql(_) => format!("CALL outbox_job_fence('{JOB}', {token})"),
            Self::Sqlite(_) => format!("INSERT INTO outbox_job_fence (name, token) VALUES ('{JOB}', {token})"),
        };
        self.run(&sql).await
    }
}

#[tokio::test]
async fn the_newest_run_commits_what_it_fences_and_an_overtaken_one_is_refused_by_name() {
    for outbox in outboxes::each().await {
        let mut own = Own::of(&outbox).await;
        own.run("CREATE TABLE ward (occupied integer)").await.unwrap();
        let nobody = async |own: &mut Own| {
            own.run("BEGIN").await.unwrap();
            let told = own.fence(1).await.unwrap_err().to_string();
            assert!(told.contains("outbox_job_fence: no run of a job of"), "{told}");
            own.run("ROLLBACK").await.unwrap();
        };
        nobody(&mut own).await;
        let first = begin(&outbox).await;
        for token in [first.token, first.token] {
            own.run("BEGIN").await.unwrap();
            own.fence(token).await.unwrap();
            own.run("INSERT INTO ward VALUES (1)").await.unwrap();
            own.run("COMMIT").await.unwrap();
        }
        let second = begin(&outbox).await;
        own.run("BEGIN").await.unwrap();
        let told = own.fence(first.token).await.unwrap_err().to_string();
        assert!(told.contains("outbox_job_fence: a later run of th"), "{told}");
        own.run("ROLLBACK").await.unwrap();
        own.run("BEGIN").await.unwrap();
        own.fence(second.token).await.unwrap();
        own.run("COMMIT").await.unwrap();
        assert_eq!(outbox.number("SELECT count(*) FROM ward").await, 2);
        if outbox.dialect() == Dialect::MySql {
            let told = own.fence(second.token).await.unwrap_err().to_string();
            assert!(told.contains("call it in a transaction"), "{told}");
            own.run("SET autocommit = 0").await.unwrap();
            own.fence(second.token).await.unwrap();
        }
    }
}

/// Whether a statement waits for a row.
async fn waits(outbox: &Outbox) -> Option<()> {
    let blocked = match outbox.dialect() {
        Dialect::Postgres => {
            "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event <> 'advisory'"
        }
        Dialect::MySql | Dialect::Sqlite => {
            // What it shows of transactions is refreshed only when nobody has looked for a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
            "information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
             WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'"
        }
    };
    (outbox.number(&format!("SELECT count(*) FROM {blocked}")).await > 0).then_some(())
}

/// SQLite has one writer at a time, so there a transaction of a job keeps all others waiting.
#[tokio::test]
async fn a_fenced_transaction_keeps_the_next_run_waiting_and_nothing_else() {
    for outbox in outboxes::each().await.filter(|outbox| outbox.dialect() != Dialect::Sqlite) {
        let run = begin(&outbox).await;
        let mut own = Own::of(&outbox).await;
        own.run("BEGIN").await.unwrap();
        own.fence(run.token).await.unwrap();
        // MySQL lets a statement wait for five seconds.
        let begins = async || {
            let holder = Holder::new("web-2", "b");
            match outbox.database.begin_run(&start(&holder)).await {
                Ok(Started::Run(next)) => Some(next),
                Ok(Started::Paused) | Err(StoreError::Unavailable { .. }) => None,
                other => panic!("{other:?}"),
            }
        };
        let overtaking = eventually("the next run begins", PATIENCE, begins);
        let beside = async {
            eventually("the next run waits for the transaction", PATIENCE, async || waits(&outbox).await).await;
            outbox.database.know_job(JOB).await.unwrap();
            outbox.database.skip_run(JOB).await.unwrap();
            assert!(outbox.database.run_goes_on(&run).await.unwrap());
            change(&outbox, JobAction::Pause).await;
            assert_eq!(try_begin(&outbox, |start| start).await, Started::Paused);
            change(&outbox, JobAction::Resume).await;
            end(&outbox, &run, RunEnd::Finished).await;
            assert_eq!(entry(&outbox).await.state, "completed");
            eventually("it waits still", PATIENCE, async || waits(&outbox).await).await;
            own.run("COMMIT").await.unwrap();
        };
        let (next, ()) = tokio::join!(overtaking, beside);
        assert!(next.token > run.token);
        assert_eq!((why(&outbox, &run).await.as_str(), why(&outbox, &next).await.as_str()), ("finished", ""));
    }
}
