//! Wake-ups: a commit wakes a poller that is idle, and only such a one; where the database gives none, an application does.

use std::time::{Duration, Instant};

use outbox_store::Database;
use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, PATIENCE, Settings};
use outbox_tests::servers::{self, Redis};
use outbox_tests::stage::Stage;
use serde_json::{Value, json};
use sqlx::postgres::PgListener;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};

use crate::outboxes::{self, Outbox};
use crate::program::Program;

const INSERT: &str = "INSERT INTO outbox (channel, target, payload) VALUES ('http', '/hook', '{}')";

const SLEEPERS: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted \
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// A fleet of one, in one term, that polls by itself when this test is long over.
async fn poller_of_hints() -> (Stage, Fleet, PgPool) {
    let stage = Stage::set(servers::postgres().await.database().await, Duration::ZERO).await;
    let terms = Settings { term: Duration::from_hours(1), ..stage.settings(None) };
    let fleet = Fleet::start(&Settings { more: "dispatch.poll_interval = \"1h\"".to_owned(), ..terms }, 1);
    let Database::Postgres(pool) = outboxes::connect(&stage.database.url, None).await else {
        panic!("it is PostgreSQL")
    };
    (stage, fleet, pool)
}

async fn sleepers(pool: &PgPool) -> i64 {
    sqlx::query_scalar(SLEEPERS).fetch_one(pool).await.unwrap()
}

async fn idle(pool: &PgPool) {
    eventually("the poller is idle", PATIENCE, async || (sleepers(pool).await == 1).then_some(())).await;
}

/// What the trigger notifies in a schema.
async fn hints(pool: &PgPool, schema: &str) -> String {
    let name = "SELECT 'outbox_' || oid FROM pg_class WHERE relname = 'outbox' AND relnamespace = $1::regnamespace";
    sqlx::query_scalar(name).bind(schema).fetch_one(pool).await.unwrap()
}

async fn arrived(stage: &Stage, messages: usize) {
    eventually("they arrive", PATIENCE, async || (stage.receiver.count() == messages).then_some(())).await;
}

#[tokio::test]
async fn commits_give_hints_only_while_they_are_wanted() {
    let [outbox, _, _] = outboxes::migrated().await;
    let Database::Postgres(pool) = outboxes::connect(&outbox.test.url, None).await else { panic!("it is PostgreSQL") };
    let mut heard = PgListener::connect_with(&pool).await.unwrap();
    let hints = hints(&pool, "public").await;
    heard.listen(&hints).await.unwrap();
    let store = outbox.database.store();
    let mut wakeups = store.wakeups().await.unwrap().unwrap();
    for wanted in [false, true, false, true] {
        wakeups.want(wanted).await.unwrap();
        outbox.sql(INSERT).await;
        outbox.sql(&format!("NOTIFY {hints}, 'the next'")).await;
        if wanted {
            assert_eq!(heard.recv().await.unwrap().payload(), "");
            wakeups.wait().await.unwrap();
        }
        assert_eq!(heard.recv().await.unwrap().payload(), "the next");
    }
}

/// Its commit must not fail for a wake-up: polling alone always suffices.
#[tokio::test]
async fn a_hint_that_cannot_be_given_fails_no_insert() {
    let [outbox, _, _] = outboxes::migrated().await;
    let Database::Postgres(pool) = outboxes::connect(&outbox.test.url, None).await else { panic!("it is PostgreSQL") };
    let hints = hints(&pool, "public").await;
    let mut heard = PgListener::connect_with(&pool).await.unwrap();
    heard.listen(&hints).await.unwrap();
    let store = outbox.database.store();
    let mut wakeups = store.wakeups().await.unwrap().unwrap();
    wakeups.want(true).await.unwrap();
    let role = format!("shop_{}", &outbox.test.name[outbox.test.name.len() - 12..]);
    let may_not = format!(
        "CREATE ROLE {role}; GRANT INSERT ON outbox TO {role};
         REVOKE EXECUTE ON FUNCTION pg_catalog.pg_notify FROM PUBLIC; SET ROLE {role}"
    );
    let fills_up = "CREATE OR REPLACE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS double precision
                    LANGUAGE sql AS 'SELECT 0.6::double precision'";
    for without in ["SET outbox.wakeup = 'off'", "BEGIN; SET LOCAL outbox.wakeup = 'OFF'", &may_not, fills_up] {
        let mut application = PgConnection::connect(&outbox.test.url).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("{without}; {INSERT}; COMMIT"))).execute(&mut application).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("NOTIFY {hints}, 'no hint'"))).execute(&pool).await.unwrap();
        assert_eq!(heard.recv().await.unwrap().payload(), "no hint", "{without}");
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 4);
}

