//! The outbox database is a cluster that keeps copies of it by itself, of Debian's packages; Redis has the lease. Each night.

use std::time::Instant;

use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Figures, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Poller};
use outbox_tests::invariants;
use outbox_tests::proxy::Proxy;
use outbox_tests::servers::{self, Galera, Group, Patroni, TestDatabase};

use super::failover::hand_over;

/// A fleet that comes to its database by a proxy, which leads to the primary.
async fn fleet_on(primary: u16, TestDatabase { url, name }: TestDatabase) -> (Proxy, Run) {
    let proxy = Proxy::to(primary);
    let database = TestDatabase { url: proxy.before(&url), name };
    let redis = Some(servers::redis().await.url());
    let setup = Setup { database, redis, max_in_flight: 16, fault_points: false };
    (proxy, Run::begin(setup, |settings| settings).await)
}

/// Notes how long after a fault the new primary takes writes, and deliveries go on.
async fn gap(
    run: &mut Run,
    poller: &Poller,
    fault: Instant,
    write: impl AsyncFn() -> sqlx::Result<()>,
    figures: &mut Figures,
) {
    let writes = async {
        eventually("the new primary takes writes", PATIENCE, async || write().await.ok()).await;
        fault.elapsed()
    };
    let goes_on = async {
        run.successor(poller).await;
        let begun = Instant::now();
        // What waited may have gone out before the fault.
        run.stage.application.insert(run.in_flight(), "/hook").await;
        let next = async || run.stage.receiver.requests().into_iter().find(|request| request.arrived > begun);
        eventually("deliveries go on", PATIENCE, next).await.arrived - fault
    };
    let (writes, next) = tokio::join!(writes, goes_on);
    figures.time("from the fault until the new primary takes writes", writes);
    figures.time("from the fault to the next delivery", next);
}

/// Ends a run whose poller outlived its database.
async fn nothing_is_lost_or_repeated(mut run: Run, poller: &Poller, figures: &mut Figures) {
    assert_eq!(run.term_ended(poller).await, "database_changed");
    run.stage.settled().await;
    run.fleet.stop_all().await;
    let report = run.stage.check(&run.fleet).await;
    figures.stood_still(run.machine.stood_still());
    report.assert_all_delivered(run.stage.application.committed.len());
    figures.assert_no_duplicates(&report);
    figures.count("in doubt, of 16 in flight", report.left_in_doubt_by(poller.epoch));
}

#[tokio::test]
async fn a_writer_of_galera_that_is_killed_loses_and_repeats_nothing() {
    repeat("the writer of Galera killed, Redis", async |_, figures| {
        let Some(galera) = Galera::start().await else { return };
        let [writer, next, _] = &galera.nodes;
        let (proxy, mut run) = fleet_on(writer.port(), writer.database().await).await;
        let poller = run.poller_at_work().await;
        let fault = run.strikes(&poller);
        writer.kill().await;
        proxy.lead_to(next.port());
        proxy.cut();
        gap(&mut run, &poller, fault, async || next.write().await, figures).await;
        nothing_is_lost_or_repeated(run, &poller, figures).await;
    })
    .await;
}

/// Its poller lives on, or dies at the same time.
#[tokio::test]
async fn a_node_of_galera_that_lags_is_waited_for_by_each_term() {
    repeat("led to a node of Galera that lags, Redis", async |_, figures| {
        let Some(galera) = Galera::start().await else { return };
        for lives in [true, false] {
            let [first, ..] = &galera.nodes;
            let (proxy, mut run) = fleet_on(first.port(), first.database().await).await;
            for nth in 0..CHANGES {
                let [writer, next] = [nth, nth + 1].map(|nth| &galera.nodes[nth % galera.nodes.len()]);
                run.poller_at_work().await;
                run.stage.settled().await;
                writer.leaves_others_behind().await;
                let poller = run.poller_at_work().await;
                assert!(next.lags().await, "the node has caught up too early");
                let fault = run.strikes(&poller);
                if !lives {
                    run.fleet.kill(poller.place).await;
                    run.fleet.add(&[]);
                }
                proxy.lead_to(next.port());
                proxy.cut();
                gap(&mut run, &poller, fault, async || next.write().await, figures).await;
            }
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            if lives {
                figures.assert_no_duplicates(&report);
            }
        }
    })
    .await;
}

