//! `/readyz` names the cause, each brought about on real servers; `/healthz` fails where only a restart helps.

use std::str::FromStr;
use std::time::Duration;

use outbox_dispatcher::fault_point::Point;
use outbox_schema::NewMessage;
use outbox_store::{Dialect, SCHEMA_VERSION};
use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, Settings};
use outbox_tests::receiver::Receiver;
use outbox_tests::servers::{self, MariaDb, Postgres, Redis, TestDatabase};
use outbox_tests::stage::Stage;
use serde_json::Value;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, MySqlConnection};

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};

/// A lease that is missed soon.
const SHORT: &str = "[lease]\nttl = \"1s\"\nterm = \"1s\"\n";

pub(crate) async fn get(address: &str, path: &str) -> (u16, String) {
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("{address}{path}")).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Waits until the replica is not ready for a cause that has all these words; gives the cause.
pub(crate) async fn cause(address: &str, words: &[&str]) -> String {
    let named = async || {
        let (status, body) = get(address, "/readyz").await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        let causes: Vec<String> = serde_json::from_value(answer["causes"].clone()).unwrap();
        assert_eq!(status == 200, causes.is_empty(), "{body}");
        causes.into_iter().find(|cause| words.iter().all(|word| cause.contains(word)))
    };
    eventually(&format!("it is not ready, because of {words:?}"), PATIENCE, named).await
}

pub(crate) async fn ready(address: &str) {
    let is = async || (get(address, "/readyz").await.0 == 200).then_some(());
    eventually("it is ready", PATIENCE, is).await;
    let shown = async || get(address, "/metrics").await.1.contains("\noutbox_ready 1\n").then_some(());
    eventually("the metric says so", PATIENCE, shown).await;
}

/// A message of a channel that nobody has configured, due for a minute: whatever is done, it stays.
async fn aged_message(outbox: &Outbox) {
    let ago = match outbox.dialect() {
        Dialect::Postgres => "now() - interval '1 minute'",
        Dialect::MySql => "UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE",
        Dialect::Sqlite => "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) - 60000",
    };
    outbox
        .sql(&format!(
            "INSERT INTO outbox (channel, target, payload, created_at, available_at) \
             VALUES ('nobodys', 'x', '{{}}', {ago}, {ago})"
        ))
        .await;
}

#[tokio::test]
async fn messages_that_age_while_a_stranger_holds_the_lease_are_a_cause() {
    for outbox in outboxes::each().await {
        let later = match outbox.dialect() {
            Dialect::Postgres => "now() + interval '1 hour'",
            Dialect::MySql => "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR",
            Dialect::Sqlite => "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + 3600000",
        };
        outbox.sql(&format!("INSERT INTO outbox_lease (shard, holder, expires_at) VALUES (0, 'x', {later})")).await;
        let program = Program::new(&outbox.test.url, &format!("{HTTP}{SHORT}"));
        let mut replica = program.start();
        let address = replica.listener().await;
        ready(&address).await;
        aged_message(&outbox).await;
        cause(&address, &["poller: a message has been due for", "no replica has ever polled"]).await;
        let (_, metrics) = get(&address, "/metrics").await;
        assert!(metrics.contains("\noutbox_ready 0\n"), "{metrics}");
        assert_eq!(get(&address, "/healthz").await.0, 200, "a restart would not help");
        outbox.sql("DELETE FROM outbox_lease WHERE holder = 'x'").await;
        ready(&address).await;
    }
}

#[tokio::test]
async fn a_lease_store_and_a_database_that_are_down_are_causes_and_need_no_restart() {
    let (postgres, redis) = (Postgres::start().await, Redis::start().await);
    let url = postgres.database().await.url;
    let database = outboxes::connect(&url, None).await;
    database.migrate("default").await.unwrap();
    let settings = format!("{HTTP}{SHORT}url = \"{}\"\n", redis.url());
    let program = Program::new(&url, &settings);
    let mut replica = program.start();
    let address = replica.listener().await;
    ready(&address).await;
    redis.stop().await;
    cause(&address, &["lease store: no answer for", "so nobody can be elected"]).await;
    redis.restart().await;
    ready(&address).await;
    postgres.stop().await;
    cause(&address, &["database: "]).await;
    postgres.restart().await;
    ready(&address).await;
}

/// The note that has all these words, while the replica is ready.
async fn note(address: &str, words: &[&str]) -> String {
    let named = async || {
        let (_, body) = get(address, "/readyz").await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        let notes: Option<Vec<String>> = serde_json::from_value(answer["notes"].clone()).unwrap();
        notes.into_iter().flatten().find(|note| words.iter().all(|word| note.contains(word)))
    };
    eventually(&format!("it notes {words:?}"), PATIENCE, named).await
}