#[tokio::test]
async fn an_application_that_prepares_its_transactions_does_without_hints_as_the_check_says() {
    let server = servers::Postgres::start().await;
    let test = server.database().await;
    let mut admin = PgConnection::connect(&test.url).await.unwrap();
    sqlx::raw_sql("ALTER SYSTEM SET max_prepared_transactions = 5").execute(&mut admin).await.unwrap();
    server.kill().await;
    server.restart().await;
    let outbox = Outbox::open(test).await;
    outbox.database.migrate("default").await.unwrap();
    let store = outbox.database.store();
    let mut wakeups = store.wakeups().await.unwrap().unwrap();
    wakeups.want(true).await.unwrap();
    let prepares = async || {
        let mut application = PgConnection::connect(&outbox.test.url).await.unwrap();
        let prepare = format!("BEGIN; {INSERT}; PREPARE TRANSACTION 'one'");
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut application).await?;
        sqlx::raw_sql("COMMIT PREPARED 'one'").execute(&mut application).await.map(drop)
    };
    let program = Program::new(&outbox.test.url, "");
    let named = "max_prepared_transactions = 5";
    let told = prepares().await.unwrap_err().to_string();
    assert!(told.contains("cannot PREPARE a transaction that has executed"), "{told}");
    let checked = program.run(&["check"]).await.done();
    assert!(checked.contains(named) && checked.contains("SET outbox.wakeup = 'off'"), "{checked}");

    outbox.sql("ALTER ROLE postgres SET outbox.wakeup = 'off'").await;
    prepares().await.unwrap();
    assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 1);
    let checked = program.run(&["check"]).await.done();
    assert!(!checked.contains(named), "{checked}");
}

/// Commits notify while anybody holds the lock, so the listener need not have it.
#[tokio::test]
async fn a_listener_does_not_wait_for_a_stranger_who_holds_the_lock_of_hints() {
    let [outbox, _, _] = outboxes::migrated().await;
    let Database::Postgres(pool) = &outbox.database else { panic!("it is PostgreSQL") };
    let mut stranger = pool.acquire().await.unwrap();
    let lock = "SELECT pg_advisory_lock(-('outbox'::regclass::oid::bigint << 16))";
    sqlx::raw_sql(lock).execute(&mut *stranger).await.unwrap();
    let store = outbox.database.store();
    let mut wakeups = store.wakeups().await.unwrap().unwrap();
    let wanting = tokio::time::timeout(Duration::from_secs(4), wakeups.want(true)).await;
    wanting.expect("it does not wait").expect("it goes on listening");
    outbox.sql(INSERT).await;
    wakeups.wait().await.unwrap();
}

/// The name of what is notified may be no longer than that of a schema.
#[tokio::test]
async fn a_commit_in_a_schema_with_a_long_name_gives_its_hint_there_only() {
    let [outbox, _, _] = outboxes::migrated().await;
    let mut sleepers = Vec::new();
    let schemas = ["a", "b"].map(|last| "s".repeat(59) + last);
    for schema in &schemas {
        let database = outboxes::connect(&outbox.test.url, Some(schema)).await;
        database.migrate("default").await.unwrap();
        let mut wakeups = database.store().wakeups().await.unwrap().unwrap();
        wakeups.want(true).await.unwrap();
        sleepers.push(wakeups);
    }
    let Database::Postgres(pool) = &outbox.database else { panic!("it is PostgreSQL") };
    let mut heard = PgListener::connect_with(pool).await.unwrap();
    for schema in &schemas {
        heard.listen(&hints(pool, schema).await).await.unwrap();
    }
    for (schema, wakeups) in schemas.iter().zip(&mut sleepers) {
        outbox.sql(&INSERT.replace("outbox", &format!("{schema}.outbox"))).await;
        wakeups.wait().await.unwrap();
        assert_eq!(heard.recv().await.unwrap().channel(), hints(pool, schema).await);
    }
}

#[tokio::test]
async fn a_listener_that_is_given_up_while_its_outbox_goes_on_wants_no_hints() {
    let [outbox, _, _] = outboxes::migrated().await;
    let Database::Postgres(pool) = outboxes::connect(&outbox.test.url, None).await else { panic!("it is PostgreSQL") };
    let store = outbox.database.store();
    let mut wakeups = store.wakeups().await.unwrap().unwrap();
    wakeups.want(true).await.unwrap();
    assert_eq!(sleepers(&pool).await, 1);
    drop(wakeups);
    let gone = async || (sleepers(&pool).await == 0).then_some(());
    eventually("its lock is gone", PATIENCE, gone).await;
}

