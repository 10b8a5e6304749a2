//! The rights of `outbox-schema/grants`: enough for what each role does, and no more.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_desk::{
    Author, ByHand, Cancelled, Change, DeadLetterFilter, Desk, Edited, FiguresFilter, InvalidTargetSelection,
    JobAction, MessageFilter, MessageSelection, Pace, RecurringAction, Refusal, Revised, Selection, UNWATCHED,
};
use outbox_schema::{Enqueued, MessageId, NewMessage};
use outbox_store::destination::{Aside, DestinationStore, Look};
use outbox_store::jobs::RunEnd;
use outbox_store::retention::BEGINNING;
use outbox_store::store::TermCounts;
use outbox_store::{Dialect, JobStore, Pruning, RecurringStore, Retention, Shard, TermEnd, Verdict};
use outbox_tests::changes::{Unfollowed, sent};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

use crate::jobs::store::{JOB, begin, end};
use crate::outboxes::{self, Outbox, Step, connect, transaction};
use crate::poller::Poller;
use crate::program::Program;
use crate::questions::figures::delivered;
use crate::recurring::store::{fire, known, term};

/// Where the tables lie on PostgreSQL.
pub(crate) const SCHEMA: &str = "dispatcher";

/// An outbox with its three roles.
pub(crate) struct Granted {
    /// The owner's.
    pub(crate) owner: Outbox,
    pub(crate) application: String,
    pub(crate) application_role: String,
    pub(crate) dispatcher: String,
    pub(crate) dispatcher_role: String,
    pub(crate) operator: String,
    pub(crate) operator_role: String,
}

/// One on PostgreSQL, where functions are not everybody's to execute, and one on MariaDB. SQLite has no roles.
pub(crate) async fn granted() -> [Granted; 2] {
    let [mut postgres, mysql, _] = outboxes::empty().await;
    postgres.database = connect(&postgres.test.url, Some(SCHEMA)).await;
    postgres.database.migrate("default").await.unwrap();
    mysql.database.migrate("default").await.unwrap();
    [grant(postgres, on_postgres), grant(mysql, on_mysql)]
}

fn grant(owner: Outbox, script: fn(&str, &str, &str) -> String) -> Granted {
    let unique = &owner.test.name[owner.test.name.len() - 12..];
    let [application, dispatcher, operator] = ["app", "run", "ops"].map(|role| format!("{role}_{unique}"));
    owner.run_client(&script(&application, &dispatcher, &operator));
    let user = if owner.dialect() == Dialect::Postgres { "postgres@" } else { "outbox@" };
    let url = |role: &str| owner.test.url.replacen(user, &format!("{role}@"), 1);
    Granted {
        application: url(&application),
        application_role: application,
        dispatcher: url(&dispatcher),
        dispatcher_role: dispatcher,
        operator: url(&operator),
        operator_role: operator,
        owner,
    }
}

fn on_postgres(application: &str, dispatcher: &str, operator: &str) -> String {
    format!(
        "CREATE ROLE {application} LOGIN; CREATE ROLE {dispatcher} LOGIN; CREATE ROLE {operator} LOGIN;\n\
         ALTER ROLE {application} SET search_path = public, {SCHEMA};\n\
         REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {SCHEMA} FROM PUBLIC;\n\
         \\set schema {SCHEMA}\n\\set application {application}\n\\set dispatcher {dispatcher}\n\
         \\set operator {operator}\n{}\n{}",
        include_str!("../../../../outbox-schema/grants/postgres.sql"),
        include_str!("../../../../outbox-schema/grants/postgres_operator.sql")
    )
}

fn on_mysql(application: &str, dispatcher: &str, operator: &str) -> String {
    let [application, dispatcher, operator] = [application, dispatcher, operator].map(|role| format!("'{role}'@'%'"));
    let grants = include_str!("../../../../outbox-schema/grants/mysql.sql");
    let grants = grants.replace("APPLICATION", &application).replace("DISPATCHER", &dispatcher);
    let more = include_str!("../../../../outbox-schema/grants/mysql_operator.sql").replace("OPERATOR", &operator);
    format!("CREATE USER {application}; CREATE USER {dispatcher}; CREATE USER {operator};\n{grants}\n{more}")
}

