//! The outbox database fails over to a standby; mostly PostgreSQL, with Redis for the lease.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use outbox_config::campaign_interval;
use outbox_dispatcher::fault_point::Point;
use outbox_tests::conformance::store::Dialect;
use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Figures, LATENCY, REPLICAS, Run, Setup, repeat};
use outbox_tests::fleet::{Fleet, PATIENCE, Poller, Settings};
use outbox_tests::invariants;
use outbox_tests::proxy::{Passage, Proxy};
use outbox_tests::servers::{self, MariaDb, Postgres, TestDatabase};
use outbox_tests::stage::Stage;

use super::IN_FLIGHT;
use crate::listener::readiness::get;
use crate::program::{HTTP, Program};

/// Pollers change meanwhile too, where they should.
const TERM: Duration = Duration::from_secs(2);

/// A database whose clients reach it by a proxy.
async fn behind(proxy: &Proxy, primary: &Postgres) -> TestDatabase {
    let TestDatabase { url, name } = primary.database().await;
    TestDatabase { url: proxy.before(&url), name }
}

async fn setup(database: TestDatabase, max_in_flight: u32) -> Setup {
    Setup { database, redis: Some(servers::redis().await.url()), max_in_flight, fault_points: false }
}

/// Waits for the term after a failover, and for its first delivery.
async fn goes_on(run: &mut Run, poller: &Poller, failed_over: Instant, figures: &mut Figures) {
    run.stage.application.insert(run.in_flight(), "/hook").await;
    let next = async || run.stage.receiver.requests().into_iter().rfind(|request| request.arrived > failed_over);
    let next = eventually("deliveries go on", PATIENCE, next).await;
    figures.time("from the failover to the next delivery seen", next.arrived - failed_over);
    assert_eq!(run.term_ended(poller).await, "database_changed");
    let changes = run.fleet.lines(poller.place, "database.changed");
    let change = changes.last().expect("the log tells of the failover")["change"].as_str().unwrap().to_owned();
    assert!(change.contains("from ") && change.contains(" to "), "{change}");
}

/// One replica may have won each term: it knew first.
pub(super) async fn hand_over(run: &mut Run) {
    let poller = run.poller_at_work().await;
    run.fleet.stop(poller.place).await;
    run.poller_at_work().await;
}

#[tokio::test]
async fn a_failover_to_a_standby_that_has_every_commit_loses_and_repeats_nothing() {
    repeat("a synchronous standby promoted, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            let mut primary = Postgres::start().await;
            let proxy = Proxy::to(primary.port());
            let setup = setup(behind(&proxy, &primary).await, in_flight).await;
            let mut run = Run::begin(setup, |settings| settings).await;
            for _ in 0..CHANGES {
                let standby = Postgres::standby_of(primary.port()).await;
                primary.commit_with_a_standby().await;
                let poller = run.poller_at_work().await;
                run.strikes(&poller);
                primary.kill().await;
                standby.promote().await;
                proxy.lead_to(standby.port());
                proxy.cut();
                let failed_over = Instant::now();
                goes_on(&mut run, &poller, failed_over, figures).await;
                primary = standby;
            }
            hand_over(&mut run).await;
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            figures.assert_no_duplicates(&report);
        }
    })
    .await;
}

/// As when roles flip behind an address, and nobody closes a connection.
#[tokio::test]
async fn a_server_that_takes_no_writes_any_more_is_left_with_all_connections() {
    repeat("roles flip without a closed connection, PostgreSQL and Redis", async |_, figures| {
        let mut primary = Postgres::start().await;
        // The connections of the application and of this test end, those of the replicas do not.
        let (proxy, of_replicas) = (Proxy::to(primary.port()), Proxy::to(primary.port()));
        let setup = setup(behind(&proxy, &primary).await, 16).await;
        let kept = of_replicas.before(&setup.database.url);
        let mut run = Run::begin(setup, |settings| Settings { database: kept, ..settings }).await;
        for _ in 0..CHANGES {
            let standby = Postgres::standby_of(primary.port()).await;
            primary.commit_with_a_standby().await;
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            primary.take_no_writes().await;
            standby.promote().await;
            for proxy in [&proxy, &of_replicas] {
                proxy.lead_to(standby.port());
            }
            proxy.cut();
            let failed_over = Instant::now();
            goes_on(&mut run, &poller, failed_over, figures).await;
            let none_left = async || (primary.replicas().await == 0).then_some(());
            eventually("no connection to the reader is left", PATIENCE, none_left).await;
            figures.time("from the failover until no connection to the reader is left", failed_over.elapsed());
            primary = standby;
        }
        hand_over(&mut run).await;
        let messages = run.stage.application.committed.len();
        let report = run.end(figures).await;
        report.assert_all_delivered(messages);
        figures.assert_no_duplicates(&report);
    })
    .await;
}

