//! Claims: made, and read again where the answer was lost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use sqlx::FromRow;
use sqlx::types::Json;

use super::errors::failed;
use super::glance::{channel_number, rooms_of_turns};
use super::{MySqlStore, Step, highest, lowest};
use crate::claim::{Found, Head, Heads, PRIORITIES};
use crate::literal::{spelled_out, spelled_text, text};
use crate::store::fitting::{DueRow, Fitting};
use crate::store::rows::{Met, ReadRow, by_channel};
use crate::store::steps::{Batch, ClaimTermRow, TermRow};
use crate::store::turns::{FEW, NEWEST, Parts, TurnRow, in_turn, may_glance, open_tenants};
use crate::store::wire::{ChannelRow, as_json, millis_i64};
use crate::{
    ClaimId, ClaimRequest, Claimed, KeyStretch, Message, MessageId, OrderingKey, Shard, StoreError, TermId, Turns,
    WalkStart,
};

pub(super) const DOING: &str = "claiming due messages";

/// The request of a claim, in the form that statements take.
pub(super) struct ClaimParameters<'a> {
    pub(super) term: &'a TermId,
    pub(super) request: &'a ClaimRequest<'a>,
    pub(super) channels: String,
    pub(super) closed: String,
    pub(super) closed_channels: String,
}

/// The cancellations that applications may make beside a claim.
pub(super) enum Cancellations {
    /// A cancellation is open, or may be.
    Open,
    /// New cancellations wait for the claim.
    HeldBack {
        /// Whether messages with an ordering key wait. The same statement reads this.
        keys_wait: bool,
    },
}

impl MySqlStore {
    pub(super) async fn claim_in_steps(
        &self,
        term: &TermId,
        request: &ClaimRequest<'_>,
    ) -> Result<Claimed, StoreError> {
        let asked = ClaimParameters::of(term, request)?;
        let mut step = self.begin(DOING).await?;
        let claimed = if lock_term(&mut step, term, request.claim).await? {
            let messages = made(&mut step, request.claim, &asked.channels).await?;
            Claimed { messages, ..Claimed::default() }
        } else {
            asked.claim(&mut step).await?
        };
        step.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(claimed)
    }
}

impl<'a> ClaimParameters<'a> {
    pub(super) fn of(term: &'a TermId, request: &'a ClaimRequest<'a>) -> Result<Self, StoreError> {
        Ok(Self {
            term,
            request,
            channels: as_json(DOING, &ChannelRow::all(request.channels))?,
            closed: as_json(DOING, request.closed)?,
            closed_channels: as_json(DOING, request.closed_channels)?,
        })
    }

    /// Walks, reads the rows to claim, each at the revision that the walk found, and writes the claim: how long it may take is
    /// said by its rows. Then moves what is in the way.
    pub(super) async fn claim(&self, step: &mut Step) -> Result<Claimed, StoreError> {
        let (fitting, keys_left) = self.take(step).await?;
        let Fitting { taken, met, reached, asked, found, held, took_all } = fitting;
        let mut messages = Vec::new();
        if !taken.is_empty() {
            let claimed = taken.iter().map(|row| (row.id, row.revision)).collect();
            messages = read(step, claimed, &self.channels).await?;
        }
        if let Some(batch) = Batch::of(DOING, &taken, &messages, self.request)? {
            insert(step, self.term, self.request.claim, batch).await?;
        }
        let mut deferred = BTreeMap::new();
        if !met.is_empty() {
            let delay = self.request.unknown_channel_delay;
            deferred =
                defer(step, self.term.shard, met, (&as_json(DOING, self.request.excluded)?, &self.channels), delay)
                    .await?;
        }
        Ok(Claimed { messages, deferred, reached, asked, found, held, took_all, keys_left })
    }

    /// Walks. Beside a cancellation, it locks the rows that it found until the claim has committed, so that no
    /// application cancels them meanwhile. Rows that another transaction has locked are left alone. Where a walk found no
    /// other rows, it goes on behind them. Says also which ordering keys it did not look at.
    async fn take(&self, step: &mut Step) -> Result<(Fitting, Option<OrderingKey>), StoreError> {
        let cancellations = hold_back_cancellations(step, self.term).await?;
        let no_keys = matches!(cancellations, Cancellations::HeldBack { keys_wait: false });
        let looks = !no_keys && self.request.found.is_none();
        let heads = if looks { self.heads(step).await? } else { Heads::default() };
        let fitting = self.take_beside(step, cancellations, &heads.ids).await?;
        Ok((fitting, heads.left))
    }