/// The database refuses a statement of that role, for want of rights.
pub(crate) async fn refused(url: &str, dialect: Dialect, sql: &str) {
    let for_want_of_rights = ["permission denied", "must be owner", "command denied", "Access denied"];
    refused_in_words(url, dialect, sql, &for_want_of_rights).await;
}

/// The database refuses a statement of that role in one of these words.
async fn refused_in_words(url: &str, dialect: Dialect, sql: &str, words: &[&str]) {
    let script = sqlx::raw_sql(AssertSqlSafe(sql));
    let answer = match dialect {
        Dialect::Postgres => {
            let mut connection = PgConnection::connect(url).await.unwrap();
            let path = AssertSqlSafe(format!("SET search_path = {SCHEMA}"));
            sqlx::raw_sql(path).execute(&mut connection).await.unwrap();
            script.execute(&mut connection).await.map(drop)
        }
        Dialect::MySql => {
            let mut connection = MySqlConnection::connect(url).await.unwrap();
            script.execute(&mut connection).await.map(drop)
        }
        Dialect::Sqlite => panic!("SQLite has no roles"),
    };
    let told = answer.expect_err(sql).to_string();
    assert!(words.iter().any(|words| told.contains(words)), "{sql}: {told}");
}

#[tokio::test]
async fn an_application_inserts_and_deduplicates_but_reads_no_payload_and_changes_nothing() {
    let message = |key: &str| NewMessage::http("/hook").json("a secret").idempotency_key(key);
    for granted in granted().await {
        let many = [message("a"), message("b"), message("a")];
        let steps = [
            Step::Sql("INSERT INTO outbox (channel, target, payload) VALUES ('http', '/hook', '{}')"),
            Step::Enqueue(&[message("a")]),
            Step::Enqueue(&[message("a")]),
            Step::Enqueue(&many),
        ];
        let answers = transaction(&granted.application, &steps, "COMMIT").await;
        let inserted: Vec<_> = answers.into_iter().flat_map(Result::unwrap).map(|one| one.is_inserted()).collect();
        assert_eq!(inserted, [true, false, false, true, false]);
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 3);

        for sql in [
            "SELECT payload FROM outbox",
            "SELECT target FROM outbox",
            "UPDATE outbox SET status = 'SUCCESS'",
            "DELETE FROM outbox",
            "INSERT INTO outbox_term (shard, epoch, holder, started_at) SELECT 9, 9, '', created_at FROM outbox",
            "DROP TABLE outbox",
        ] {
            refused(&granted.application, granted.owner.dialect(), sql).await;
        }
    }
}

#[tokio::test]
async fn an_application_enqueues_from_the_command_line_and_is_told_the_right_that_it_lacks() {
    let enqueue = ["enqueue", "--channel", "http", "--target", "http://127.0.0.1/", "--payload", "1"];
    for granted in granted().await {
        let postgres = granted.owner.dialect() == Dialect::Postgres;
        let settings = if postgres { format!("[database]\nschema = \"{SCHEMA}\"") } else { String::new() };
        let program = Program::new(&granted.application, &settings);
        program.run(&enqueue).await.done();
        let meta = if postgres { "dispatcher.outbox_meta" } else { "outbox_meta" };
        granted.owner.run_client(&format!("REVOKE SELECT ON {meta} FROM {};", granted.application_role));
        let refused = program.run(&enqueue).await.failed();
        assert!(!refused.contains("is not ours") && !refused.contains("at line"), "{refused}");
        assert!(!refused.contains(";."), "{refused}");
        let grant = refused.split_once("gives the right: ").and_then(|(_, rest)| rest.split_once(';')).unwrap().0;
        granted.owner.run_client(&format!("{grant};"));
        program.run(&enqueue).await.done();
    }
}