/// The poller's connections lead to the old primary for ever; the other replicas' lead to the new one.
#[tokio::test]
async fn an_old_primary_that_wakes_up_is_left_by_the_poller_that_kept_its_connections() {
    repeat("an old primary wakes up, PostgreSQL and Redis", async |_, figures| {
        for _ in 0..2 {
            let old = Postgres::start().await;
            let (of_poller, of_others) = (Proxy::to(old.port()), Proxy::to(old.port()));
            let database = behind(&of_others, &old).await;
            let (of_all, kept) = (database.url.clone(), of_poller.before(&database.url));
            let stage = Stage::set(database, LATENCY).await;
            let redis = servers::redis().await.url();
            let term = Duration::from_hours(1);
            let timeout = Duration::from_secs(2);
            let settings = Settings { database: kept, max_in_flight: 16, term, timeout, ..stage.settings(Some(redis)) };
            let mut run = Run::of(stage, Fleet::start(&settings, 1));
            let poller = run.poller_at_work().await;
            for _ in 0..2 {
                run.fleet.add(&[("OUTBOX_DATABASE__URL", &of_all)]);
            }
            run.stage.application.insert(2_000, "/hook").await;
            let new = Postgres::standby_of(old.port()).await;
            old.followed().await;
            old.freeze();
            new.promote().await;
            of_others.lead_to(new.port());
            of_others.cut();
            old.thaw();
            let woken = Instant::now();
            // A candidate asks its connection each third of the time to live; so often the poller hears of it too.
            let bound = settings.ttl * 2 / 3 + Duration::from_secs(1);
            assert_eq!(run.term_ended(&poller).await, "database_changed");
            let successor = run.successor(&poller).await;
            assert!(successor.place != poller.place && successor.epoch > poller.epoch, "{successor:?}");
            let sent = run.stage.receiver.requests();
            let last = sent.iter().rfind(|request| request.replica == Some(poller.place)).unwrap();
            let left = last.arrived.saturating_duration_since(woken);
            figures.bounded(
                &format!("from the waking of the old primary to its last send (bound {bound:.2?})"),
                left,
                bound,
                run.lateness(),
            );
            run.stage.settled().await;
            // It has no database to say goodbye to.
            run.fleet.kill(poller.place).await;
            run.fleet.stop_all().await;
        }
    })
    .await;
}

#[tokio::test]
async fn epochs_rise_also_where_the_standby_has_none_of_the_last_terms() {
    repeat("a standby promoted that lacks the last terms, PostgreSQL and Redis", async |_, figures| {
        for _ in 0..2 {
            let primary = Postgres::start().await;
            let (proxy, replication) = (Proxy::to(primary.port()), Proxy::to(primary.port()));
            let setup = setup(behind(&proxy, &primary).await, 16).await;
            let mut run = Run::begin(setup, |settings| Settings { term: TERM, ..settings }).await;
            let standby = Postgres::standby_of(replication.port()).await;
            run.poller_at_work().await;
            primary.followed().await;
            replication.set(Passage::Hole);
            let first = run.fleet.poller(&run.stage.tables).await;
            let mut poller = first.clone();
            while poller.epoch < first.epoch + 3 {
                poller = run.successor(&poller).await;
            }
            primary.kill().await;
            replication.cut();
            standby.promote().await;
            proxy.lead_to(standby.port());
            proxy.cut();
            let failed_over = Instant::now();
            let later = async || (run.stage.tables.newest_term().await.epoch > poller.epoch).then_some(());
            eventually("a term begins above all that were seen", PATIENCE, later).await;
            figures.time("from the failover to the next term", failed_over.elapsed());
            run.stage.settled().await;
            run.fleet.stop_all().await;
            let of_place =
                |place| run.fleet.lines(place, "term.began").into_iter().map(|line| line["epoch"].to_string());
            let mut epochs: Vec<_> = (0..REPLICAS).flat_map(of_place).collect();
            let begun = epochs.len();
            epochs.sort_unstable();
            epochs.dedup();
            assert_eq!(epochs.len(), begun, "an epoch was minted twice");
        }
    })
    .await;
}