async fn no_note(address: &str) {
    let gone = async || (!get(address, "/readyz").await.1.contains("locks: ")).then_some(());
    eventually("it notes nothing", PATIENCE, gone).await;
}

/// The role that reaches the database may take any advisory lock.
#[tokio::test]
async fn the_advisory_locks_of_a_stranger_are_named_and_hints_go_on_being_heard() {
    let [outbox, ..] = outboxes::migrated().await;
    let receiver = Receiver::start(Duration::ZERO);
    // Nothing is delivered in time but by a hint.
    let program = Program::new(&outbox.test.url, &format!("[dispatch]\npoll_interval = \"1h\"\n{HTTP}"));
    let mut replica = program.start();
    let address = replica.listener().await;
    ready(&address).await;
    let options = PgConnectOptions::from_str(&outbox.test.url).unwrap().application_name("report");
    for (take, named) in [
        ("pg_advisory_lock(-('outbox'::regclass::oid::bigint << 16))", "asks for hints"),
        ("pg_advisory_lock_shared('outbox'::regclass::oid::bigint << 16)", "claims and cancellations"),
    ] {
        let mut stranger = options.connect().await.unwrap();
        let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut stranger).await.unwrap();
        if named.contains("hints") {
            // Its poller lets go of the lock when it wakes.
            let take = stranger.execute(AssertSqlSafe(format!("SELECT {take}")));
            let wakes = async {
                outbox.enqueue(&[NewMessage::http(format!("{}/hook", receiver.url()))]).await;
                std::future::pending::<()>().await;
            };
            tokio::select! { taken = take => drop(taken.unwrap()), () = wakes => {} }
        } else {
            stranger.execute(AssertSqlSafe(format!("SELECT {take}"))).await.unwrap();
        }
        let end = format!("SELECT pg_terminate_backend({pid})");
        let told = note(&address, &["locks: the session", named, &end]).await;
        assert!(told.contains("postgres, report"), "{told}");
        replica.says(&format!("the session {pid}")).await;
        assert_eq!(get(&address, "/readyz").await.0, 200);

        let before = outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await;
        outbox.enqueue(&[NewMessage::http(format!("{}/hook", receiver.url()))]).await;
        let delivered = async || {
            let now = outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await;
            (now > before).then_some(())
        };
        eventually("the hint is heard", PATIENCE, delivered).await;
        stranger.close().await.unwrap();
        no_note(&address).await;
    }
}

#[tokio::test]
async fn rows_that_another_transaction_locks_on_mariadb_are_named_with_its_session_while_messages_age() {
    let server = MariaDb::start().await;
    let outbox = apart(server.database().await).await;
    aged_message(&outbox).await;
    let program = Program::new(&outbox.test.url, &format!("{HTTP}{SHORT}"));
    let mut stranger = MySqlConnection::connect(&outbox.test.url).await.unwrap();
    let id: i64 = sqlx::query_scalar("SELECT CAST(CONNECTION_ID() AS SIGNED)").fetch_one(&mut stranger).await.unwrap();
    stranger.execute("SET autocommit = 0").await.unwrap();
    stranger.execute("SELECT id FROM outbox FOR UPDATE").await.unwrap();
    let mut replica = program.start();
    let address = replica.listener().await;
    note(&address, &["holds locks on rows", &format!("end it with KILL {id}")]).await;
    stranger.execute("ROLLBACK").await.unwrap();
    no_note(&address).await;
}

/// A message on the wire: its mark passes over the row, and waits.
#[tokio::test]
async fn a_session_that_locks_a_message_on_the_wire_on_postgres_is_named_while_its_mark_waits() {
    let [outbox, ..] = outboxes::migrated().await;
    let receiver = Receiver::start(Duration::from_secs(1));
    let program = Program::new(&outbox.test.url, HTTP);
    let mut replica = program.start();
    let address = replica.listener().await;
    ready(&address).await;
    let options = PgConnectOptions::from_str(&outbox.test.url).unwrap().application_name("report");
    let mut stranger = options.connect().await.unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut stranger).await.unwrap();
    outbox.enqueue(&[NewMessage::http(format!("{}/hook", receiver.url()))]).await;
    eventually("it is on the wire", PATIENCE, async || (receiver.count() == 1).then_some(())).await;
    stranger.execute("BEGIN").await.unwrap();
    stranger.execute("UPDATE outbox SET priority = 0").await.unwrap();
    let end = format!("SELECT pg_terminate_backend({pid})");
    let told = note(&address, &["holds locks on rows", "marks wait", &end]).await;
    assert!(told.contains("postgres, report, idle in transaction, since 20"), "{told}");
    replica.says(&format!("the session {pid}")).await;
    stranger.execute("ROLLBACK").await.unwrap();
    no_note(&address).await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 1);
}

