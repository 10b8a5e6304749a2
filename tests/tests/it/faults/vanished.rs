//! The outbox database vanishes without a word: its host is gone, or a firewall drops all. Then somebody else answers at its
//! address, as after a failover.

use std::time::{Duration, Instant};

use outbox_config::campaign_interval;
use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Dice, Figures, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Settings};
use outbox_tests::proxy::Proxy;
use outbox_tests::servers::{self, TestDatabase};

use super::IN_FLIGHT;

/// Pollers change meanwhile too.
const TERM: Duration = Duration::from_secs(2);

/// Within this all that was claimed before the fault has been sent.
const SENT: Duration = Duration::from_secs(1);

/// Beyond the ttl and a campaign: for finding out, and for a new connection.
const FINDING_OUT: Duration = Duration::from_secs(5);

/// Has the database vanish again and again, in turn for a moment and for longer than anything waits.
async fn vanish(dice: &mut Dice, figures: &mut Figures, database: TestDatabase, redis: bool, max_in_flight: u32) {
    let proxy = Proxy::to(url::Url::parse(&database.url).unwrap().port().unwrap());
    let proxied = proxy.before(&database.url);
    let redis = if redis { Some(servers::redis().await.url()) } else { None };
    let setup = Setup { database, redis, max_in_flight, fault_points: false };
    let mut run = Run::begin(setup, |settings| Settings { database: proxied, term: TERM, ..settings }).await;
    let ttl = run.fleet.settings().ttl;
    let bound = ttl + campaign_interval(ttl) + FINDING_OUT;
    for nth in 0..CHANGES {
        let poller = run.poller_at_work().await;
        run.strikes(&poller);
        proxy.vanish();
        let longest = if nth % 2 == 0 { ttl / 2 } else { 6 * ttl };
        tokio::time::sleep(SENT + dice.up_to(longest)).await;

        let back = Instant::now();
        proxy.come_back();
        let next = async || run.stage.receiver.requests().into_iter().find(|request| request.arrived > back);
        let next = eventually("deliveries go on", PATIENCE, next).await;
        let what = format!("from the first answer to the next delivery, ttl {ttl:?} (bound {bound:.2?})");
        figures.bounded(&what, next.arrived - back, bound, run.lateness());
    }
    run.enough_hand_overs().await;
    let messages = run.stage.application.committed.len();
    run.end(figures).await.assert_all_delivered(messages);
}

#[tokio::test]
async fn a_database_that_vanishes_without_a_word_is_found_out_and_loses_nothing() {
    repeat("database vanished, PostgreSQL and Redis", async |dice, figures| {
        for in_flight in IN_FLIGHT {
            let database = servers::postgres().await.database().await;
            vanish(dice, figures, database, true, in_flight).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_database_that_vanishes_without_a_word_is_found_out_and_loses_nothing_on_mariadb() {
    repeat("database vanished, MariaDB and Redis", async |dice, figures| {
        let database = servers::mariadb().await.database().await;
        vanish(dice, figures, database, true, 16).await;
    })
    .await;
}

#[tokio::test]
async fn a_database_that_vanishes_together_with_the_lease_in_it_is_found_out() {
    repeat("database vanished, PostgreSQL and table", async |dice, figures| {
        let database = servers::postgres().await.database().await;
        vanish(dice, figures, database, false, 16).await;
    })
    .await;
}
