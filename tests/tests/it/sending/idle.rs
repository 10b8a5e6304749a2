//! What a fleet asks of its servers when there is nothing to do.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outbox_store::Database;
use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, Place, Settings};
use outbox_tests::servers::{self, Redis};
use outbox_tests::stage::Stage;
use outbox_tests::tables::Tables;
use sqlx::{AssertSqlSafe, PgPool};

/// Two default terms and a little: their hand-overs are among what is counted, in due proportion.
const WATCHED: Duration = Duration::from_secs(41);

/// Times at most that a follower writes its row in `outbox_replica` meanwhile: twice a minute.
const ROWS: usize = 2;

/// How far a replica's work for its term may lie outside of what the log of terms says, in seconds.
const SLACK: f64 = 1.0;

/// The last statement of each connection of a replica, in seconds since 1970, but for the question which server answers: each replica
/// asks that three times in a lease.
const LAST_STATEMENTS: &str = "SELECT usename::text, extract(epoch FROM query_start)::float8 FROM pg_stat_activity \
                               WHERE datname = current_database() AND usename <> 'postgres' AND query_start IS NOT NULL \
                                 AND query NOT LIKE '%pg_walfile_name%'";

const TERMS: &str = "SELECT holder, extract(epoch FROM started_at)::float8, extract(epoch FROM ended_at)::float8 \
                     FROM outbox_term_log";

#[tokio::test]
async fn an_idle_fleet_asks_little_of_redis_and_its_followers_write_their_row_and_ask_who_answers() {
    let redis = Redis::start().await;
    let mut stage = Stage::set(servers::postgres().await.database().await, Duration::ZERO).await;
    let defaults = Settings {
        ttl: Duration::from_secs(10),
        term: Duration::from_secs(20),
        max_in_flight: 512,
        ..stage.settings(Some(redis.url()))
    };
    let mut fleet = Fleet::start(&defaults, 0);
    let suffix = &stage.database.name[stage.database.name.len() - 12..];
    let roles: Vec<_> = (0..3).map(|number| format!("replica_{number}_{suffix}")).collect();
    let pool = pool(&stage.tables);
    for role in &roles {
        let create = AssertSqlSafe(format!("CREATE ROLE {role} LOGIN SUPERUSER"));
        sqlx::raw_sql(create).execute(&pool).await.unwrap();
        let url = stage.database.url.replacen("postgres@", &format!("{role}@"), 1);
        fleet.add(&[("OUTBOX_DATABASE__URL", &url)]);
    }
    // Each has asked what it asks at its start.
    for place in fleet.running() {
        let listens = async || (!fleet.lines(place, "listening").is_empty()).then_some(());
        eventually("a replica listens", Duration::from_mins(1), listens).await;
    }
    stage.application.insert(10, "/hook").await;
    stage.settled().await;

    let mut commands = Commands::of(&redis).await;
    let (before, began) = (commands.count().await, Instant::now());
    let since: f64 =
        sqlx::query_scalar("SELECT extract(epoch FROM clock_timestamp())::float8").fetch_one(&pool).await.unwrap();
    let mut statements = Vec::new();
    while began.elapsed() < WATCHED {
        statements.extend(sqlx::query_as::<_, (String, f64)>(LAST_STATEMENTS).fetch_all(&pool).await.unwrap());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (calls, seconds) = (commands.count().await - before, began.elapsed().as_secs_f64());
    let rate = f64::from(calls) / seconds;
    eprintln!("an idle fleet of three: {calls} Redis commands in {seconds:.1} s, {rate:.2} per second");
    assert!(rate <= 3.5, "{calls} Redis commands in {seconds:.1} s");

    statements.retain(|(_, at)| *at > since);
    let holders = fleet.holders();
    let terms: Vec<_> = sqlx::query_as::<_, (String, f64, Option<f64>)>(TERMS).fetch_all(&pool).await.unwrap();
    let led = |place: Place, at: f64| {
        let own = terms.iter().filter(|(holder, ..)| holders.get(holder) == Some(&place));
        own.into_iter().any(|(_, start, end)| (start - SLACK..end.unwrap_or(f64::MAX) + SLACK).contains(&at))
    };
    assert!(!statements.is_empty(), "the poller asked");
    for (place, role) in roles.iter().enumerate() {
        let own = statements.iter().filter(|(asked, _)| asked == role).map(|(_, at)| *at);
        let following: BTreeSet<_> = own.filter(|at| !led(place, *at)).map(|at| format!("{at:.3}")).collect();
        assert!(following.len() <= ROWS, "replica {place} asked at {following:?} beside {terms:?}");
    }
    fleet.stop_all().await;
    stage.check(&fleet).await.assert_all_delivered(10);
}

fn pool(tables: &Tables) -> PgPool {
    match tables.database() {
        Database::Postgres(pool) => pool.clone(),
        Database::MySql(_) | Database::Sqlite(_) => panic!("this is about PostgreSQL"),
    }
}

/// What a Redis server was told to do.
struct Commands(redis::aio::MultiplexedConnection);

impl Commands {
    async fn of(server: &Redis) -> Self {
        Self(redis::Client::open(server.url()).unwrap().get_multiplexed_async_connection().await.unwrap())
    }

    /// The commands so far, those inside scripts too, and without these questions.
    async fn count(&mut self) -> u32 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query_async(&mut self.0).await.unwrap();
        let lines = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls="));
        let calls = lines.filter(|(command, _)| *command != "info").map(|(_, rest)| rest.split(',').next().unwrap());
        calls.map(|calls| calls.parse::<u32>().unwrap()).sum()
    }
}