/// A release or a renewal never leaves such a key behind.
#[tokio::test]
async fn a_key_of_the_lease_that_never_expires_is_a_cause_with_the_command_that_removes_it() {
    let (outbox, redis) = (Outbox::open(servers::sqlite()).await, Redis::start().await);
    let id = outbox.database.migrate("default").await.unwrap().meta.outbox_id;
    let key = format!("outbox:{{{id}}}:lease:0");
    redis.command(&["SET", &key, "stranger"]).await;
    let program = Program::new(&outbox.test.url, &format!("{HTTP}{SHORT}url = \"{}\"\n", redis.url()));
    let mut replica = program.start();
    let address = replica.listener().await;
    cause(&address, &["lease: no replica can be elected", &format!("remove it with DEL {key}")]).await;
    redis.command(&["DEL", &key]).await;
    ready(&address).await;
}

#[tokio::test]
async fn a_schema_that_is_too_old_is_a_cause() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        let address = replica.listener().await;
        ready(&address).await;
        outbox.sql("UPDATE outbox_meta SET schema_version = 0").await;
        cause(&address, &["schema: ", "version 0", "run `outbox migrate`"]).await;
    }
}

/// Between the first and the last step of a rolling upgrade.
#[tokio::test]
async fn newer_tables_that_serve_the_program_are_a_note_and_no_cause_and_a_replica_starts_on_them() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        let address = replica.listener().await;
        ready(&address).await;
        let newer = SCHEMA_VERSION + 1;
        outbox.sql(&format!("UPDATE outbox_meta SET schema_version = {newer}, serves_from = {SCHEMA_VERSION}")).await;
        let said = format!("the tables have version {newer}");
        let noted = async || Some(get(&address, "/readyz").await).filter(|(_, body)| body.contains(&said));
        let (status, body) = eventually("it notes the newer tables", PATIENCE, noted).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &answer["ready"], &answer["causes"]), (200, &true.into(), &Value::Array(Vec::new())));
        assert!(answer["notes"][0].as_str().unwrap().contains(&said), "{body}");

        let mut again = program.start();
        let line = again.says("run.newer_tables").await;
        assert!(line.contains(&said), "{line}");
        ready(&again.listener().await).await;
    }
}

/// An outbox on a server of its own: what holds its snapshots is this test's.
async fn apart(test: TestDatabase) -> Outbox {
    let database = outboxes::connect(&test.url, None).await;
    database.migrate("default").await.unwrap();
    Outbox { database, test }
}

/// The replica is ready while a snapshot is held and dead rows pile up, and not any more once a message that came later
/// has aged: then it says who `holds` it, and how to `end` it.
async fn a_snapshot_is_a_cause_once_messages_age(outbox: &Outbox, holds: &str, end: &str, ended: impl AsyncFnOnce()) {
    let program = Program::new(&outbox.test.url, HTTP);
    let mut replica = program.start();
    let address = replica.listener().await;
    ready(&address).await;
    // Nobody has configured its channel: whatever the poller does, it waits.
    outbox.sql("INSERT INTO outbox (channel, target, payload) VALUES ('nobodys', 'x', '{}')").await;
    let told = cause(&address, &["snapshot: a message has been due for", end]).await;
    assert!(told.contains(holds), "{told}");
    ended().await;
    ready(&address).await;
}