/// With these it could take the ids of others, or keep its messages and those of others from being sent.
#[tokio::test]
async fn an_application_writes_no_id_status_revision_or_shard() {
    for granted in granted().await {
        let dialect = granted.owner.dialect();
        for (column, value) in [
            ("id", "-1"),
            ("id", "9223372036854775807"),
            ("status", "'SUCCESS'"),
            ("revision", "1"),
            ("shard", "1"),
            ("dead_reason", "'permanent'"),
            ("attempts", "1"),
        ] {
            let insert = "INSERT INTO outbox (channel, target, payload, ";
            refused(&granted.application, dialect, &format!("{insert}{column}) VALUES ('x', 'x', '{{}}', {value})"))
                .await;
            refused(&granted.application, dialect, &format!("UPDATE outbox SET {column} = {value}")).await;
        }
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 0);
    }
}

/// One id ahead of the sequence refuses the messages of others later, and the highest one ends all inserts on MariaDB. Tools of
/// MariaDB name the column all the same, with DEFAULT, and tools read back what the table made.
#[tokio::test]
async fn the_view_takes_no_id_either() {
    for granted in granted().await {
        let dialect = granted.owner.dialect();
        let insert =
            |id: &str| format!("INSERT INTO outbox_new (id, channel, target, payload) VALUES ({id}, 'x', 'x', '{{}}')");
        for id in ["-1", "1", "9223372036854775807"] {
            let words = ["cannot insert into column \"id\"", "CHECK OPTION failed", "command denied"];
            refused_in_words(&granted.application, dialect, &insert(id), &words).await;
        }
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 0);
        if dialect == Dialect::MySql {
            let told = granted.owner.try_sql(&insert("7")).await.unwrap_err().to_string();
            assert!(told.contains("CHECK OPTION failed"), "whoever has all rights: {told}");
        }
        if dialect == Dialect::MySql && !granted.owner.is_mysql().await {
            let mut connection = MySqlConnection::connect(&granted.application).await.unwrap();
            let two = format!("{}, (DEFAULT, 'x', 'y', '{{}}') RETURNING id", insert("DEFAULT"));
            let ids: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(two)).fetch_all(&mut connection).await.unwrap();
            assert_eq!(ids.len(), 2);
        }
    }
}

#[tokio::test]
async fn a_dispatcher_does_all_that_a_poller_and_the_desk_do_and_no_more() {
    for granted in granted().await {
        let schema = (granted.owner.dialect() == Dialect::Postgres).then_some(SCHEMA);
        let database = connect(&granted.dispatcher, schema).await;
        let outbox = Outbox { database, test: granted.owner.test.clone() };
        outbox.database.require("default").await.unwrap();
        a_life_of_messages(&outbox, &granted.owner).await;
        remove_what_is_old(&outbox, &granted.owner).await;
        keep_figures(&outbox).await;
        outbox
            .sql("INSERT INTO outbox_lease (shard, holder, expires_at) SELECT 0, 'x', started_at FROM outbox_term")
            .await;
        outbox.sql("UPDATE outbox_lease SET holder = 'y' WHERE holder = 'x'").await;
        outbox.sql("DELETE FROM outbox_lease WHERE holder = 'y'").await;
        recur(&outbox).await;
        run_jobs(&outbox).await;

        for sql in [
            "DELETE FROM outbox_invalid_target",
            "DELETE FROM outbox_term",
            "UPDATE outbox_attempt SET number = 9",
            "UPDATE outbox_audit SET who = 'nobody'",
            "DELETE FROM outbox_audit",
            "UPDATE outbox_meta SET environment = 'mine'",
            "ALTER TABLE outbox ADD COLUMN mine integer",
            "CREATE TABLE mine (id integer)",
            "DROP TABLE outbox_lease",
        ] {
            refused(&granted.dispatcher, granted.owner.dialect(), sql).await;
        }
    }
}