    async fn take_beside(
        &self,
        step: &mut Step,
        cancellations: Cancellations,
        heads: &[MessageId],
    ) -> Result<Fitting, StoreError> {
        if matches!(cancellations, Cancellations::HeldBack { keys_wait: false })
            && may_glance(self.request)
            && let Some(due) = self.glance(step).await?
        {
            return Ok(Fitting::of(due, self.request, self.request.from));
        }
        let (mut from, mut excluded) = (self.request.from, self.request.excluded.to_vec());
        loop {
            let due = match self.request.found.cloned() {
                Some(Found(due)) => due,
                None => self.look(step, from, &excluded, heads).await?,
            };
            let mut found = Fitting::of(due, self.request, from);
            if matches!(cancellations, Cancellations::HeldBack { .. }) || found.is_empty() {
                return Ok(found);
            }
            let walked: Vec<_> = found.ids().map(MessageId).collect();
            let passed = found.reached;
            found.keep(&lock_free(step, &walked).await?);
            if !found.is_empty() {
                return Ok(found);
            }
            if self.request.found.is_some() {
                found.held = walked;
                return Ok(found);
            }
            // The other transaction may hold many rows: go on behind all of them, and not past each one again.
            from = passed.unwrap_or(from);
            excluded.extend(walked);
        }
    }

    /// What is due, in the order in which it is to go.
    async fn look(
        &self,
        step: &mut Step,
        from: WalkStart,
        excluded: &[MessageId],
        heads: &[MessageId],
    ) -> Result<Vec<DueRow>, StoreError> {
        let due = self.walk(step, from, excluded, heads).await?;
        match self.request.turns {
            Some(turns) if Fitting::leaves_some(&due, self.request, from) => {
                self.turns(step, turns, excluded, &due).await
            }
            Some(_) | None => Ok(due),
        }
    }

    /// The heads of the requested ordering keys, due or not, and of new ones where these are not all.
    async fn heads(&self, step: &mut Step) -> Result<Heads, StoreError> {
        let KeyStretch { from, until } = self.request.keys;
        let channel = |key: Option<&OrderingKey>| text(key.map_or("", |key| &key.channel));
        let (lowest, highest) = (text(&lowest(from)), text(&highest(until)));
        let statement = spelled_out(
            query!("mysql/poller/claim_heads"),
            &[
                self.term.shard.0.to_string(),
                lowest.clone(),
                highest.clone(),
                lowest,
                channel(from),
                highest,
                channel(until),
            ],
        );
        let rows = sqlx::raw_sql(statement).fetch_all(&mut **step).await.map_err(|error| failed(DOING, error))?;
        let heads = rows.iter().map(Head::from_row).collect::<Result<_, _>>();
        let mut heads = heads.map(Heads::of).map_err(|error| failed(DOING, error))?;
        if heads.left.is_some() {
            let new = sqlx::query_scalar(query!("mysql/poller/claim_new_heads")).bind(self.term.shard.0);
            heads.add(new.fetch_all(&mut **step).await.map_err(|error| failed(DOING, error))?);
        }
        Ok(heads)
    }

    async fn walk(
        &self,
        step: &mut Step,
        from: WalkStart,
        excluded: &[MessageId],
        heads: &[MessageId],
    ) -> Result<Vec<DueRow>, StoreError> {
        let (heads, others) = undecided(heads, excluded);
        let (heads, others) = (as_json(DOING, &heads)?, as_json(DOING, &others)?);
        let excluded = as_json(DOING, excluded)?;
        let mut walk = sqlx::query_as(query!("mysql/poller/claim_walk"));
        // There is a branch for each priority, the highest first.
        for start in from.places().into_iter().rev() {
            walk = walk.bind(self.term.shard.0);
            let (at, id) = start.map_or((0, 0), |place| (place.us, place.id));
            walk = walk.bind(start.is_none()).bind(at).bind(at).bind(id).bind(&excluded);
            walk = walk.bind(&self.closed).bind(&self.closed_channels);
            walk = walk.bind(self.request.limit);
        }
        // These are the heads of ordering keys.
        walk = walk.bind(heads).bind(others).bind(&self.closed).bind(&self.closed_channels).bind(&self.channels);
        let mut due: Vec<DueRow> =
            walk.bind(self.request.walk_limit()).fetch_all(&mut **step).await.map_err(|error| failed(DOING, error))?;
        DueRow::number(&mut due);
        Ok(due)
    }

