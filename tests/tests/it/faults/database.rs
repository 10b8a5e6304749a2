//! The outbox database restarts, loses its answers, refuses to write, or takes no connection.

use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Dice, Figures, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Place, Settings};
use outbox_tests::proxy::{Passage, Proxy};
use outbox_tests::servers::{self, Kind, MariaDb, Postgres, Server, TestDatabase};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgPool};

use super::IN_FLIGHT;

/// Pollers change meanwhile too.
const TERM: Duration = Duration::from_secs(2);

async fn setup(database: TestDatabase, max_in_flight: u32) -> Setup {
    let redis = servers::redis().await.url();
    Setup { database, redis: Some(redis), max_in_flight, fault_points: false }
}

/// Restarts the server again and again, in good order and by `kill -9`, while marks are in flight.
async fn restart_the_database<K: Kind>(
    dice: &mut Dice,
    figures: &mut Figures,
    server: &Server<K>,
    database: TestDatabase,
    max_in_flight: u32,
) {
    let in_flight = usize::try_from(max_in_flight).unwrap();
    let setup = setup(database, max_in_flight).await;
    let mut run = Run::begin(setup, |settings| Settings { term: TERM, ..settings }).await;
    for nth in 0..CHANGES {
        let poller = run.poller_at_work().await;
        run.strikes(&poller);
        if nth % 2 == 0 {
            server.kill().await;
        } else {
            server.stop().await;
        }
        let down = Instant::now();
        tokio::time::sleep(dice.up_to(Duration::from_secs(1))).await;
        let since = run.stage.receiver.requests().into_iter().filter(|request| request.arrived > down).count();
        assert!(since <= in_flight, "{since} sends without a database, of which {in_flight} can have been claimed");
        server.restart().await;
        let back = Instant::now();
        run.stage.application.insert(in_flight, "/hook").await;
        let next = async || run.stage.receiver.requests().into_iter().rfind(|request| request.arrived > back);
        let next = eventually("deliveries go on", PATIENCE, next).await;
        figures.time("from the return of the database to the next delivery seen", next.arrived - back);
    }
    run.enough_hand_overs().await;
    let messages = run.stage.application.committed.len();
    run.end(figures).await.assert_all_delivered(messages);
}