#[tokio::test]
async fn a_commit_wakes_a_poller_that_is_asleep() {
    let (stage, _fleet, pool) = poller_of_hints().await;
    for sent in 0..3 {
        idle(&pool).await;
        sqlx::query(INSERT).execute(&pool).await.unwrap();
        arrived(&stage, sent + 1).await;
    }
}

/// Its insert saw the poller active, so its commit gave no wake-up; and by then nobody was active.
#[tokio::test]
async fn a_transaction_that_saw_the_poller_awake_and_outlasts_it_is_found() {
    let (stage, _fleet, pool) = poller_of_hints().await;
    // An application's own connection: a session of ours that pauses for two seconds within a transaction is ended.
    let mut application = PgConnection::connect(&stage.database.url).await.unwrap();
    let mut committed = 0;
    loop {
        let mut slow = application.begin().await.unwrap();
        sqlx::query("SELECT count(*) FROM outbox WHERE id = 0").execute(&mut *slow).await.unwrap();
        for row in 0..200 {
            sqlx::query(INSERT).execute(&pool).await.unwrap();
            if row == 100 {
                sqlx::query(INSERT).execute(&mut *slow).await.unwrap();
            }
        }
        committed += 201;
        arrived(&stage, committed - 1).await;
        idle(&pool).await;
        // The transaction takes its time: by now the poller has looked everywhere.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut heard = PgListener::connect_with(&pool).await.unwrap();
        let hints = hints(&pool, "public").await;
        heard.listen(&hints).await.unwrap();
        slow.commit().await.unwrap();
        arrived(&stage, committed).await;
        sqlx::query(AssertSqlSafe(format!("NOTIFY {hints}, 'no hint'"))).execute(&pool).await.unwrap();
        // On a machine that is held up the poller may have been idle in between: once more.
        if heard.recv().await.unwrap().payload() == "no hint" {
            break;
        }
    }
}

/// How long a poller that finds nothing looks ever later, until its next poll is far away.
const FAST_ASLEEP: Duration = Duration::from_secs(7);

/// Within this a message whose wake-up is lost would not arrive: that poller polls some 15 s later, then every 30 s.
const BY_A_WAKE_UP: Duration = Duration::from_secs(8);

/// Does this on each outbox whose database gives no wake-ups.
async fn on_each(check: impl AsyncFn(Stage)) {
    let mariadb = Stage::set(servers::mariadb().await.database().await, Duration::ZERO).await;
    let sqlite = Stage::set(servers::sqlite(), Duration::ZERO).await;
    tokio::join!(check(mariadb), check(sqlite));
}

/// Replicas in one long term that poll by themselves every 30 s.
fn sleepers_of(stage: &Stage, redis: Option<String>, replicas: usize) -> Fleet {
    let terms = Settings { term: Duration::from_hours(1), ..stage.settings(redis) };
    let more = "dispatch.poll_interval = \"30s\"\nadmin.token = \"s3cret\"".to_owned();
    Fleet::start(&Settings { more, ..terms }, replicas)
}

/// Where applications of an outbox publish.
async fn wake_channel(stage: &Stage) -> String {
    let database = outboxes::connect(&stage.database.url, None).await;
    format!("outbox:{{{}}}:wake", database.require("default").await.unwrap().outbox_id)
}

async fn listeners(redis: &Redis, channel: &str) -> u64 {
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut ask = redis::cmd("PUBSUB");
    let found: Vec<(String, u64)> = ask.arg("NUMSUB").arg(channel).query_async(&mut connection).await.unwrap();
    found[0].1
}

async fn heard_by_the_poller(redis: &Redis, channel: &str) {
    eventually("the poller listens", PATIENCE, async || (listeners(redis, channel).await == 1).then_some(())).await;
}

/// Commits one message that an idle poller does not find, has `wake` do so, and waits for the message.
async fn woken_by(stage: &mut Stage, wake: impl AsyncFnOnce()) {
    let before = stage.receiver.count();
    tokio::time::sleep(FAST_ASLEEP).await;
    stage.application.insert(1, "/hook").await;
    let asked = Instant::now();
    wake().await;
    arrived(stage, before + 1).await;
    assert!(asked.elapsed() < BY_A_WAKE_UP, "it took {:?}", asked.elapsed());
}