    /// What a walk came by, and what of each tenant is due beside it, in the order of their turns.
    async fn turns(
        &self,
        step: &mut Step,
        turns: Turns<'_>,
        excluded: &[MessageId],
        walked: &[DueRow],
    ) -> Result<Vec<DueRow>, StoreError> {
        let excluded = as_json(DOING, excluded)?;
        let newest = self.newest(step, &excluded).await?;
        let mut met: HashSet<i64> = walked.iter().map(|row| row.id).chain(newest.iter().copied()).collect();
        met.extend(self.served(step, turns, &excluded).await?);
        let mut firsts = self.tenants(step, turns).await?;
        // A tenant that is a destination without room may have any number of rows: they are not read.
        let rooms = rooms_of_turns(self.request);
        firsts.retain(|(turn, ..)| rooms.get(turn) != Some(&0));
        let tenants: HashSet<i64> = firsts.iter().map(|(turn, ..)| *turn).collect();
        let (before, few) = (met.len(), tenants.len() <= FEW);
        let smallest = self.parts(&tenants).smallest();
        if few {
            met.extend(self.shares(step, tenants, &excluded).await?);
        } else {
            met.extend(self.turn_heads(step, &firsts, &excluded).await?);
        }
        let mut rows = self.beside(step, &met).await?;
        if few && met.len() < before + smallest {
            // No tenant has more than its share.
            return Ok(in_turn(rows, walked, &newest, self.request));
        }
        let walked_ids = walked.iter().map(|row| row.id).collect();
        let open: HashSet<i64> =
            open_tenants(&rows, &walked_ids, self.request).into_iter().filter_map(|row| row.turn).collect();
        let mut more: HashSet<i64> = self.shares(step, open, &excluded).await?.into_iter().collect();
        more.retain(|id| !met.contains(id));
        if !more.is_empty() {
            rows.extend(self.beside(step, &more).await?);
        }
        Ok(in_turn(rows, walked, &newest, self.request))
    }

    /// The rows with these ids that are due, with whose turn each is.
    async fn beside(&self, step: &mut Step, ids: &HashSet<i64>) -> Result<Vec<TurnRow>, StoreError> {
        sqlx::query_as(query!("mysql/poller/claim_beside"))
            .bind(as_json(DOING, ids)?)
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .fetch_all(&mut **step)
            .await
            .map_err(|error| failed(DOING, error))
    }

    /// Of each of these tenants, the rows of its share.
    async fn shares(&self, step: &mut Step, tenants: HashSet<i64>, excluded: &str) -> Result<Vec<i64>, StoreError> {
        let parts = self.parts(&tenants);
        let mut ids = Vec::new();
        for turn in tenants {
            ids.extend(self.turn(step, turn, excluded, parts.of_tenant(&(turn >> 32))).await?);
        }
        Ok(ids)
    }

    /// The parts of these tenants. The number of one begins with that of its channel.
    fn parts(&self, tenants: &HashSet<i64>) -> Parts<i64> {
        Parts::of(self.request.limit, tenants.iter().map(|turn| turn >> 32))
    }

    async fn newest(&self, step: &mut Step, excluded: &str) -> Result<HashSet<i64>, StoreError> {
        let mut newest = sqlx::query_scalar(query!("mysql/poller/claim_newest"));
        for _priority in 0..PRIORITIES {
            newest = newest.bind(self.term.shard.0).bind(excluded);
            newest = newest.bind(&self.closed).bind(&self.closed_channels).bind(NEWEST);
        }
        let ids = newest.fetch_all(&mut **step).await.map_err(|error| failed(DOING, error))?;
        Ok(ids.into_iter().collect())
    }

    /// The first rows of tenants served lately, of each priority.
    async fn served(&self, step: &mut Step, turns: Turns<'_>, excluded: &str) -> Result<Vec<i64>, StoreError> {
        let unfair = self.request.unfair();
        let served = turns.served.iter().filter(|tenant| !unfair.contains(&tenant.channel.as_str()));
        let served: Vec<_> = served.map(|tenant| [&tenant.channel, &tenant.name]).collect();
        if served.is_empty() {
            return Ok(Vec::new());
        }
        let heads: Vec<Option<i64>> = sqlx::query_scalar(query!("mysql/poller/claim_served"))
            .bind(self.term.shard.0)
            .bind(excluded)
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .bind(as_json(DOING, &served)?)
            .fetch_all(&mut **step)
            .await
            .map_err(|error| failed(DOING, error))?;
        Ok(heads.into_iter().flatten().collect())
    }