#[tokio::test]
async fn a_database_restarted_while_marks_are_in_flight_loses_nothing() {
    repeat("database restarted, PostgreSQL and Redis", async |dice, figures| {
        for in_flight in IN_FLIGHT {
            let server = Postgres::start().await;
            let database = server.database().await;
            restart_the_database(dice, figures, &server, database, in_flight).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_database_restarted_while_marks_are_in_flight_loses_nothing_on_mariadb() {
    repeat("database restarted, MariaDB and Redis", async |dice, figures| {
        let server = MariaDb::start().await;
        let database = server.database().await;
        restart_the_database(dice, figures, &server, database, 16).await;
    })
    .await;
}

/// Has statements and commits arrive and their answers vanish, then cuts the connections.
async fn lose_answers(dice: &mut Dice, figures: &mut Figures, database: TestDatabase, max_in_flight: u32) {
    let server = url::Url::parse(&database.url).unwrap().port().unwrap();
    let proxy = Proxy::to(server);
    let proxied = proxy.before(&database.url);
    let setup = setup(database, max_in_flight).await;
    let mut run = Run::begin(setup, |settings| Settings { database: proxied, term: TERM, ..settings }).await;
    for _ in 0..CHANGES {
        for _ in 0..3 {
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            proxy.set(Passage::Swallow);
            tokio::time::sleep(dice.up_to(Duration::from_millis(300))).await;
            proxy.cut();
            proxy.set(Passage::Open);
        }
        run.successor(&run.last().poller).await;
    }
    // One replica may win one term after the other.
    run.enough_hand_overs().await;
    let messages = run.stage.application.committed.len();
    let report = run.end(figures).await;
    report.assert_all_delivered(messages);
    // Of a claim whose answer did not come before its term ended, nobody knows what was in it. Nothing of it was sent.
    figures.assert_no_duplicates(&report);
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_neither_loses_nor_repeats_a_message() {
    repeat("answers of the database lost, PostgreSQL and Redis", async |dice, figures| {
        for in_flight in IN_FLIGHT {
            let database = servers::postgres().await.database().await;
            lose_answers(dice, figures, database, in_flight).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_neither_loses_nor_repeats_a_message_on_mariadb() {
    repeat("answers of the database lost, MariaDB and Redis", async |dice, figures| {
        let database = servers::mariadb().await.database().await;
        lose_answers(dice, figures, database, 16).await;
    })
    .await;
}

/// What a replica answers when asked whether it is ready: the causes why not.
async fn causes(run: &Run, place: Place) -> Vec<String> {
    outbox_adapters::ensure_crypto_provider();
    let answer = reqwest::get(format!("http://{}/readyz", run.fleet.listener(place))).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    serde_json::from_value(answer["causes"].clone()).unwrap()
}

/// Waits until every replica is ready, or until every one is not and `says` why.
async fn all_say(run: &Run, says: Option<&str>) {
    let said = async || {
        for place in run.fleet.running() {
            let causes = causes(run, place).await;
            let as_expected = match says {
                Some(says) => causes.iter().any(|cause| cause.contains(says)),
                None => causes.is_empty(),
            };
            if !as_expected {
                return None;
            }
        }
        Some(())
    };
    eventually(&format!("every replica says {says:?}"), PATIENCE, said).await;
}

/// Breaks the database again and again; each time every replica says why it is not ready, and all goes on, without a
/// restart, once it is mended.
async fn break_and_mend<B>(
    what: &str,
    says: &str,
    breaks: impl AsyncFn(&PgPool) -> B,
    mends: impl AsyncFn(&PgPool, B),
) {
    repeat(what, async |_, figures| {
        let server = Postgres::start().await;
        let setup = setup(server.database().await, 16).await;
        let mut run = Run::begin(setup, |settings| Settings { term: TERM, ..settings }).await;
        let pool = PgPoolOptions::new().max_connections(1).connect(&run.stage.database.url).await.unwrap();
        // One that has not begun to listen yet ends where its database is broken.
        let listen = async || {
            let listens = |place| !run.fleet.lines(place, "listening").is_empty();
            run.fleet.running().into_iter().all(listens).then_some(())
        };
        eventually("every replica listens", PATIENCE, listen).await;
        for _ in 0..2 {
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            let broken = breaks(&pool).await;
            all_say(&run, Some(says)).await;
            mends(&pool, broken).await;
            let back = Instant::now();
            run.stage.application.insert(16, "/hook").await;
            let next = async || run.stage.receiver.requests().into_iter().rfind(|request| request.arrived > back);
            let next = eventually("deliveries go on", PATIENCE, next).await;
            figures.time("from the mending to the next delivery seen", next.arrived - back);
            all_say(&run, None).await;
        }
        run.enough_hand_overs().await;
        let messages = run.stage.application.committed.len();
        run.end(figures).await.assert_all_delivered(messages);
    })
    .await;
}

/// Ends every session but those of `application_name` "hog" and this one: those that come have the new settings.
/// Says how many there were.
async fn end_sessions(pool: &PgPool) -> usize {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name <> 'hog'";
    sqlx::query(end).fetch_all(pool).await.unwrap().len()
}

async fn execute(pool: &PgPool, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

#[tokio::test]
async fn a_read_only_database_is_named_as_the_cause_and_needs_no_restart() {
    let set = async |pool: &PgPool, value: &str| {
        let own = "SET default_transaction_read_only = off";
        let all = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = VALUE', \
                   current_database()); END $$";
        execute(pool, own.to_owned()).await;
        execute(pool, all.replace("VALUE", value)).await;
        end_sessions(pool).await;
    };
    break_and_mend(
        "a read-only database, PostgreSQL and Redis",
        "read-only transaction",
        async |pool| set(pool, "on").await,
        async |pool, ()| set(pool, "off").await,
    )
    .await;
}

/// The server answers as one whose disk is full (SQLSTATE 53100) to whatever a poller writes.
#[tokio::test]
async fn a_full_disk_is_named_as_the_cause_and_needs_no_restart() {
    const TABLES: [&str; 3] = ["outbox", "outbox_claim", "outbox_term"];
    break_and_mend(
        "a full disk, PostgreSQL and Redis",
        "No space left on device",
        async |pool| {
            execute(
                pool,
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 RAISE EXCEPTION USING ERRCODE = 'disk_full', \
                 MESSAGE = 'could not extend file: No space left on device'; END $$"
                    .to_owned(),
            )
            .await;
            for table in TABLES {
                let trigger = "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON";
                execute(pool, format!("{trigger} {table} FOR EACH ROW EXECUTE FUNCTION full_disk()")).await;
            }
        },
        // One table after the other: a transaction that locks them all and a poller's could each wait for the other.
        async |pool, ()| {
            for table in TABLES {
                execute(pool, format!("DROP TRIGGER full_disk ON {table}")).await;
            }
            execute(pool, "DROP FUNCTION full_disk()".to_owned()).await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_database_without_a_free_connection_is_named_as_the_cause_and_needs_no_restart() {
    break_and_mend(
        "connections exhausted by others, PostgreSQL and Redis",
        "too many clients",
        async |pool| {
            let options = pool.connect_options().as_ref().clone().application_name("hog");
            let mut hogs = Vec::new();
            // Until the replicas have none left, and get none.
            loop {
                while let Ok(hog) = options.connect().await {
                    hogs.push(hog);
                }
                if end_sessions(pool).await == 0 {
                    break;
                }
            }
            hogs
        },
        async |_, hogs| drop(hogs),
    )
    .await;
}