#[tokio::test]
async fn an_operator_mends_by_hand_and_neither_sends_nor_covers_the_traces() {
    for granted in granted().await {
        enqueue_as(&granted.owner).await;
        Poller::begin(&granted.owner.database, "one").await.kill_all().await;
        let schema = (granted.owner.dialect() == Dialect::Postgres).then_some(SCHEMA);
        let operator = connect(&granted.operator, schema).await;
        operator.require("default").await.unwrap();
        operator.vitals(&[]).await.unwrap();
        operator.figures(&FiguresFilter::default()).await.unwrap();
        let author = Author { who: "ada".to_owned(), why: String::new() };
        let dead = by_hand(&operator).await;
        let listed = operator.messages(&MessageFilter::default(), None, 99).await.unwrap();
        assert!(listed.messages.len() >= dead.len(), "{listed:?}");
        let purged = operator.purge(&Selection::Ids(dead.clone()), &author).await.unwrap();
        assert_eq!(purged.changed, dead.len() as u64);
        let gone = "INSERT INTO outbox_invalid_target (channel, target) VALUES ('http', 'a'), ('http', 'b')";
        granted.owner.sql(gone).await;
        let rows = "INSERT INTO outbox (channel, target, payload) VALUES ('http', 'https://slow.example/', '{}')";
        granted.owner.sql(rows).await;
        granted.owner.sql("UPDATE outbox SET deferred_from = available_at WHERE target LIKE '%slow%'").await;
        pause_and_resume(&operator, "https://slow.example:443", 1).await;
        let recurs = "INSERT INTO outbox_recurring (name, cron, timezone, since) VALUES ('todo', '@daily', 'UTC', '2026-01-01 00:00:00')";
        granted.owner.sql(recurs).await;
        for action in [RecurringAction::Pause, RecurringAction::Resume, RecurringAction::Fire] {
            let done = operator.change_recurring("todo", action, &author).await.unwrap();
            assert!(done.is_some_and(|done| done.audit_id.is_some()), "{action:?}");
        }
        assert_eq!(operator.recurring().await.unwrap().len(), 1);
        let run = begin(&granted.owner).await;
        for action in [JobAction::Pause, JobAction::Resume] {
            let done = operator.change_job(JOB, action, &author).await.unwrap();
            assert!(done.is_some_and(|done| done.audit_id.is_some()), "{action:?}");
        }
        assert_eq!(operator.jobs().await.unwrap().len(), 1);
        assert!(operator.job_run(JOB, run.token).await.unwrap().is_some());
        let later = "INSERT INTO outbox (channel, target, payload, available_at) VALUES ('http', '/x', '{}', '2999-01-01 00:00:00')";
        granted.owner.sql(later).await;
        let id = MessageId(granted.owner.number("SELECT max(id) FROM outbox").await);
        let retried = operator.retry(&MessageSelection::Ids(vec![id]), &author).await.unwrap();
        assert_eq!((retried.changed, retried.count("untried")), (1, 1), "{retried:?}");
        let all = InvalidTargetSelection::default();
        assert_eq!(operator.clear_invalid_targets(&all, &author).await.unwrap().cleared, 2);
        let delivered = "INSERT INTO outbox (channel, target, payload, status, revision) \
                         VALUES ('http', '/x', '{}', 'SUCCESS', 1)";
        granted.owner.sql(delivered).await;
        let at_once = Retention { success: Some(Duration::ZERO), ..Retention::default() };
        assert_eq!(operator.past_retention(&at_once).await.unwrap().success, 1);
        let prune = Change::Prune { retention: at_once, of: None };
        assert_eq!(operator.apply(&prune, &author, UNWATCHED).await.unwrap().count("success"), 1);

        // By a row of its own an operator would have the poller do what its role may not.
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox_operation").await, 0);
        let other_s = "INSERT INTO outbox_operation (id, action, state) VALUES (1, 'purge', '{}')";
        granted.owner.sql(other_s).await;
        assert_eq!(outbox_desk::operations(&operator, None, 9).await.unwrap().operations.len(), 1);
        assert!(operator.stop(1, &author).await.unwrap().unwrap().stopped);

        for sql in [
            "INSERT INTO outbox_operation (id, action, state) VALUES (2, 'purge', '{}')",
            "UPDATE outbox_operation SET state = '{}'",
            "DELETE FROM outbox_operation",
            "INSERT INTO outbox (channel, target, payload) VALUES ('http', '/hook', '{}')",
            "UPDATE outbox SET channel = 'other'",
            "UPDATE outbox_term SET epoch = 9",
            "DELETE FROM outbox_destination",
            "UPDATE outbox_destination SET ramp_from = NULL",
            "UPDATE outbox_invalid_target SET reason = 'mine'",
            "INSERT INTO outbox_invalid_target (channel, target) VALUES ('http', 'mine')",
            "DELETE FROM outbox_minute",
            "UPDATE outbox_recurring SET fired_for = NULL",
            "INSERT INTO outbox_recurring SELECT * FROM outbox_recurring",
            "UPDATE outbox_job SET skips = 0",
            "UPDATE outbox_job_token SET token = token + 1",
            "UPDATE outbox_job_run SET ended_because = 'finished'",
            "INSERT INTO outbox_job_run (name, token, holder, host, pid, command) SELECT name, 9, holder, host, pid, command FROM outbox_job_run",
            "DELETE FROM outbox_job_run",
            "UPDATE outbox_alert SET told_at = NULL",
            "DELETE FROM outbox_claim",
            "INSERT INTO outbox_claim SELECT * FROM outbox_claim",
            "UPDATE outbox_audit SET who = 'nobody'",
            "DELETE FROM outbox_audit",
            "DELETE FROM outbox_term",
            "UPDATE outbox_meta SET environment = 'mine'",
            "DROP TABLE outbox_lease",
        ] {
            refused(&granted.operator, granted.owner.dialect(), sql).await;
        }
    }
}