/// Asks a replica to wake the poller.
async fn post_wake(fleet: &Fleet, place: usize, token: &str) -> (u16, Value) {
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/api/v1/wake", fleet.listener(place));
    let answer = client.post(url).bearer_auth(token).send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

#[tokio::test]
async fn an_application_that_may_only_publish_on_one_channel_wakes_the_poller() {
    let redis = &Redis::start().await;
    on_each(async |mut stage| {
        let channel = wake_channel(&stage).await;
        let user = format!("shop_{}", &channel[8..16]);
        let rule = format!("&{channel}");
        redis.command(&["ACL", "SETUSER", &user, "reset", "on", ">pw", &rule, "+publish"]).await;
        let _fleet = sleepers_of(&stage, Some(redis.url()), 2);
        heard_by_the_poller(redis, &channel).await;

        let client = redis::Client::open(redis.url().replace("//", &format!("//{user}:pw@"))).unwrap();
        let mut application = client.get_multiplexed_async_connection().await.unwrap();
        for forbidden in [["PUBLISH", "outbox:other:wake"], ["SUBSCRIBE", &channel], ["GET", "outbox:lease"]] {
            let mut command = redis::cmd(forbidden[0]);
            command.arg(&forbidden[1..]).arg((forbidden[0] == "PUBLISH").then_some(""));
            let refused = command.query_async::<redis::Value>(&mut application).await.unwrap_err();
            assert_eq!(refused.code(), Some("NOPERM"), "{forbidden:?}: {refused}");
        }
        woken_by(&mut stage, async || {
            let mut publish = redis::cmd("PUBLISH");
            let heard: u64 = publish.arg(&channel).arg("").query_async(&mut application).await.unwrap();
            assert_eq!(heard, 1, "only the poller listens");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn whichever_replica_is_asked_to_the_poller_wakes_where_the_lease_is_in_redis() {
    let redis = &Redis::start().await;
    on_each(async |mut stage| {
        let channel = wake_channel(&stage).await;
        let fleet = sleepers_of(&stage, Some(redis.url()), 2);
        heard_by_the_poller(redis, &channel).await;
        let poller = fleet.poller(&stage.tables).await.place;
        for (asked, woken) in [(poller, "this_replica"), (1 - poller, "poller")] {
            woken_by(&mut stage, async || {
                assert_eq!(post_wake(&fleet, asked, "s3cret").await, (200, json!({ "woken": woken })));
            })
            .await;
        }
        assert_eq!(post_wake(&fleet, poller, "wrong").await.0, 401);
    })
    .await;
}

#[tokio::test]
async fn with_the_lease_in_the_database_only_the_poller_takes_a_hint_and_another_replica_says_so() {
    on_each(async |mut stage| {
        let fleet = sleepers_of(&stage, None, 2);
        let poller = fleet.poller(&stage.tables).await.place;
        woken_by(&mut stage, async || {
            let (status, problem) = post_wake(&fleet, 1 - poller, "s3cret").await;
            assert_eq!((status, &problem["type"]), (409, &json!("urn:outbox:problem:not-the-poller")));
            assert_eq!(post_wake(&fleet, poller, "s3cret").await, (200, json!({ "woken": "this_replica" })));
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_poller_whose_subscription_is_lost_listens_again() {
    let redis = &Redis::start().await;
    on_each(async |mut stage| {
        let channel = wake_channel(&stage).await;
        let fleet = sleepers_of(&stage, Some(redis.url()), 1);
        heard_by_the_poller(redis, &channel).await;
        redis.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
        let lost = async || (!fleet.lines(0, "wakeup.lost").is_empty()).then_some(());
        eventually("the loss is seen", PATIENCE, lost).await;
        heard_by_the_poller(redis, &channel).await;
        woken_by(&mut stage, async || redis.command(&["PUBLISH", &channel, ""]).await).await;
        assert_eq!(fleet.led().len(), 1, "its term goes on");
    })
    .await;
}

#[tokio::test]
async fn what_the_command_line_enqueues_wakes_the_poller() {
    let redis = &Redis::start().await;
    on_each(async |stage| {
        let channel = wake_channel(&stage).await;
        let _fleet = sleepers_of(&stage, Some(redis.url()), 1);
        heard_by_the_poller(redis, &channel).await;
        let program = Program::new(&stage.database.url, &format!("[lease]\nurl = \"{}\"\n", redis.url()));
        let before = stage.receiver.count();
        tokio::time::sleep(FAST_ASLEEP).await;
        let enqueued = Instant::now();
        program.run(&["enqueue", "--channel", "http", "--target", "/hook", "--payload", "{}", "--force"]).await.done();
        arrived(&stage, before + 1).await;
        assert!(enqueued.elapsed() < BY_A_WAKE_UP, "it took {:?}", enqueued.elapsed());

        // Without that Redis it says so, and the message is committed all the same.
        let program = Program::new(&stage.database.url, "[lease]\nurl = \"redis://127.0.0.1:1\"\n");
        let ran =
            program.run(&["enqueue", "--channel", "http", "--target", "/hook", "--payload", "{}", "--force"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("the poller was not woken"), "{ran:?}");
    })
    .await;
}
