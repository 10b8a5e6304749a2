//! After a failover: writes claims again that the database has lost, and lists the messages that went out and are gone.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use outbox_schema::MessageId;
use serde::Serialize;
use uuid::Uuid;

use crate::lineage;
use crate::sql::{AnyConnection, AnyTransaction, Value, read};
use crate::statement::Statement;
use crate::store::lossy::Lossy;
use crate::store::steps::failed;
use crate::store::wire::{as_json, ids_as_json, millis_i64};
use crate::{ClaimId, Database, Epoch, Holder, Revision, Shard, StoreError};

const LOCK: Statement = statement!("failover/lock");
const SERVED_BY: Statement = statement!("failover/served_by");
const ROWS: Statement = statement!("failover/rows");
const AWAITED: Statement = statement!("failover/awaited");
const CLAIMS: Statement = statement!("failover/claims");
const CLAIM: Statement = statement!("failover/claim");
const TOLD: Statement = statement!("failover/told");
const TELL: Statement = statement!("failover/tell");
const TELL_LOST: Statement = statement!("failover/tell_lost");

const WRITING: &str = "writing claims again that a failover lost";
const TELLING: &str = "listing the messages that a failover lost";

/// How many lost messages one statement lists.
const LISTED_AT_ONCE: usize = 1_000;

/// A claim that a failover may have lost.
#[derive(Debug, Clone)]
pub struct PastClaim {
    /// Its id.
    pub claim: ClaimId,
    /// The epoch of its term.
    pub epoch: Epoch,
    /// The holder of its term.
    pub holder: Holder,
    /// When it was made.
    pub made: Instant,
    /// How long a later term waits before it settles the claim.
    pub settling: Duration,
    /// The same where the gate of its term was closed.
    pub settling_closed: Duration,
    /// The channels whose rows in doubt are not sent again.
    pub at_most_once: Vec<String>,
    /// Its rows.
    pub rows: Vec<PastRow>,
}

/// A row as it was claimed.
#[derive(Debug, Clone)]
pub struct PastRow {
    /// The row.
    pub id: MessageId,
    /// The revision that the claim recorded.
    pub revision: Revision,
    /// The idempotency key: where inserts were lost, the database gives the same ids to other messages.
    pub key: String,
}

/// What the database has of a row that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The row as it was claimed: its mark is to be written, again or for the first time.
    AsClaimed,
    /// The row at a later revision: nothing of it was lost.
    MovedOn,
    /// The row at an earlier revision: an earlier mark of it was lost too, and comes first.
    Behind,
    /// No row, or one of another message.
    Gone,
}

/// Has the database know these claims again, and says what it has of their rows. A claim that it lost is made again of those rows
/// that are as they were claimed and in no other claim; its gate is closed, and the next term settles what is not marked until then.
/// Where a term has begun since the failover, no claim is made: its poller may have claimed the rows. Repeated, it does nothing more.
pub async fn restore(database: &Database, shard: Shard, claims: &[PastClaim]) -> Result<Vec<Vec<Found>>, StoreError> {
    let mut transaction = AnyTransaction::to_write_after_all(database).await.map_err(failed(WRITING))?;
    let mut connection = transaction.connection();
    connection.rows::<(i64,)>(&LOCK, &[shard.into()]).await.map_err(failed(WRITING))?;
    let is_late = has_begun(&mut connection, shard).await.map_err(failed(WRITING))?;
    let known = Known::read(&mut connection, shard, claims).await.map_err(failed(WRITING))?;
    // So no claim seems to be made later than it was.
    let clock = (connection.now_us().await.map_err(failed(WRITING))?, Instant::now());
    let mut found = Vec::new();
    for claim in claims {
        let rows: Vec<Found> = claim.rows.iter().map(|row| known.found(row)).collect();
        if !is_late && !known.claims.contains(&claim.claim.0.to_string()) {
            let lost = claim.rows.iter().zip(&rows).filter(|(row, found)| {
                **found == Found::AsClaimed && !known.claimed.contains(&(row.id.0, row.revision.0))
            });
            let lost: Vec<&PastRow> = lost.map(|(row, _)| row).collect();
            if !lost.is_empty() {
                make(&mut connection, shard, claim, &lost, clock).await?;
            }
        }
        found.push(rows);
    }
    transaction.commit().await.map_err(failed(WRITING))?;
    Ok(found)
}

/// Whether the newest term that the database knows was minted in the lineage of now.
async fn has_begun(connection: &mut AnyConnection<'_>, shard: Shard) -> sqlx::Result<bool> {
    let here = match connection {
        AnyConnection::Postgres(connection) => lineage::read_postgres(connection).await?.lineage(),
        AnyConnection::MySql(connection) => lineage::read_mysql(connection).await?.lineage(),
        AnyConnection::Sqlite(_) => None,
    };
    let newest: Vec<(Option<String>,)> = connection.rows(&SERVED_BY, &[shard.into()]).await?;
    let served_by = newest.into_iter().next().and_then(|(served_by,)| served_by);
    Ok(here.is_some_and(|here| served_by == Some(here.to_string())))
}

/// A row as the database has it.
#[derive(Debug, sqlx::FromRow)]
struct KnownRow {
    id: i64,
    revision: i32,
    is_pending: bool,
    #[sqlx(try_from = "Lossy<String>")]
    sent_key: String,
}