/// Claims wait for a standby that got no more since some moment, so what it lacks are marks alone.
#[tokio::test]
async fn what_was_sent_before_a_failover_is_known_after_it_where_claims_wait_for_a_standby() {
    repeat("a standby promoted that lacks the last marks, claims replicated", async |_, figures| {
        for (at_most_once, lives) in [(false, true), (true, true), (true, false)] {
            let primary = Postgres::start().await;
            let (proxy, replication) = (Proxy::to(primary.port()), Proxy::to(primary.port()));
            let standby = Postgres::standby_of(replication.port()).await;
            primary.commit_with_a_standby().await;
            let more = "database.durability = \"replicated\"".to_owned();
            let setup = setup(behind(&proxy, &primary).await, 16).await;
            let mut run = Run::begin(setup, |settings| Settings { at_most_once, more, ..settings }).await;
            run.stage.application.insert(2_000, "/hook").await;
            let poller = run.poller_at_work().await;
            run.strikes(&poller);
            replication.set(Passage::Hole);
            names_the_standby_that_is_gone(&run, &poller).await;
            let sent = run.stage.receiver.count();
            primary.kill().await;
            replication.cut();
            if !lives {
                run.fleet.kill(poller.place).await;
            }
            standby.promote().await;
            proxy.lead_to(standby.port());
            proxy.cut();
            run.successor(&poller).await;
            assert_eq!(run.stage.receiver.count(), sent, "no standby has a claim of what was sent");
            let _third = Postgres::standby_of(standby.port()).await;
            standby.commit_with_a_standby().await;
            let goes_on = Instant::now();
            let next = async || (run.stage.receiver.count() > sent).then_some(());
            eventually("deliveries go on", PATIENCE, next).await;
            figures.time("from a standby of the new primary to the next delivery", goes_on.elapsed());
            run.stage.settled().await;
            run.fleet.stop_all().await;
            let report = run.stage.check(&run.fleet).await;
            let left = report.left_in_doubt_by(poller.epoch);
            assert!(left <= 16, "{left} are in doubt of 16 in flight");
            figures.count("in doubt by the marks that were lost, of 16 in flight", left);
            figures.count(format!("sent twice, at most once: {at_most_once}"), report.repeats);
            assert!(!at_most_once || report.repeats == 0, "{:?}", report.twice);
        }
    })
    .await;
}

/// A primary, or what follows it.
enum Copy {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Copy {
    fn port(&self) -> u16 {
        match self {
            Self::Postgres(server) => server.port(),
            Self::MariaDb(server) => server.port(),
        }
    }

    async fn kill(&self) {
        match self {
            Self::Postgres(server) => server.kill().await,
            Self::MariaDb(server) => server.kill().await,
        }
    }

    async fn promote(&self) {
        match self {
            Self::Postgres(server) => server.promote().await,
            Self::MariaDb(server) => server.promote().await,
        }
    }
}

/// A primary and a standby that follows it, until `replication` says otherwise.
struct Pair {
    primary: Copy,
    standby: Copy,
    /// How the application and this test come to it, and how replicas do.
    proxy: Proxy,
    of_replicas: Proxy,
    replication: Proxy,
}

impl Pair {
    /// A primary that waits for no standby, and a fleet on it that has so many messages to send. None where the server is MySQL.
    async fn with_fleet(dialect: Dialect, at_most_once: bool, messages: usize) -> Option<(Self, Run)> {
        let primary = match dialect {
            Dialect::Postgres => Copy::Postgres(Postgres::start().await),
            Dialect::MySql => Copy::MariaDb(MariaDb::primary().await?),
            Dialect::Sqlite => return None,
        };
        let [proxy, of_replicas, replication] = [(); 3].map(|()| Proxy::to(primary.port()));
        let TestDatabase { url, name } = match &primary {
            Copy::Postgres(server) => server.database().await,
            Copy::MariaDb(server) => server.database().await,
        };
        let database = TestDatabase { url: proxy.before(&url), name };
        let setup = Setup { fault_points: true, ..setup(database, 16).await };
        let database = of_replicas.before(&url);
        let mut run = Run::begin(setup, |settings| Settings { database, at_most_once, ..settings }).await;
        let standby = match &primary {
            Copy::Postgres(_) => Copy::Postgres(Postgres::standby_of(replication.port()).await),
            Copy::MariaDb(_) => Copy::MariaDb(MariaDb::standby_of(replication.port()).await),
        };
        run.stage.application.insert(messages, "/hook").await;
        Some((Self { primary, standby, proxy, of_replicas, replication }, run))
    }