    /// The tenants of each channel in a stretch of its ring, which begins again at its end: for each of their priorities,
    /// when the first row is due.
    pub(super) async fn tenants(
        &self,
        step: &mut Step,
        turns: Turns<'_>,
    ) -> Result<Vec<(i64, i16, String)>, StoreError> {
        // The ring has 32 bits here.
        let from = turns.from >> 16;
        let stretches = [(from, 1 << 32), (0, from)];
        // Channels whose names share a number share its tenants: these are looked for once.
        let fair = self.request.channels.iter().filter(|channel| channel.fair);
        let fair: BTreeMap<i64, &str> = fair.map(|one| (channel_number(&one.name), one.name.as_str())).collect();
        let mut firsts = Vec::new();
        for (from, until) in stretches {
            let branch = |channel: &&str| {
                let values = [
                    self.term.shard.0.to_string(),
                    text(channel),
                    from.to_string(),
                    text(channel),
                    until.to_string(),
                    turns.tenants.to_string(),
                ];
                spelled_text(query!("mysql/poller/claim_tenants"), &values)
            };
            let statement = fair.values().map(branch).collect::<Vec<_>>().join("\nUNION ALL\n");
            if from == until || fair.is_empty() {
                continue;
            }
            let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).fetch_all(&mut **step).await;
            for row in rows.map_err(|error| failed(DOING, error))? {
                firsts.push(<_>::from_row(&row).map_err(|error| failed(DOING, error))?);
            }
            if firsts.len() >= turns.tenants as usize * fair.len() {
                break;
            }
        }
        Ok(firsts)
    }

    async fn turn(&self, step: &mut Step, turn: i64, excluded: &str, share: usize) -> Result<Vec<i64>, StoreError> {
        let mut rows = sqlx::query_scalar(query!("mysql/poller/claim_turn"));
        for _priority in 0..PRIORITIES {
            rows = rows.bind(self.term.shard.0).bind(turn).bind(excluded);
            rows = rows.bind(&self.closed).bind(&self.closed_channels).bind(share as u64);
        }
        rows.fetch_all(&mut **step).await.map_err(|error| failed(DOING, error))
    }

    async fn turn_heads(
        &self,
        step: &mut Step,
        firsts: &[(i64, i16, String)],
        excluded: &str,
    ) -> Result<Vec<i64>, StoreError> {
        let heads: Vec<Option<i64>> = sqlx::query_scalar(query!("mysql/poller/claim_turn_heads"))
            .bind(self.term.shard.0)
            .bind(excluded)
            .bind(&self.closed)
            .bind(&self.closed_channels)
            .bind(as_json(DOING, firsts)?)
            .fetch_all(&mut **step)
            .await
            .map_err(|error| failed(DOING, error))?;
        Ok(heads.into_iter().flatten().collect())
    }
}