/// Each statement of a poller about recurring messages.
async fn recur(outbox: &Outbox) {
    let term = term(outbox, "recurs").await;
    let first = known(outbox, &term).await;
    assert!(outbox.database.take_step(&term, &fire(&[first])).await.unwrap());
}

/// Each statement of `outbox exclusive`.
async fn run_jobs(outbox: &Outbox) {
    let crashes = begin(outbox).await;
    let run = begin(outbox).await;
    assert!(!outbox.database.run_goes_on(&crashes).await.unwrap());
    assert!(outbox.database.run_goes_on(&run).await.unwrap());
    end(outbox, &run, RunEnd::Finished).await;
    outbox.database.skip_run(JOB).await.unwrap();
    outbox.database.remove_job_runs(Duration::ZERO).await.unwrap();
    assert_eq!(outbox.database.jobs().await.unwrap()[0].state, "completed");
}

#[tokio::test]
async fn an_application_fences_the_transactions_of_a_job_and_reads_and_changes_no_job() {
    for granted in granted().await {
        let (dialect, role) = (granted.owner.dialect(), &granted.application_role);
        let run = begin(&granted.owner).await;
        let (fence, script) = match dialect {
            Dialect::Postgres => (
                format!("SELECT {SCHEMA}.outbox_job_fence('{JOB}', {})", run.token),
                format!(
                    "\\set schema {SCHEMA}\n\\set application {role}\n{}",
                    include_str!("../../../../outbox-schema/grants/postgres_job.sql")
                ),
            ),
            Dialect::MySql | Dialect::Sqlite => (
                format!("CALL outbox_job_fence('{JOB}', {})", run.token),
                include_str!("../../../../outbox-schema/grants/mysql_job.sql")
                    .replace("APPLICATION", &format!("'{role}'@'%'")),
            ),
        };
        refused(&granted.application, dialect, &fence).await;
        granted.owner.run_client(&script);
        transaction(&granted.application, &[Step::Sql(&fence)], "COMMIT").await;
        for sql in [
            "SELECT name FROM outbox_job",
            "SELECT token FROM outbox_job_token",
            "SELECT command FROM outbox_job_run",
            "SELECT status FROM outbox_job_status",
            "UPDATE outbox_job_token SET token = 9",
            "DELETE FROM outbox_job_run",
        ] {
            refused(&granted.application, dialect, sql).await;
        }
    }
}