#[tokio::test]
async fn a_snapshot_that_keeps_dead_rows_on_postgresql_is_named_with_its_holder_while_messages_age() {
    let server = Postgres::start().await;
    let outbox = apart(server.database().await).await;
    let options = PgConnectOptions::from_str(&outbox.test.url).unwrap().application_name("report");
    let mut report = options.connect().await.unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut report).await.unwrap();
    report.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM outbox").await.unwrap();
    let rows = "SELECT 'http', '/x', '{}', 'SUCCESS', 1 FROM generate_series(1, 12000)";
    outbox.sql(&format!("INSERT INTO outbox (channel, target, payload, status, revision) {rows}")).await;
    outbox.sql("UPDATE outbox SET revision = revision + 1").await;

    // A role that may not see the sessions of others still learns whose it is.
    outbox.sql("CREATE ROLE blind LOGIN").await;
    let blind = outboxes::connect(&outbox.test.url.replacen("postgres@", "blind@", 1), None).await;
    let held = outbox_desk::held_back(&blind).await.unwrap();
    assert_eq!(held.missing_right, Some("GRANT pg_read_all_stats"));
    let (holder, end) = (held.holder.unwrap(), format!("SELECT pg_terminate_backend({pid})"));
    assert_eq!((holder.end.as_str(), holder.since), (end.as_str(), None));
    assert!(holder.who.contains("report") && holder.transactions.is_some(), "{}", holder.who);

    let ended = async || {
        let ended = outbox.number(&format!("SELECT pg_terminate_backend({pid})::integer::bigint")).await;
        assert_eq!(ended, 1);
    };
    a_snapshot_is_a_cause_once_messages_age(&outbox, "report, postgres, idle in transaction", &end, ended).await;
}

#[tokio::test]
async fn a_snapshot_that_keeps_old_rows_on_mariadb_is_named_with_its_holder_while_messages_age() {
    let server = MariaDb::start().await;
    let outbox = apart(server.database().await).await;
    let mut report = MySqlConnection::connect(&outbox.test.url).await.unwrap();
    let id: i64 = sqlx::query_scalar("SELECT CAST(CONNECTION_ID() AS SIGNED)").fetch_one(&mut report).await.unwrap();
    report.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    report.execute(AssertSqlSafe("START TRANSACTION WITH CONSISTENT SNAPSHOT")).await.unwrap();
    // What is counted there is transactions.
    outbox.run_client(
        "INSERT INTO outbox (channel, target, payload, status, revision) VALUES ('http', '/x', '{}', 'SUCCESS', 1);\n\
         DELIMITER //\n\
         CREATE PROCEDURE many() BEGIN DECLARE i integer DEFAULT 0; WHILE i < 12000 DO \
         UPDATE outbox SET revision = revision + 1; SET i = i + 1; END WHILE; END//\n\
         DELIMITER ;\n\
         CALL many();\n",
    );
    let end = format!("KILL {id}");
    let ended = async || outbox.sql(&end).await;
    a_snapshot_is_a_cause_once_messages_age(&outbox, "outbox, ", &end, ended).await;
}

#[tokio::test]
async fn an_account_of_mariadb_that_may_not_see_transactions_is_told_what_right_it_lacks() {
    let [_, outbox, sqlite] = outboxes::migrated().await;
    let name = format!("blind_{}", &outbox.test.name[outbox.test.name.len() - 12..]);
    outbox.run_client(&format!(
        "CREATE USER '{name}'@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON `{}`.* TO '{name}'@'%';",
        outbox.test.name
    ));
    let url = outbox.test.url.replacen("outbox@", &format!("{name}@"), 1);
    let blind = outboxes::connect(&url, None).await;
    let held = outbox_desk::held_back(&blind).await.unwrap();
    assert_eq!((held.missing_right, held.holder), (Some("GRANT PROCESS ON *.*"), None));
    let checked = Program::new(&url, HTTP).run(&["check"]).await.done();
    assert!(checked.contains("GRANT PROCESS ON *.* to this role"), "{checked}");
    let held = outbox_desk::held_back(&sqlite.database).await.unwrap();
    assert_eq!((held.missing_right, held.holder, held.dead_rows), (None, None, 0));
}

#[tokio::test]
async fn a_loop_that_hangs_for_good_fails_its_health_and_no_other_replicas() {
    let database = servers::postgres().await.database().await;
    let mut stage = Stage::set(database, Duration::ZERO).await;
    // Its term ends in good order, long before a watchdog takes the loop for wedged.
    let settings = Settings { term: Duration::from_secs(1), ..stage.settings(None) };
    let fleet = Fleet::with_fault_points(&settings, 2);
    let poller = fleet.poller(&stage.tables).await;
    let health = async |place| get(&format!("http://{}", fleet.listener(place)), "/healthz").await;
    assert_eq!(health(poller.place).await.0, 200);
    fleet.arm(poller.place, Point::Poll, "hang");
    let other = 1 - poller.place;
    let stuck = async || {
        let (status, text) = health(poller.place).await;
        (status == 503).then_some(text)
    };
    let text = eventually("its health says that it hangs", PATIENCE, stuck).await;
    assert!(text.contains("the loop of this replica hangs") && text.contains("restart this process"), "{text}");
    assert_eq!(health(other).await, (200, "ok".to_owned()));
    stage.application.insert(10, "/hook").await;
    stage.settled().await;
}
