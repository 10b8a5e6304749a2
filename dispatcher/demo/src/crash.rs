//! The crash: the demo kills the poller with -9 while its requests are on the wire.

use std::time::{Duration, Instant};

use anyhow::bail;

use super::fleet::Fleet;
use super::receiver::Receiver;
use super::stage::MAX_IN_FLIGHT;
use super::tables::Tables;

/// The longest wait for a poller with enough requests on the wire, and for the next poller.
const LIMIT: Duration = Duration::from_secs(30);

/// How often the demo looks.
const LOOK: Duration = Duration::from_millis(5);

/// The age, in milliseconds, up to which a term is young. The poller of an older term might hand over before the signal
/// reaches it.
const YOUNG_MS: i64 = 2_000;

/// The requests that must be on the wire. If there were only one, its target might be one that accepts nothing.
const ENOUGH: usize = MAX_IN_FLIGHT / 4;

/// The poller that was killed.
#[derive(Debug)]
pub(super) struct Crash {
    /// The replica's name.
    pub(super) name: &'static str,
    /// The process id of the replica.
    pub(super) pid: u32,
    /// The epoch of its term.
    pub(super) epoch: i64,
    /// The requests that the receiver had not answered when the replica died.
    pub(super) open: usize,
    /// The time of the kill.
    pub(super) at: Instant,
}

/// Waits until the receiver has accepted `accepted` requests, then kills the poller with requests on the wire.
pub(super) async fn kill_poller(
    fleet: &mut Fleet,
    tables: &Tables,
    receiver: &Receiver,
    accepted: usize,
) -> anyhow::Result<Crash> {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        fleet.check().await?;
        tokio::time::sleep(LOOK).await;
        // A claim is settled after the longest timeout of its messages, and FCM has 10 s. So the kill waits until no
        // push is among them.
        if receiver.ledger.sums().accepted < accepted || tables.has_untried_pushes().await? {
            continue;
        }
        let leader = tables.leader().await?;
        let Some(name) = fleet.name_of(&leader.holder).filter(|_| leader.age_ms < YOUNG_MS) else { continue };
        let open = receiver.ledger.sums().open;
        if open >= ENOUGH {
            let pid = fleet.kill(name).await?;
            return Ok(Crash { name, pid, epoch: leader.epoch, open, at: Instant::now() });
        }
    }
    bail!("no poller was found with {ENOUGH} requests on the wire within {LIMIT:?}")
}

/// Waits for the next term. Returns its epoch and the replica that polls in it.
pub(super) async fn next_poller(
    fleet: &mut Fleet,
    tables: &Tables,
    crash: &Crash,
) -> anyhow::Result<(i64, &'static str)> {
    while crash.at.elapsed() < LIMIT {
        fleet.check().await?;
        let leader = tables.leader().await?;
        if let Some(name) = fleet.name_of(&leader.holder).filter(|_| leader.epoch > crash.epoch) {
            return Ok((leader.epoch, name));
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("nobody polls {LIMIT:?} after the crash")
}