/// Each statement about figures, with rows to work on.
async fn keep_figures(outbox: &Outbox) {
    for days in [3, 100] {
        let age = Duration::from_hours(24 * days);
        outbox.database.add_figures(Shard::default(), age, &delivered("http", 1, None)).await.unwrap();
    }
    while outbox.database.roll_figures_up().await.unwrap() {}
    outbox.database.remove_figures(Duration::from_hours(24 * 90)).await.unwrap();
    assert_eq!(outbox.database.figures(&FiguresFilter::default()).await.unwrap().channels, []);
}

/// Each statement of retention, with rows to work on.
async fn remove_what_is_old(outbox: &Outbox, owner: &Outbox) {
    let at_once = Retention { success: Some(Duration::ZERO), dead: Some(Duration::ZERO), ..Retention::default() };
    let orphan = "INSERT INTO outbox_attempt (message_id, number, epoch, holder, outcome) \
                  SELECT -1, 1, 1, 'x', 'retry' FROM outbox_meta";
    owner.sql(orphan).await;
    let stretch = outbox.database.overdue(&at_once, BEGINNING).await.unwrap();
    assert!(!outbox.database.remove(&at_once, &stretch).await.unwrap().is_empty());
    assert_eq!(owner.number("SELECT count(*) FROM outbox WHERE status <> 'PENDING'").await, 0);
    assert_eq!(owner.number("SELECT count(*) FROM outbox_attempt WHERE message_id = -1").await, 0);
    owner.sql("UPDATE outbox_term SET epoch = epoch + 2000").await;
    owner.sql("UPDATE outbox_term_log SET started_at = '2001-01-01 00:00:00'").await;
    assert!(!outbox.database.prune_terms().await.unwrap());
    let forgotten =
        "INSERT INTO outbox_destination (destination, paused_until) VALUES ('forgotten', '2001-01-01 00:00:00')";
    owner.sql(forgotten).await;
    assert_eq!(outbox.database.prune_destinations("").await.unwrap(), None);
    assert_eq!(owner.number("SELECT count(*) FROM outbox_destination WHERE destination = 'forgotten'").await, 0);
    assert_eq!(owner.number("SELECT count(*) FROM outbox_term_log").await, 0);
}

pub(crate) async fn enqueue_as(outbox: &Outbox) {
    let enqueued = match &outbox.database {
        outbox_store::Database::Postgres(pool) => enqueue_some(&mut *pool.acquire().await.unwrap()).await,
        outbox_store::Database::MySql(pool) => enqueue_some(&mut *pool.acquire().await.unwrap()).await,
        outbox_store::Database::Sqlite(pool) => enqueue_some(&mut *pool.acquire().await.unwrap()).await,
    };
    assert!(enqueued.iter().all(Enqueued::is_inserted));
}

/// Each statement of the store and of the desk, at least once, with rows to work on.
async fn a_life_of_messages(outbox: &Outbox, owner: &Outbox) {
    enqueue_as(outbox).await;
    let store = outbox.database.store();
    let first = Poller::begin(&outbox.database, "one").await;
    let (claim, messages) = first.claim().await;
    assert_eq!(messages.len(), 4);
    first.mark_some(claim, &messages[..1], &Verdict::Success { receipt: None }, &[]).await;
    store.end_term(&first.term, TermEnd::Shutdown, TermCounts::default()).await.unwrap();

    // The rows that were claimed and never marked are settled once their claim says so; here, at once.
    let second = Poller::begin(&outbox.database, "two").await;
    owner.sql("UPDATE outbox_claim SET settling_ms = 0, settling_closed_ms = 0").await;
    second.settle().await;
    let (claim, messages) = second.look_and_claim().await;
    assert_eq!(messages.len(), 3);
    let (dead, deferred) = messages.split_at(messages.len() / 2);
    let gone = Verdict::Dead { reason: outbox_store::DeadReason::Permanent, attempted: true, invalid_target: true };
    second.mark_some(claim, dead, &gone, &[]).await;
    let pause = Verdict::Deferred { after: Duration::from_hours(1) };
    second.mark(claim, deferred, &pause).await;
    store.wakeups().await.unwrap();

    let vitals = outbox.database.vitals(&[]).await.unwrap();
    assert_eq!(vitals.paused.len(), 1);
    assert_eq!(outbox.database.terms(9).await.unwrap().len(), 2);
    assert!(outbox.database.message(messages[0].id()).await.unwrap().is_some());
    assert!(outbox.database.message_by_key(&messages[0].idempotency_key).await.unwrap().is_some());
    outbox_desk::durability(&outbox.database).await.unwrap();
    assert_eq!(by_hand(&outbox.database).await, [dead[0].id()]);
    destinations(outbox).await;
}