/// What the database knows of past claims.
#[derive(Debug)]
struct Known {
    rows: HashMap<i64, KnownRow>,
    /// The claims that stand.
    claims: HashSet<String>,
    /// Their rows, each with its revision.
    claimed: HashSet<(i64, i32)>,
}

impl Known {
    async fn read(connection: &mut AnyConnection<'_>, shard: Shard, claims: &[PastClaim]) -> sqlx::Result<Self> {
        let ids: Vec<MessageId> = claims.iter().flat_map(|claim| &claim.rows).map(|row| row.id).collect();
        let rows: Vec<KnownRow> = connection.rows(&ROWS, &[(&ids_as_json(&ids)).into()]).await?;
        let standing: Vec<(String, i64, i32)> = connection.rows(&CLAIMS, &[shard.into()]).await?;
        Ok(Self {
            rows: rows.into_iter().map(|row| (row.id, row)).collect(),
            claims: standing.iter().map(|(claim, _, _)| claim.clone()).collect(),
            claimed: standing.into_iter().map(|(_, id, revision)| (id, revision)).collect(),
        })
    }

    fn found(&self, past: &PastRow) -> Found {
        match self.rows.get(&past.id.0) {
            Some(row) if row.sent_key != past.key => Found::Gone,
            Some(row) if row.revision > past.revision.0 || !row.is_pending => Found::MovedOn,
            Some(row) if row.revision < past.revision.0 => Found::Behind,
            Some(_) => Found::AsClaimed,
            None => Found::Gone,
        }
    }
}

async fn make(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
    claim: &PastClaim,
    rows: &[&PastRow],
    (now_us, now): (i64, Instant),
) -> Result<(), StoreError> {
    let age = i64::try_from(now.saturating_duration_since(claim.made).as_micros()).unwrap_or(i64::MAX);
    let (ids, revisions): (Vec<_>, Vec<_>) = rows.iter().map(|row| (row.id.0, row.revision.0)).unzip();
    let (ids, revisions) = (as_json(WRITING, &ids)?, as_json(WRITING, &revisions)?);
    let (id, at_most_once) = (claim.claim.0.to_string(), as_json(WRITING, &claim.at_most_once)?);
    let values = [
        Value::from(&id),
        shard.into(),
        claim.epoch.0.into(),
        claim.holder.as_str().into(),
        (&ids).into(),
        (&revisions).into(),
        now_us.saturating_sub(age).into(),
        millis_i64(claim.settling).into(),
        millis_i64(claim.settling_closed).into(),
        (&at_most_once).into(),
    ];
    connection.changed(&CLAIM, &values).await.map(drop).map_err(failed(WRITING))
}

/// A message that went out, and of which the database knows nothing any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostMessage {
    /// The idempotency key, as the receiver got it.
    pub idempotency_key: String,
    /// The channel.
    pub channel: String,
    /// The target.
    pub target: String,
    /// The id that the row had. Another message may have it now.
    pub id: MessageId,
    /// How long ago the attempt began, in milliseconds.
    pub sent_ms_ago: u64,
    /// What the attempt led to, as `outbox_attempt.outcome` says it.
    pub outcome: &'static str,
    /// The status code of the answer, if there was one.
    pub status_code: Option<u16>,
}

/// What a replica found after a failover, for the audit.
#[derive(Debug, Clone, Serialize)]
pub struct FailoverEntry<'a> {
    /// A random id of this entry: written under the same one again, it is written once.
    pub entry: Uuid,
    /// From which lineage to which.
    #[serde(skip)]
    pub change: &'a str,
    /// The replica.
    #[serde(skip)]
    pub who: &'a str,
    /// How many marks it wrote again.
    pub marked_again: usize,
    /// How many messages are gone.
    pub lost: usize,
}

/// The replicas, but for this one, that polled within ten seconds before the database failed over, live, and have not told yet of this
/// `change`. Where replicas of before die with the database, nothing says so at once.
pub async fn awaited(database: &Database, shard: Shard, this: &str, change: &str) -> Result<Vec<String>, StoreError> {
    let values = [shard.into(), this.into(), change.into()];
    let awaited: Vec<(String,)> = read(database, &AWAITED, &values).await.map_err(failed(TELLING))?;
    Ok(awaited.into_iter().map(|(replica,)| replica).collect())
}

/// Writes an entry of the audit, and one below it for each lost message.
pub async fn tell(database: &Database, entry: &FailoverEntry<'_>, lost: &[LostMessage]) -> Result<(), StoreError> {
    let details = as_json(TELLING, entry)?;
    let mut transaction = AnyTransaction::to_write(database).await.map_err(failed(TELLING))?;
    let mut connection = transaction.connection();
    let told: Vec<(i64,)> =
        connection.rows(&TOLD, &[(&entry.entry.to_string()).into()]).await.map_err(failed(TELLING))?;
    if told.is_empty() {
        let values = [entry.who.into(), entry.change.into(), Value::from(&details)];
        let whole = connection.inserted_id(&TELL, &values).await.map_err(failed(TELLING))?;
        for some in lost.chunks(LISTED_AT_ONCE) {
            let some = as_json(TELLING, some)?;
            let values = [entry.who.into(), whole.into(), Value::from(&some)];
            connection.changed(&TELL_LOST, &values).await.map_err(failed(TELLING))?;
        }
    }
    transaction.commit().await.map_err(failed(TELLING))
}
