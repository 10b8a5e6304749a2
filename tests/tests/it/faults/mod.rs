//! Faults on real processes and real servers; docs/guarantees.md says what each must come to.

mod clock;
mod clusters;
mod crash;
mod database;
mod failover;
mod freeze;
mod lease_store;
mod naive;
mod poller;
mod receivers;
mod session_lease;
mod shutdown;
mod vanished;

pub(crate) use clock::libfaketime;
use outbox_tests::faults::Setup;
use outbox_tests::servers;

/// Most messages in flight, in the runs of each scenario.
const IN_FLIGHT: [u32; 2] = [16, 64];

/// Faults of a setting where their cost is what is measured: with two settings, a figure is of twenty.
const MEASURED: usize = 10;

async fn postgres_and_redis(max_in_flight: u32) -> Setup {
    let (database, redis) = (servers::postgres().await.database().await, servers::redis().await.url());
    Setup { database, redis: Some(redis), max_in_flight, fault_points: false }
}

async fn mariadb_and_redis(max_in_flight: u32) -> Setup {
    let (database, redis) = (servers::mariadb().await.database().await, servers::redis().await.url());
    Setup { database, redis: Some(redis), max_in_flight, fault_points: false }
}

async fn sqlite_and_table(max_in_flight: u32) -> Setup {
    Setup { database: servers::sqlite(), redis: None, max_in_flight, fault_points: false }
}