/// Each statement about destinations, a poller's and people's, with rows to work on.
async fn destinations(outbox: &Outbox) {
    const DESTINATION: &str = "https://slow.example:443";
    let database = &outbox.database;
    let poller = Poller::begin(database, "three").await;
    outbox.sql("INSERT INTO outbox (channel, target, payload) VALUES ('unknown', '/', '{}')").await;
    assert!(poller.claim().await.1.is_empty());
    let rows = "INSERT INTO outbox (channel, target, payload) VALUES ('http', 'https://slow.example/', '{}')";
    outbox.sql(&format!("{rows}, ('http', 'https://slow.example/', '{{}}')")).await;
    let (from, step, most) = (Duration::from_secs(10), Duration::from_secs(1), Duration::from_mins(5));
    let reason = Some("it is slow".to_owned());
    let aside = [Aside { destination: DESTINATION.to_owned(), whole_channel: false, from, step, most, reason }];
    assert_eq!(database.put_aside(&poller.term, &aside, &[], &mut Look::of(1)).await.unwrap(), [1]);
    assert_eq!(database.bring_back(&poller.term, DESTINATION, 9).await.unwrap().rows, 1);
    database.remember_ramp(DESTINATION, from).await.unwrap();
    assert_eq!(database.put_aside(&poller.term, &aside, &[], &mut Look::of(9)).await.unwrap(), [2]);
    pause_and_resume(database, DESTINATION, 2).await;
}

/// By hand.
async fn pause_and_resume(database: &outbox_store::Database, destination: &str, waiting: u64) {
    let author = Author { who: "ada".to_owned(), why: "to see that it may".to_owned() };
    database.pause(destination, None, &author).await.unwrap();
    assert_eq!(database.changes_by_hand().await.unwrap().len(), 1);
    assert!(!database.destinations(false).await.unwrap().is_empty());
    assert_eq!(database.resume(destination, &author).await.unwrap().brought_back, waiting);
    assert!(database.invalid_targets(&InvalidTargetSelection::default(), None, 9).await.unwrap().total > 0);
}

/// Each statement of those who change messages by hand, but for the purge; gives the dead letters that are left.
async fn by_hand(database: &outbox_store::Database) -> Vec<MessageId> {
    let author = Author { who: "ada".to_owned(), why: "to see that it may".to_owned() };
    let filter = DeadLetterFilter { error_contains: Some("teapot".to_owned()), ..DeadLetterFilter::default() };
    let letters = database.dead_letters(&filter, &[], None, 1).await.unwrap().letters;
    let (id, revision) =
        (MessageId(letters[0].id), database.message(MessageId(letters[0].id)).await.unwrap().unwrap().revision);
    let revised = Revised::new("http", "/other", "2", BTreeMap::new()).unwrap();
    let edited = database.edit(id, revision, &revised, &author).await.unwrap();
    assert!(matches!(edited, Edited::Done { .. }), "{edited:?}");
    let all = Selection::Filter(DeadLetterFilter::default());
    assert!(!database.dead_groups(&all).await.unwrap().is_empty());
    let redriven = database.redrive(&all, Pace::default(), &author).await.unwrap();
    assert!(redriven.changed > 0, "{redriven:?}");
    let undone = database.undo(redriven.audit_id.unwrap(), &author).await.unwrap();
    assert_eq!(undone.changed, redriven.changed);
    database.redrive(&Selection::Ids(vec![id]), Pace::default(), &author).await.unwrap();
    let due = database.retry(&MessageSelection::Ids(vec![id]), &author).await.unwrap();
    assert_eq!(due.refused().unwrap().because, Refusal::Due);
    // All that is asked of a message that waits.
    outbox_desk::facts(database, id, &["http".to_owned()]).await.unwrap().unwrap();
    assert_eq!(database.cancel(id, &author).await.unwrap(), Cancelled::Done { id });
    sent(&redriven)
}

