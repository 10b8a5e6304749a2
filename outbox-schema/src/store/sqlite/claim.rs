//! Claims: made, and read again where the answer was lost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::types::Json;
use sqlx::{Executor, Sqlite, SqliteTransaction};

use super::SqliteStore;
use super::errors::failed;
use crate::claim::{Found, Heads, PRIORITIES};
use crate::store::fitting::{DueRow, Fitting};
use crate::store::lossy::Lossy;
use crate::store::rows::{Met, ReadRow, by_channel};
use crate::store::steps::{Batch, ClaimTermRow, TermRow};
use crate::store::turns::{FEW, NEWEST, Parts, TurnRow, in_turn, may_glance, open_tenants};
use crate::store::wire::{ChannelRow, as_json, millis_i64};
use crate::{
    ClaimId, ClaimRequest, Claimed, KeyStretch, Message, MessageId, OrderingKey, Shard, StoreError, TermId, Turns,
    WalkStart,
};

pub(super) const DOING: &str = "claiming due messages";

/// The most tenants of a channel that a claim looks at: meanwhile nobody else writes into the file.
const MOST_TENANTS: u32 = 256;

/// What a claim would find.
#[derive(Debug, sqlx::FromRow)]
struct Peek {
    #[sqlx(flatten)]
    claim: ClaimTermRow,
    due: bool,
}

/// The request of a claim, in the form that statements take.
pub(super) struct ClaimParameters<'a> {
    cursors: &'a Cursors,
    pub(super) term: &'a TermId,
    pub(super) request: &'a ClaimRequest<'a>,
    excluded: String,
    channels: String,
    closed: String,
    closed_channels: String,
    /// For each priority, the milliseconds and the id behind which the walk begins.
    starts: String,
}

/// For each channel, the tenant behind which turns go on. Names are in the order of their texts, so no number says where.
#[derive(Debug, Clone, Default)]
pub(super) struct Cursors(Arc<Mutex<HashMap<String, String>>>);

impl Cursors {
    fn of(&self, channel: &str) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(channel).cloned().unwrap_or_default()
    }

    fn set(&self, channel: &str, tenant: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(channel.to_owned(), tenant);
    }
}

impl SqliteStore {
    pub(super) async fn claim_in_steps(
        &self,
        term: &TermId,
        request: &ClaimRequest<'_>,
    ) -> Result<Claimed, StoreError> {
        let asked = ClaimParameters::of(term, request, &self.cursors)?;
        if !self.is_anything_due(&asked).await? {
            return Ok(Claimed { took_all: true, ..Claimed::default() });
        }
        let mut tx = self.begin(DOING).await?;
        let claimed = if is_made(&mut *tx, term, request.claim).await? {
            let messages = made(&mut tx, request.claim, &asked.channels).await?;
            Claimed { messages, ..Claimed::default() }
        } else {
            asked.claim(&mut tx).await?
        };
        tx.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(claimed)
    }

    /// Whether any row is due, read without the lock of the file. A term that is over stays over, so it is fenced here
    /// already.
    async fn is_anything_due(&self, asked: &ClaimParameters<'_>) -> Result<bool, StoreError> {
        let peek: Option<Peek> = sqlx::query_as(query!("sqlite/poller/claim_peek"))
            .bind(asked.term.shard.0)
            .bind(asked.request.claim.0.to_string())
            .bind(&asked.excluded)
            .bind(&asked.closed)
            .bind(&asked.starts)
            .bind(&asked.closed_channels)
            .fetch_optional(&self.pool)
            .await
            .map_err(|error| failed(DOING, error))?;
        TermRow::require(peek.as_ref().map(|peek| &peek.claim.term), asked.term)?;
        Ok(peek.is_some_and(|peek| peek.due || peek.claim.made))
    }
}

fn starts(from: WalkStart) -> [Option<(i64, i64)>; PRIORITIES] {
    from.places().map(|place| place.map(|place| (place.us.div_euclid(1_000), place.id)))
}

