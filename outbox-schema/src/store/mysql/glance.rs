//! Claims beside few tenants: they do without a walk. What each tenant has due is read from the index of turns.

use std::collections::{BTreeMap, HashMap, HashSet};

use crc::{CRC_32_ISO_HDLC, Crc};
use sqlx::AssertSqlSafe;

use super::Step;
use super::claim::{ClaimParameters, DOING};
use super::errors::failed;
use crate::claim::PRIORITIES;
use crate::store::fitting::DueRow;
use crate::store::turns::{FEW, TurnRow, glance_shares, glanced};
use crate::store::wire::as_json;
use crate::{ClaimRequest, StoreError, Turns};

/// As `CRC32()` of MySQL has it.
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

impl ClaimParameters<'_> {
    /// What few tenants have due, in the order of their turns. None where a walk is needed.
    pub(super) async fn glance(&self, step: &mut Step) -> Result<Option<Vec<DueRow>>, StoreError> {
        let most = u32::try_from(PRIORITIES * 2 * FEW + 1).unwrap_or(u32::MAX);
        let firsts = self.tenants(step, Turns { from: 0, tenants: most, served: &[], glance: true }).await?;
        if firsts.len() >= most as usize {
            return Ok(None);
        }
        let mut tenants: BTreeMap<i64, Vec<i16>> = BTreeMap::new();
        for (turn, priority, _) in firsts {
            tenants.entry(turn).or_default().push(priority);
        }
        let rooms = rooms_of_turns(self.request);
        let room = |(turn, _): &(i64, Vec<i16>)| rooms.get(turn).copied();
        let Some(shares) = glance_shares(tenants.into_iter().collect(), room, self.request) else { return Ok(None) };
        let rows = self.shares_at_once(step, &shares).await?;
        let shares: HashMap<i64, usize> = shares.into_iter().map(|((turn, _), share)| (turn, share)).collect();
        let share_of = |row: &TurnRow| row.turn.and_then(|turn| shares.get(&turn)).copied().unwrap_or_default();
        Ok(glanced(rows, share_of, self.request))
    }

    /// The first rows of these tenants, of each priority that they have: as many as the share of each.
    async fn shares_at_once(
        &self,
        step: &mut Step,
        shares: &[((i64, Vec<i16>), usize)],
    ) -> Result<Vec<TurnRow>, StoreError> {
        let branches = shares.iter().map(|((_, priorities), _)| priorities.len()).sum();
        let branches = vec![query!("mysql/poller/claim_glance_turn"); branches].join("UNION ALL\n");
        let statement = AssertSqlSafe([query!("mysql/poller/claim_glance"), &branches].concat());
        let mut rows = sqlx::query_as(statement).bind(as_json(DOING, self.request.excluded)?).bind(&self.closed);
        for ((turn, priorities), share) in shares {
            for priority in priorities {
                rows = rows.bind(self.term.shard.0).bind(turn).bind(priority).bind(*share as u64);
            }
        }
        rows.fetch_all(&mut **step).await.map_err(|error| failed(DOING, error))
    }
}

/// The room of destinations, by the number that each has as a tenant of each channel: the column `turn`. Of several that share a
/// number, the most.
pub(super) fn rooms_of_turns(request: &ClaimRequest<'_>) -> HashMap<i64, u32> {
    let channels: HashSet<i64> = request.channels.iter().map(|channel| channel_number(&channel.name)).collect();
    let closed = request.closed.iter().map(|closed| (closed.as_str(), 0));
    let mut rooms = HashMap::new();
    for (name, room) in request.rooms.iter().map(|one| (one.destination.as_str(), one.room)).chain(closed) {
        for channel in &channels {
            let most = rooms.entry(channel << 32 | crc32(name)).or_default();
            *most = room.max(*most);
        }
    }
    rooms
}

/// The number of a channel, in which the numbers of its tenants begin. Two names may share one.
pub(super) fn channel_number(name: &str) -> i64 {
    crc32(name) & 0x7fff
}

pub(super) fn crc32(text: &str) -> i64 {
    i64::from(CRC32.checksum(text.as_bytes()))
}