/// No setting turns off what a term waits for: the proxy does.
#[tokio::test]
async fn a_term_that_waits_for_no_node_that_lags_is_convicted() {
    let Some(galera) = Galera::start().await else { return };
    let [writer, next, _] = &galera.nodes;
    let (proxy, mut run) = fleet_on(writer.port(), writer.database().await).await;
    proxy.replace("wsrep_sync_wait = 7", "wsrep_sync_wait = 0");
    run.poller_at_work().await;
    run.stage.settled().await;
    let claims = async || run.stage.tables.rows::<(String,)>("SELECT id FROM outbox_claim").await;
    eventually("no claim is left", PATIENCE, async || claims().await.is_empty().then_some(())).await;
    writer.leaves_others_behind().await;
    let poller = run.poller_at_work().await;
    assert!(next.lags().await, "the node has caught up too early");
    run.strikes(&poller);
    run.fleet.kill(poller.place).await;
    proxy.lead_to(next.port());
    proxy.cut();
    run.successor(&poller).await;
    run.stage.settled().await;
    run.fleet.stop_all().await;
    let breaches = invariants::breaches(&run.stage.accounts(Some(&run.fleet)).await);
    let twice = breaches.iter().filter(|breach| breach.contains("0 attempts on record explain it")).count();
    assert!(twice > 0, "{breaches:?}");
}

#[tokio::test]
async fn a_primary_of_group_replication_that_is_killed_loses_and_repeats_nothing() {
    repeat("the primary of Group Replication killed, Redis", async |_, figures| {
        let Some(group) = Group::start().await else {
            eprintln!("skipped: Group Replication needs a MySQL that has it: tests/run --on mysql-9.7");
            return;
        };
        let [primary, ..] = &group.members;
        let (proxy, mut run) = fleet_on(primary.port(), primary.database().await).await;
        let poller = run.poller_at_work().await;
        let fault = run.strikes(&poller);
        primary.kill().await;
        let next = group.successor().await;
        proxy.lead_to(next.port());
        proxy.cut();
        gap(&mut run, &poller, fault, async || next.write().await, figures).await;
        nothing_is_lost_or_repeated(run, &poller, figures).await;
    })
    .await;
}

#[tokio::test]
async fn a_switch_over_by_patroni_loses_and_repeats_nothing_and_leaves_nothing_in_doubt() {
    let missing = Patroni::missing();
    if !missing.is_empty() {
        eprintln!("skipped: apt-get install {}", missing.join(" "));
        return;
    }
    repeat("a switch-over by Patroni, Redis", async |_, figures| {
        let cluster = Patroni::start().await;
        let [leader, _] = cluster.in_step().await;
        let (proxy, mut run) = fleet_on(leader.postgres.port(), leader.postgres.database().await).await;
        for _ in 0..CHANGES {
            let [leader, next] = cluster.in_step().await;
            // The leader serves on for a second or two after the order: as long as that there is work.
            run.stage.application.insert(2_000, "/hook").await;
            let poller = run.poller_at_work().await;
            let fault = run.strikes(&poller);
            let switch = leader.switch_over_to(next);
            let lead = async {
                eventually("the other member leads", PATIENCE, async || next.is("primary").await.then_some(())).await;
                proxy.lead_to(next.postgres.port());
                proxy.cut();
                gap(&mut run, &poller, fault, async || next.postgres.write().await, figures).await;
            };
            let (said, ()) = tokio::join!(switch, lead);
            assert!(said.contains("Successfully switched over"), "{said}");
            assert_eq!(run.term_ended(&poller).await, "database_changed");
        }
        hand_over(&mut run).await;
        let messages = run.stage.application.committed.len();
        let report = run.end(figures).await;
        report.assert_all_delivered(messages);
        figures.assert_nothing_in_doubt(&report);
    })
    .await;
}