impl<'a> ClaimParameters<'a> {
    pub(super) fn of(
        term: &'a TermId,
        request: &'a ClaimRequest<'a>,
        cursors: &'a Cursors,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            cursors,
            term,
            request,
            excluded: as_json(DOING, request.excluded)?,
            channels: as_json(DOING, &ChannelRow::all(request.channels))?,
            closed: as_json(DOING, request.closed)?,
            closed_channels: as_json(DOING, request.closed_channels)?,
            starts: as_json(DOING, &starts(request.from))?,
        })
    }

    /// Walks, reads the rows to claim, and writes the claim: how long it may take is said by its rows. Then moves what is in the
    /// way.
    pub(super) async fn claim(&self, tx: &mut SqliteTransaction<'static>) -> Result<Claimed, StoreError> {
        let (due, keys_left) = match self.request.found.cloned() {
            Some(Found(due)) => (due, None),
            None => self.look(tx).await.map_err(|error| failed(DOING, error))?,
        };
        let Fitting { taken, met, reached, asked, found, held, took_all } =
            Fitting::of(due, self.request, self.request.from);
        let mut messages = Vec::new();
        if !taken.is_empty() {
            let claimed = taken.iter().map(|row| (row.id, row.revision)).collect();
            messages = read(tx, claimed, &self.channels).await?;
        }
        if let Some(batch) = Batch::of(DOING, &taken, &messages, self.request)? {
            insert(tx, self.term, self.request.claim, batch).await?;
        }
        let mut deferred = BTreeMap::new();
        if !met.is_empty() {
            let delay = self.request.unknown_channel_delay;
            deferred = defer(tx, self.term.shard, met, (&self.excluded, &self.channels), delay).await?;
        }
        Ok(Claimed { messages, deferred, reached, asked, found, held, took_all, keys_left })
    }

    /// What is due, in the order in which it is to go, and which ordering keys were not looked at.
    async fn look(
        &self,
        tx: &mut SqliteTransaction<'static>,
    ) -> Result<(Vec<DueRow>, Option<OrderingKey>), sqlx::Error> {
        if may_glance(self.request)
            && let Some(due) = self.glance(tx).await?
        {
            return Ok((due, None));
        }
        let heads = self.heads(tx).await?;
        let due = self.walk(tx, &heads.ids).await?;
        let due = match self.request.turns {
            Some(turns) if Fitting::leaves_some(&due, self.request, self.request.from) => {
                self.turns(tx, turns, &due).await?
            }
            Some(_) | None => due,
        };
        Ok((due, heads.left))
    }

    /// The heads of the requested ordering keys, due or not, and of new ones where these are not all.
    async fn heads(&self, tx: &mut SqliteTransaction<'static>) -> Result<Heads, sqlx::Error> {
        let KeyStretch { from, until } = self.request.keys;
        let heads = sqlx::query_as(query!("sqlite/poller/claim_heads"))
            .bind(self.term.shard.0)
            .bind(from.map(|key| &key.channel))
            .bind(from.map(|key| &key.ordering_key))
            .bind(until.map(|key| &key.channel))
            .bind(until.map(|key| &key.ordering_key))
            .fetch_all(&mut **tx)
            .await?;
        let mut heads = Heads::of(heads);
        if heads.left.is_some() {
            let new = sqlx::query_scalar(query!("sqlite/poller/claim_new_heads")).bind(self.term.shard.0);
            heads.add(new.fetch_all(&mut **tx).await?);
        }
        Ok(heads)
    }

    async fn walk(&self, tx: &mut SqliteTransaction<'static>, heads: &[MessageId]) -> Result<Vec<DueRow>, sqlx::Error> {
        let mut due: Vec<DueRow> = sqlx::query_as(query!("sqlite/poller/claim_walk"))
            .bind(self.term.shard.0)
            .bind(&self.excluded)
            .bind(self.request.limit)
            .bind(&self.channels)
            .bind(&self.closed)
            .bind(&self.starts)
            .bind(heads.iter().map(|head| head.0).collect::<serde_json::Value>().to_string())
            .bind(&self.closed_channels)
            .bind(self.request.walk_limit())
            .fetch_all(&mut **tx)
            .await?;
        DueRow::number(&mut due);
        Ok(due)
    }

    /// What a walk came by, and what of each tenant is due beside it, in the order of their turns.
    async fn turns(
        &self,
        tx: &mut SqliteTransaction<'static>,
        turns: Turns<'_>,
        walked: &[DueRow],
    ) -> Result<Vec<DueRow>, sqlx::Error> {
        let newest: Vec<i64> = sqlx::query_scalar(query!("sqlite/poller/claim_newest"))
            .bind(self.term.shard.0)
            .bind(&self.excluded)
            .bind(NEWEST)
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .fetch_all(&mut **tx)
            .await?;
        let newest: HashSet<i64> = newest.into_iter().collect();
        let mut met: HashSet<i64> = walked.iter().map(|row| row.id).chain(newest.iter().copied()).collect();
        let mut tenants = Vec::new();
        for channel in self.request.channels.iter().filter(|channel| channel.fair) {
            tenants.push((channel.name.as_str(), self.tenants(tx, &channel.name, turns).await?));
        }
        let before = met.len();
        let all = tenants.iter().map(|(_, names)| names.len()).sum::<usize>();
        let channels = tenants.iter().flat_map(|(channel, names)| std::iter::repeat_n(*channel, names.len()));
        let parts = Parts::of(self.request.limit, channels);
        for (channel, names) in tenants {
            if all > FEW {
                met.extend(self.turn_heads(tx, channel, &names).await?);
                continue;
            }
            for name in names {
                met.extend(self.turn(tx, channel, &name, parts.of_tenant(&channel)).await?);
            }
        }
        let mut rows = self.beside(tx, &met).await?;
        // Where there are few, one of them must have more than its share.
        if all > FEW || met.len() >= before + parts.smallest() {
            let walked_ids = walked.iter().map(|row| row.id).collect();
            let open: Vec<_> = open_tenants(&rows, &walked_ids, self.request)
                .into_iter()
                .map(|row| (row.due.channel.clone(), row.tenant.clone()))
                .collect();
            let parts = Parts::of(self.request.limit, open.iter().map(|(channel, _)| channel.as_str()));
            let mut more = HashSet::new();
            for (channel, tenant) in &open {
                more.extend(self.turn(tx, channel, tenant, parts.of_tenant(&channel.as_str())).await?);
            }
            more.retain(|id| !met.contains(id));
            rows.extend(self.beside(tx, &more).await?);
        }
        Ok(in_turn(rows, walked, &newest, self.request))
    }

    /// The rows with these ids that are due, with whose turn each is.
    pub(super) async fn beside(
        &self,
        tx: &mut SqliteTransaction<'static>,
        ids: &HashSet<i64>,
    ) -> Result<Vec<TurnRow>, sqlx::Error> {
        sqlx::query_as(query!("sqlite/poller/claim_beside"))
            .bind(ids.iter().copied().collect::<serde_json::Value>().to_string())
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .fetch_all(&mut **tx)
            .await
    }

    /// The tenants of a channel behind those of the last turns, and those served lately. It begins again at their end.
    async fn tenants(
        &self,
        tx: &mut SqliteTransaction<'static>,
        channel: &str,
        turns: Turns<'_>,
    ) -> Result<Vec<String>, sqlx::Error> {
        let from = self.cursors.of(channel);
        let mut names = Vec::new();
        for from in [Some(from.as_str()).filter(|from| !from.is_empty()), None] {
            let most = turns.tenants.min(MOST_TENANTS);
            let rest = most - u32::try_from(names.len()).unwrap_or(most).min(most);
            let behind = self.tenants_behind(tx, channel, from, rest).await?;
            names.extend(behind.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
            if from.is_none() || rest == 0 {
                break;
            }
        }
        self.cursors.set(channel, names.last().cloned().unwrap_or_default());
        let met: HashSet<&String> = names.iter().collect();
        let served = turns.served.iter().filter(|tenant| tenant.channel == channel && !met.contains(&tenant.name));
        let served: Vec<_> = served.map(|tenant| tenant.name.clone()).collect();
        names.extend(served);
        // One that is a closed destination may have any number of rows: they are not read.
        names.retain(|name| !self.request.closed.contains(name));
        Ok(names)
    }

    /// The tenants of a channel behind one of them, or the first.
    pub(super) async fn tenants_behind(
        &self,
        tx: &mut SqliteTransaction<'static>,
        channel: &str,
        from: Option<&str>,
        most: u32,
    ) -> Result<Vec<String>, sqlx::Error> {
        let names: Vec<Lossy<String>> = sqlx::query_scalar(query!("sqlite/poller/claim_tenants"))
            .bind(self.term.shard.0)
            .bind(channel)
            .bind(from)
            .bind(most)
            .fetch_all(&mut **tx)
            .await?;
        Ok(names.into_iter().map(String::from).collect())
    }

    pub(super) async fn turn(
        &self,
        tx: &mut SqliteTransaction<'static>,
        channel: &str,
        tenant: &str,
        share: usize,
    ) -> Result<Vec<i64>, sqlx::Error> {
        sqlx::query_scalar(query!("sqlite/poller/claim_turn"))
            .bind(self.term.shard.0)
            .bind(channel)
            .bind(tenant)
            .bind(&self.excluded)
            .bind(i64::try_from(share).unwrap_or(i64::MAX))
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .fetch_all(&mut **tx)
            .await
    }

    async fn turn_heads(
        &self,
        tx: &mut SqliteTransaction<'static>,
        channel: &str,
        tenants: &[String],
    ) -> Result<Vec<i64>, sqlx::Error> {
        sqlx::query_scalar(query!("sqlite/poller/claim_turn_heads"))
            .bind(self.term.shard.0)
            .bind(channel)
            .bind(&self.excluded)
            .bind(serde_json::Value::from(tenants).to_string())
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .fetch_all(&mut **tx)
            .await
    }
}