/// Locks the term, and requires that it is still this one. Says whether this claim was made by an earlier try.
pub(super) async fn lock_term(step: &mut Step, term: &TermId, claim: ClaimId) -> Result<bool, StoreError> {
    let locked: Option<ClaimTermRow> = sqlx::query_as(query!("mysql/poller/claim_lock"))
        .bind(claim.0.to_string())
        .bind(term.shard.0)
        .fetch_optional(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    TermRow::require(locked.as_ref().map(|row| &row.term), term)?;
    Ok(locked.is_some_and(|row| row.made))
}

/// Lets new cancellations wait until the claim has committed, where none is open already.
pub(super) async fn hold_back_cancellations(step: &mut Step, term: &TermId) -> Result<Cancellations, StoreError> {
    let keyed: Option<bool> = sqlx::query_scalar(query!("mysql/poller/claim_undisturbed"))
        .bind(term.shard.0)
        .fetch_optional(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(keyed.map_or(Cancellations::Open, |keys_wait| Cancellations::HeldBack { keys_wait }))
}

/// Reads an earlier claim again, since the answer to that call was lost.
pub(super) async fn made(step: &mut Step, claim: ClaimId, channels: &str) -> Result<Vec<Message>, StoreError> {
    let (ids, revisions): (Json<Vec<i64>>, Json<Vec<i32>>) = sqlx::query_as(query!("mysql/poller/claim_made"))
        .bind(claim.0.to_string())
        .fetch_one(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    read(step, ids.0.into_iter().zip(revisions.0).collect(), channels).await
}

pub(super) async fn insert(step: &mut Step, term: &TermId, claim: ClaimId, batch: Batch) -> Result<(), StoreError> {
    sqlx::query(query!("mysql/poller/claim_insert"))
        .bind(claim.0.to_string())
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(batch.message_ids)
        .bind(batch.revisions)
        .bind(batch.settling_ms)
        .bind(batch.settling_closed_ms)
        .bind(batch.at_most_once)
        .execute(&mut **step)
        .await
        .map(drop)
        .map_err(|error| match error.as_database_error() {
            // An earlier try of the same claim has committed meanwhile. The next try finds it.
            Some(database) if database.is_unique_violation() => {
                StoreError::Unavailable { doing: DOING, source: error.into() }
            }
            Some(_) | None => failed(DOING, error),
        })
}

/// The rows of a claim that may still be sent under it, in their order. Where the database cannot give what they say all
/// together, each is read by itself.
pub(super) async fn read(
    step: &mut Step,
    claimed: Vec<(i64, i32)>,
    channels: &str,
) -> Result<Vec<Message>, StoreError> {
    let claimed = as_json(DOING, &claimed)?;
    match rows(step, &claimed, channels, true).await {
        Err(StoreError::Refused { .. }) => {}
        read => return read,
    }
    let mut messages = rows(step, &claimed, channels, false).await?;
    for message in messages.iter_mut().filter(|message| !message.too_large) {
        let body = sqlx::query_as(query!("mysql/poller/claimed_body"))
            .bind(message.id)
            .bind(message.revision)
            .fetch_one(&mut **step)
            .await;
        message.read_apart(body.map_err(|error| failed(DOING, error)))?;
    }
    Ok(messages)
}

async fn rows(step: &mut Step, claimed: &str, channels: &str, bodies: bool) -> Result<Vec<Message>, StoreError> {
    let rows = sqlx::query_as(query!("mysql/poller/claimed"))
        .bind(bodies)
        .bind(bodies)
        .bind(claimed)
        .bind(channels)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(ReadRow::in_order(rows))
}

/// Defers rows of unknown channels, and those that wait close behind the first due ones, but for those excluded. Returns how many
/// rows of each channel these were.
pub(super) async fn defer(
    step: &mut Step,
    shard: Shard,
    mut met: Met,
    (excluded, channels): (&str, &str),
    delay: Duration,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let mut behind = sqlx::query_as(query!("mysql/poller/defer_behind"));
    for _priority in 0..PRIORITIES {
        behind = behind.bind(shard.0).bind(excluded);
    }
    let behind: sqlx::Result<Vec<(i64, String)>> = behind.bind(channels).fetch_all(&mut **step).await;
    let behind = behind.map_err(|error| failed(DOING, error))?;
    let ids: Vec<_> = behind.iter().map(|(id, _)| MessageId(*id)).collect();
    let free = lock_free(step, &ids).await?;
    met.extend(behind.into_iter().filter(|(id, _)| free.contains_key(id)));
    sqlx::query(query!("mysql/poller/defer"))
        .bind(as_json(DOING, &met.keys().collect::<Vec<_>>())?)
        .bind(millis_i64(delay))
        .execute(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(by_channel(met.into_values()))
}

/// The rows that must be looked up: the heads that are not excluded themselves, and the excluded rows that may have the
/// same keys. An excluded head is in neither list: its key has its turn, and has no other head.
fn undecided(heads: &[MessageId], excluded: &[MessageId]) -> (Vec<MessageId>, Vec<MessageId>) {
    let free = without(heads, excluded);
    let others = if free.is_empty() { Vec::new() } else { without(excluded, heads) };
    (free, others)
}

fn without(ids: &[MessageId], those: &[MessageId]) -> Vec<MessageId> {
    let taken: HashSet<_> = those.iter().collect();
    ids.iter().filter(|id| !taken.contains(id)).copied().collect()
}

/// Locks those of `ids` that no other transaction has locked. Returns the revision of each.
pub(super) async fn lock_free(step: &mut Step, ids: &[MessageId]) -> Result<HashMap<i64, i32>, StoreError> {
    let free: Vec<(i64, i32)> = sqlx::query_as(query!("mysql/poller/lock_free"))
        .bind(as_json(DOING, ids)?)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(free.into_iter().collect())
}
