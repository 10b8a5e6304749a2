//! Claims beside few tenants: they do without a walk. What each tenant has due is read from the index of turns.

use std::collections::{HashMap, HashSet};

use sqlx::SqliteTransaction;

use super::claim::ClaimParameters;
use crate::store::fitting::DueRow;
use crate::store::turns::{FEW, TurnRow, glance_shares, glanced};

impl ClaimParameters<'_> {
    /// What few tenants have due, in the order of their turns. None where a walk is needed.
    pub(super) async fn glance(&self, tx: &mut SqliteTransaction<'static>) -> Result<Option<Vec<DueRow>>, sqlx::Error> {
        let keyed: bool = sqlx::query_scalar(query!("sqlite/poller/claim_keyed"))
            .bind(self.term.shard.0)
            .fetch_one(&mut **tx)
            .await?;
        if keyed {
            return Ok(None);
        }
        let mut tenants = Vec::new();
        for channel in self.request.channels {
            let most = u32::try_from(2 * FEW + 1).unwrap_or(u32::MAX);
            let names = self.tenants_behind(tx, &channel.name, None, most).await?;
            tenants.extend(names.into_iter().map(|name| (channel.name.clone(), name)));
        }
        let room = |(_, name): &(String, String)| self.request.room_of(name);
        let Some(shares) = glance_shares(tenants, room, self.request) else { return Ok(None) };
        let mut ids = HashSet::new();
        for ((channel, tenant), share) in &shares {
            ids.extend(self.turn(tx, channel, tenant, *share).await?);
        }
        let rows = self.beside(tx, &ids).await?;
        let shares: HashMap<_, _> = shares.into_iter().collect();
        let share_of =
            |row: &TurnRow| shares.get(&(row.due.channel.clone(), row.tenant.clone())).copied().unwrap_or_default();
        Ok(glanced(rows, share_of, self.request))
    }
}