async fn enqueue_some<C: outbox_schema::OutboxConnection>(connection: &mut C) -> Vec<Enqueued> {
    let messages = ["1", "2", "3", "4"].map(|key| NewMessage::http("/hook").idempotency_key(key));
    outbox_schema::enqueue_all(connection, &messages).await.unwrap()
}

/// What they make there could be called with the rights of others.
#[tokio::test]
async fn whoever_may_create_in_the_schema_of_the_tables_is_told_of_by_migrate_and_check() {
    let [granted, _] = granted().await;
    let program = Program::new(&granted.owner.test.url, &format!("[database]\nschema = \"{SCHEMA}\""));
    for command in ["check", "migrate"] {
        let ran = program.run(&[command]).await;
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("may create"), "{}{}", ran.stdout, ran.stderr);
    }
    let role = &granted.application_role;
    granted.owner.sql(&format!("GRANT CREATE ON SCHEMA {SCHEMA} TO PUBLIC, {role}")).await;
    for command in ["check", "migrate"] {
        let ran = program.run(&[command]).await;
        let told = format!("{}{}", ran.stdout, ran.stderr);
        for to in ["PUBLIC", role] {
            assert!(told.contains(&format!("REVOKE CREATE ON SCHEMA {SCHEMA} FROM {to}")), "{command}: {told}");
        }
    }
}

/// `public` belongs to whoever owns the database, so no grant shows that this role may create there.
#[tokio::test]
async fn whoever_may_create_because_the_schema_is_theirs_is_told_of_by_migrate_and_check() {
    let [outbox, ..] = outboxes::empty().await;
    let [database, unique] = [&outbox.test.name, &outbox.test.name[outbox.test.name.len() - 12..]];
    let [owner, shop, group] = ["own", "shop", "team"].map(|role| format!("{role}_{unique}"));
    outbox.run_client(&format!(
        "CREATE ROLE {owner} LOGIN; CREATE ROLE {shop} LOGIN; CREATE ROLE {group};\n\
         ALTER DATABASE {database} OWNER TO {shop}; GRANT CREATE ON SCHEMA public TO {owner};"
    ));
    let program = Program::new(&outbox.test.url.replacen("postgres@", &format!("{owner}@"), 1), "");
    let told = async || {
        let mut told = Vec::new();
        for command in ["migrate", "check"] {
            let ran = program.run(&[command]).await;
            told.push(format!("{}{}", ran.stdout, ran.stderr));
        }
        told
    };
    let named = async |role: &str| {
        for said in told().await {
            assert!(said.contains(&format!("{role} may create functions and operators")), "{said}");
            assert!(said.contains(&format!("ALTER SCHEMA public OWNER TO {owner}")), "{said}");
        }
    };
    let nobody = async || {
        for said in told().await {
            assert!(!said.contains("may create"), "{said}");
        }
    };
    named(&shop).await;
    // A group in which only the owner is does no harm.
    outbox.run_client(&format!("GRANT {group} TO {owner}; ALTER SCHEMA public OWNER TO {group};"));
    nobody().await;
    outbox.run_client(&format!("GRANT {group} TO {shop};"));
    named(&group).await;
    outbox.run_client(&format!("ALTER SCHEMA public OWNER TO {owner};"));
    nobody().await;
}