    /// The standby gets nothing any more.
    async fn lags(&self) {
        match (&self.primary, &self.standby) {
            (Copy::MariaDb(primary), Copy::MariaDb(standby)) => standby.has_all_of(primary).await,
            (Copy::Postgres(primary), _) => primary.followed().await,
            (Copy::MariaDb(_), Copy::Postgres(_)) => unreachable!("they are of one kind"),
        }
        self.replication.set(Passage::Hole);
    }

    /// The primary dies, and the standby takes its place.
    async fn fails_over(&self) -> Instant {
        self.primary.kill().await;
        self.replication.cut();
        self.takes_its_place().await;
        self.of_replicas.cut();
        Instant::now()
    }

    /// The standby is the primary. Connections of replicas stay where they are.
    async fn takes_its_place(&self) {
        self.standby.promote().await;
        for proxy in [&self.proxy, &self.of_replicas] {
            proxy.lead_to(self.standby.port());
        }
        self.proxy.cut();
    }
}

/// So many deliveries are marked while the standby gets nothing.
const LOST_MARKS: usize = 300;

/// Waits until so many more deliveries have arrived.
async fn delivers(run: &Run, more: usize) {
    let enough = run.stage.receiver.count() + more;
    let delivered = async || (run.stage.receiver.count() >= enough).then_some(());
    eventually("deliveries go on while the standby lags", PATIENCE, delivered).await;
}

#[tokio::test]
async fn a_poller_that_lives_writes_again_what_the_standby_lacks() {
    repeat("a standby promoted that lacks the last claims and marks, nothing replicated", async |_, figures| {
        for (dialect, at_most_once) in [(Dialect::Postgres, false), (Dialect::Postgres, true), (Dialect::MySql, true)] {
            let Some((pair, mut run)) = Pair::with_fleet(dialect, at_most_once, 2_000).await else { continue };
            let poller = run.poller_at_work().await;
            pair.lags().await;
            delivers(&run, LOST_MARKS).await;
            run.strikes(&poller);
            let failed_over = pair.fails_over().await;
            goes_on(&mut run, &poller, failed_over, figures).await;
            let mended = run.fleet.lines(poller.place, "failover.mended");
            let marked_again = mended.iter().filter_map(|line| line["marked_again"].as_u64()).sum::<u64>();
            assert!(marked_again >= LOST_MARKS as u64 / 2, "{mended:?}");
            figures.count("marks written again", usize::try_from(marked_again).unwrap());
            run.stage.settled().await;
            run.fleet.stop_all().await;
            let report = run.stage.check(&run.fleet).await;
            report.assert_all_delivered(run.stage.application.committed.len());
            figures.assert_no_duplicates(&report);
        }
    })
    .await;
}

/// As where the host of the primary is gone without a word: connections stay, and nothing comes.
#[tokio::test]
async fn a_primary_that_falls_silent_is_left_in_time_and_nothing_is_sent_twice() {
    repeat("the primary falls silent, a standby is promoted, nothing replicated", async |_, figures| {
        let (pair, mut run) = Pair::with_fleet(Dialect::Postgres, true, 2_000).await.unwrap();
        let Copy::Postgres(primary) = &pair.primary else { unreachable!("it is PostgreSQL") };
        let poller = run.poller_at_work().await;
        pair.lags().await;
        run.strikes(&poller);
        primary.freeze();
        let silent = Instant::now();
        pair.takes_its_place().await;
        let ttl = run.fleet.settings().ttl;
        let bound = ttl + campaign_interval(ttl) + Duration::from_secs(5);
        run.successor(&poller).await;
        run.stage.application.insert(run.in_flight(), "/hook").await;
        let again =
            async || run.stage.receiver.requests().into_iter().rfind(|request| request.arrived > silent + LATENCY);
        let next = eventually("deliveries go on", PATIENCE, again).await.arrived - silent;
        figures.bounded(
            &format!("from the silence to the next delivery seen (bound {bound:.2?})"),
            next,
            bound,
            run.lateness(),
        );
        run.stage.settled().await;
        run.fleet.stop_all().await;
        let report = run.stage.check(&run.fleet).await;
        figures.assert_no_duplicates(&report);
    })
    .await;
}

/// Without what the poller writes again, the checker finds it out.
#[tokio::test]
async fn a_poller_that_writes_nothing_again_is_convicted() {
    let (pair, mut run) = Pair::with_fleet(Dialect::Postgres, true, 2_000).await.unwrap();
    let poller = run.poller_at_work().await;
    pair.lags().await;
    delivers(&run, LOST_MARKS).await;
    run.fleet.arm(poller.place, Point::Mend, "panic");
    pair.fails_over().await;
    run.successor(&poller).await;
    run.stage.settled().await;
    run.fleet.stop_all().await;
    let breaches = invariants::breaches(&run.stage.accounts(Some(&run.fleet)).await);
    let twice = breaches.iter().filter(|breach| breach.contains("and its channel sends at most once")).count();
    assert!(twice >= LOST_MARKS / 2, "{twice} messages were sent twice");
}

/// What was sent and is gone is not sent again, and marks no other message that has its id.
#[tokio::test]
async fn messages_that_went_out_and_are_gone_are_listed_and_no_others() {
    repeat("a standby promoted that lacks the last messages", async |_, figures| {
        for dialect in [Dialect::Postgres, Dialect::MySql] {
            let Some((pair, mut run)) = Pair::with_fleet(dialect, false, 200).await else { continue };
            let poller = run.poller_at_work().await;
            run.stage.settled().await;
            pair.lags().await;
            let kept = run.stage.application.committed.clone();
            run.stage.application.insert(2_000, "/hook").await;
            let gone: HashSet<_> = run.stage.application.committed.difference(&kept).cloned().collect();
            delivers(&run, LOST_MARKS).await;
            run.strikes(&poller);
            let failed_over = pair.fails_over().await;
            // Others get the ids of those that are gone.
            run.stage.application.insert(2_000, "/hook").await;
            goes_on(&mut run, &poller, failed_over, figures).await;
            run.stage.settled().await;
            let mut accounts = run.stage.accounts(Some(&run.fleet)).await;
            let went_out: BTreeSet<_> =
                accounts.requests.iter().map(|request| request.key.clone()).filter(|key| gone.contains(key)).collect();
            assert!(went_out.len() >= LOST_MARKS, "{}", went_out.len());
            let shown = Program::new(&run.stage.database.url, HTTP).run(&["failover", "show", "--json"]).await.json();
            let messages =
                shown.as_array().unwrap().iter().flat_map(|failover| failover["messages"].as_array().unwrap());
            let listed: Vec<_> = messages.map(|lost| lost["idempotency_key"].as_str().unwrap().to_owned()).collect();
            let each_once: BTreeSet<_> = listed.iter().cloned().collect();
            assert_eq!((each_once.len(), &each_once), (listed.len(), &went_out));
            figures.count("messages that went out and are gone, all listed", listed.len());
            accounts.committed.retain(|key| !gone.contains(key));
            accounts.requests.retain(|request| !gone.contains(&request.key));
            let breaches = invariants::breaches(&accounts);
            assert!(breaches.is_empty(), "{breaches:?}");
            run.fleet.stop_all().await;
        }
    })
    .await;
}

/// Waits until a replica says that claims wait in vain: then nothing is sent any more.
async fn names_the_standby_that_is_gone(run: &Run, poller: &Poller) {
    let address = format!("http://{}", run.fleet.listener(poller.place));
    let said = async || {
        let (status, answer) = get(&address, "/readyz").await;
        (status == 503 && answer.contains("claims wait for a standby that is not there")).then_some(())
    };
    eventually("/readyz names the standby that is gone", PATIENCE, said).await;
    assert_eq!(run.stage.receiver.open(), 0, "what was claimed is sent, and no more");
}