/// Requires that the term is still this one. Says whether this claim was made by an earlier try.
pub(super) async fn is_made(
    executor: impl Executor<'_, Database = Sqlite>,
    term: &TermId,
    claim: ClaimId,
) -> Result<bool, StoreError> {
    let found: Option<ClaimTermRow> = sqlx::query_as(query!("sqlite/poller/claim_term"))
        .bind(term.shard.0)
        .bind(claim.0.to_string())
        .fetch_optional(executor)
        .await
        .map_err(|error| failed(DOING, error))?;
    TermRow::require(found.as_ref().map(|row| &row.term), term)?;
    Ok(found.is_some_and(|row| row.made))
}

/// Reads an earlier claim again, since the answer to that call was lost.
pub(super) async fn made(
    tx: &mut SqliteTransaction<'static>,
    claim: ClaimId,
    channels: &str,
) -> Result<Vec<Message>, StoreError> {
    let (ids, revisions): (Json<Vec<i64>>, Json<Vec<i32>>) = sqlx::query_as(query!("sqlite/poller/claim_made"))
        .bind(claim.0.to_string())
        .fetch_one(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    read(tx, ids.0.into_iter().zip(revisions.0).collect(), channels).await
}

pub(super) async fn insert(
    tx: &mut SqliteTransaction<'static>,
    term: &TermId,
    claim: ClaimId,
    batch: Batch,
) -> Result<(), StoreError> {
    sqlx::query(query!("sqlite/poller/claim_insert"))
        .bind(claim.0.to_string())
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(batch.message_ids)
        .bind(batch.revisions)
        .bind(batch.settling_ms)
        .bind(batch.settling_closed_ms)
        .bind(batch.at_most_once)
        .execute(&mut **tx)
        .await
        .map(drop)
        .map_err(|error| failed(DOING, error))
}

/// The rows of a claim that may still be sent under it, in their order. Where the database cannot give what they say all
/// together, each is read by itself.
pub(super) async fn read(
    tx: &mut SqliteTransaction<'static>,
    claimed: Vec<(i64, i32)>,
    channels: &str,
) -> Result<Vec<Message>, StoreError> {
    let claimed = as_json(DOING, &claimed)?;
    match rows(tx, &claimed, channels, true).await {
        Err(StoreError::Refused { .. }) => {}
        read => return read,
    }
    let mut messages = rows(tx, &claimed, channels, false).await?;
    for message in messages.iter_mut().filter(|message| !message.too_large) {
        let body: Result<(Lossy<String>, Lossy<Option<String>>), _> =
            sqlx::query_as(query!("sqlite/poller/claimed_body"))
                .bind(message.id)
                .bind(message.revision)
                .fetch_one(&mut **tx)
                .await;
        let body = body.map(|(payload, headers)| (payload.into(), headers.into()));
        message.read_apart(body.map_err(|error| failed(DOING, error)))?;
    }
    Ok(messages)
}

async fn rows(
    tx: &mut SqliteTransaction<'static>,
    claimed: &str,
    channels: &str,
    bodies: bool,
) -> Result<Vec<Message>, StoreError> {
    let rows = sqlx::query_as(query!("sqlite/poller/claimed"))
        .bind(claimed)
        .bind(channels)
        .bind(bodies)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(ReadRow::in_order(rows))
}

/// Defers rows of unknown channels, and those that wait close behind the first due ones, but for those excluded. Returns how many
/// rows of each channel these were.
pub(super) async fn defer(
    tx: &mut SqliteTransaction<'static>,
    shard: Shard,
    mut met: Met,
    (excluded, channels): (&str, &str),
    delay: Duration,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let behind: Vec<(i64, Lossy<String>)> = sqlx::query_as(query!("sqlite/poller/defer_behind"))
        .bind(shard.0)
        .bind(excluded)
        .bind(channels)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    met.extend(behind.into_iter().map(|(id, channel)| (id, channel.into())));
    sqlx::query(query!("sqlite/poller/defer"))
        .bind(as_json(DOING, &met.keys().collect::<Vec<_>>())?)
        .bind(millis_i64(delay))
        .execute(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(by_channel(met.into_values()))
}
