//! Hints: a commit wakes a poller that is asleep, and only such a one.

use std::time::Duration;

use outbox_schema::Database;
use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, PATIENCE, Settings};
use outbox_tests::servers;
use outbox_tests::stage::Stage;
use sqlx::postgres::PgListener;
use sqlx::{AssertSqlSafe, PgPool};

use crate::outboxes;

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

async fn asleep(pool: &PgPool) {
    eventually("the poller is asleep", PATIENCE, async || (sleepers(pool).await == 1).then_some(())).await;
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
        asleep(&pool).await;
        sqlx::query(INSERT).execute(&pool).await.unwrap();
        arrived(&stage, sent + 1).await;
    }
}

/// Its insert saw the poller awake, so its commit gave no hint; and by then nobody was awake.
#[tokio::test]
async fn a_transaction_that_saw_the_poller_awake_and_outlasts_it_is_found() {
    let (stage, _fleet, pool) = poller_of_hints().await;
    let mut committed = 0;
    loop {
        let mut slow = pool.begin().await.unwrap();
        sqlx::query("SELECT count(*) FROM outbox WHERE id = 0").execute(&mut *slow).await.unwrap();
        for row in 0..200 {
            sqlx::query(INSERT).execute(&pool).await.unwrap();
            if row == 100 {
                sqlx::query(INSERT).execute(&mut *slow).await.unwrap();
            }
        }
        committed += 201;
        arrived(&stage, committed - 1).await;
        asleep(&pool).await;
        // The transaction takes its time: by now the poller has looked everywhere.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut heard = PgListener::connect_with(&pool).await.unwrap();
        let hints = hints(&pool, "public").await;
        heard.listen(&hints).await.unwrap();
        slow.commit().await.unwrap();
        arrived(&stage, committed).await;
        sqlx::query(AssertSqlSafe(format!("NOTIFY {hints}, 'no hint'"))).execute(&pool).await.unwrap();
        // On a machine that is held up the poller may have been asleep in between: once more.
        if heard.recv().await.unwrap().payload() == "no hint" {
            break;
        }
    }
}
