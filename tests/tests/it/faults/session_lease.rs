//! The lease is held by a session of the database, and what ends that session strikes in each way there is.

use std::time::Duration;

use outbox_dispatcher::term::leadership::longest_campaign_pause;
use outbox_store::Database;
use outbox_tests::faults::{Figures, LATENCY, REPLICAS, Run, repeat};
use outbox_tests::fleet::{Fleet, Settings};
use outbox_tests::proxy::{Passage, Proxy};
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::stage::Stage;
use rustix::process::Signal;
use sqlx::AssertSqlSafe;

/// What strikes the poller.
#[derive(Debug, Clone, Copy)]
enum Way {
    Killed,
    /// Its host is lost, or what lies between: it says nothing more, and hears nothing.
    Swallowed,
    Frozen,
    /// Somebody ends the session of its lease.
    SessionEnded,
    /// All its connections are closed, as by a balancer that starts anew.
    Cut,
}

const WAYS: [Way; 5] = [Way::Killed, Way::Swallowed, Way::Frozen, Way::SessionEnded, Way::Cut];

/// Where the server hears that a session has ended, no time to live counts.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Longer than it takes another to take over, or else what a sleeper hears is a timeout, and the breaker opens.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Each replica behind a proxy of its own.
struct Replicas {
    url: String,
    proxies: Vec<Proxy>,
}

impl Replicas {
    fn add(&mut self, fleet: &mut Fleet) {
        let proxy = Proxy::to(url::Url::parse(&self.url).unwrap().port().unwrap());
        let proxied = proxy.before(&self.url);
        assert_eq!(fleet.add(&[("OUTBOX_DATABASE__URL", &proxied)]), self.proxies.len());
        self.proxies.push(proxy);
    }
}

async fn strike_each_way(figures: &mut Figures, database: TestDatabase) {
    let stage = Stage::set(database, LATENCY).await;
    let settings = Settings {
        max_in_flight: 16,
        term: Duration::from_hours(1),
        timeout: TIMEOUT,
        more: "lease.provider = \"session\"".to_owned(),
        ..stage.settings(None)
    };
    let mut replicas = Replicas { url: stage.database.url.clone(), proxies: Vec::new() };
    let mut fleet = Fleet::start(&settings, 0);
    for _ in 0..REPLICAS {
        replicas.add(&mut fleet);
    }
    let mut run = Run::of(stage, fleet);
    for way in WAYS {
        let poller = run.poller_at_work().await;
        run.strikes(&poller);
        let proxy = &replicas.proxies[poller.place];
        match way {
            Way::Killed => {
                run.fleet.kill(poller.place).await;
                replicas.add(&mut run.fleet);
            }
            Way::Swallowed => proxy.set(Passage::Hole),
            Way::Frozen => run.fleet.signal(poller.place, Signal::STOP),
            Way::SessionEnded => end_session(run.stage.tables.database()).await,
            Way::Cut => proxy.cut(),
        }
        let (gap, ttl) = (run.next_delivery(&run.last()).await, settings.ttl);
        let bound = match way {
            Way::Killed | Way::SessionEnded | Way::Cut => AT_ONCE,
            Way::Swallowed | Way::Frozen => ttl + longest_campaign_pause(ttl) + AT_ONCE,
        };
        figures.within(
            &format!("{way:?}: to the next delivery, ttl {ttl:?} (bound {bound:.2?})"),
            gap,
            bound,
            run.lateness(),
        );
        match way {
            Way::Killed => continue,
            Way::Swallowed => {
                run.term_ended(&poller).await;
                replicas.proxies[poller.place].set(Passage::Open);
                replicas.proxies[poller.place].cut();
            }
            Way::Frozen => run.fleet.signal(poller.place, Signal::CONT),
            Way::SessionEnded | Way::Cut => {}
        }
        let reason = run.term_ended(&poller).await;
        assert!(["lost", "fenced", "renewal_failed"].contains(&reason.as_str()), "{way:?}: it ended by {reason}");
    }
    let messages = run.stage.application.committed.len();
    run.end(figures).await.assert_all_delivered(messages);
}

/// As somebody does who looks for idle sessions.
async fn end_session(database: &Database) {
    match database {
        Database::Postgres(pool) => {
            let ended = "SELECT pg_terminate_backend(pid) FROM pg_locks, outbox_meta
                         WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint)
                               = hashtextextended(concat('outbox ', outbox_id, ' 0'), 0)";
            assert!(sqlx::query_scalar::<_, bool>(ended).fetch_one(pool).await.unwrap());
        }
        Database::MySql(pool) => {
            let holder = "SELECT CAST(IS_USED_LOCK(SHA2(CONCAT(LOWER(DATABASE()), ' outbox ', outbox_id, ' 0'), 256)) AS unsigned)
                          FROM outbox_meta";
            let session: u64 = sqlx::query_scalar(holder).fetch_one(pool).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(format!("KILL {session}"))).execute(pool).await.unwrap();
        }
        Database::Sqlite(_) => unreachable!("it has no sessions"),
    }
}

#[tokio::test]
async fn a_session_that_ends_in_any_way_frees_the_lease_and_loses_nothing() {
    repeat("the session of the lease struck, PostgreSQL", async |_, figures| {
        strike_each_way(figures, servers::postgres().await.database().await).await;
    })
    .await;
}

#[tokio::test]
async fn a_session_that_ends_in_any_way_frees_the_lease_and_loses_nothing_on_mariadb() {
    repeat("the session of the lease struck, MariaDB", async |_, figures| {
        strike_each_way(figures, servers::mariadb().await.database().await).await;
    })
    .await;
}
