//! Retention, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use sqlx::FromRow;

use super::statements::{
    DESTINATIONS_PAGE, FORGET_DESTINATIONS, OLD_TERMS, ORPHANED_ATTEMPTS, PRUNE_LOCK, PRUNE_PAGE, PRUNE_TERMS, PURGE,
    PURGE_ATTEMPTS,
};
use super::{Overdue, Pruning, Retention, STRETCH, Stretch};
use crate::sql::{AnyConnection, AnyTransaction, Value, read, while_doing, write};
use crate::store::wire::{ids_as_json, millis_i64};
use crate::{Database, QueryError, Status};

/// Epochs of the term log that are removed in one transaction.
const TERMS: i64 = 1_000;

/// Destinations that are looked at in one statement.
const DESTINATIONS: u32 = 1_000;

#[derive(Debug, FromRow)]
struct Row {
    pub(super) id: i64,
    pub(super) status: String,
    overdue_ms: Option<i64>,
    young: i64,
}

impl Row {
    fn overdue(&self) -> Option<Overdue> {
        let by = Duration::from_millis(self.overdue_ms?.try_into().ok()?);
        let finished = [Status::Success, Status::Dead].into_iter();
        let status = finished.into_iter().find(|status| status.as_str() == self.status)?;
        Some(Overdue { id: MessageId(self.id), status, by })
    }
}

#[derive(Debug, FromRow)]
struct OldTerms {
    shard: i64,
    first: i64,
    last: i64,
}

#[async_trait]
impl Pruning for Database {
    async fn overdue(&self, retention: &Retention, after: MessageId) -> Result<Stretch, QueryError> {
        overdue(self, retention, after).await.map_err(while_doing("looking for what is past its retention"))
    }

    async fn remove(&self, retention: &Retention, stretch: &Stretch) -> Result<Vec<Overdue>, QueryError> {
        remove(self, retention, stretch).await.map_err(while_doing("removing what is past its retention"))
    }

    async fn prune_terms(&self) -> Result<bool, QueryError> {
        prune_terms(self).await.map_err(while_doing("removing old terms from the log"))
    }

    async fn prune_destinations(&self, after: &str) -> Result<Option<String>, QueryError> {
        prune_destinations(self, after).await.map_err(while_doing("forgetting destinations that nothing holds up"))
    }
}

async fn overdue(database: &Database, retention: &Retention, after: MessageId) -> sqlx::Result<Stretch> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let stretch = overdue_in(&mut transaction.connection(), retention, after).await?;
    transaction.commit().await?;
    Ok(stretch)
}

/// Looks at the next [`STRETCH`] rows behind `after`, in a transaction that does more.
pub async fn overdue_in(
    connection: &mut AnyConnection<'_>,
    retention: &Retention,
    after: MessageId,
) -> sqlx::Result<Stretch> {
    let Some(shortest) = retention.shortest() else { return Ok(Stretch::NONE) };
    let values = [
        after.0.into(),
        i64::from(STRETCH).into(),
        in_ms(retention.success),
        in_ms(retention.dead),
        in_ms(Some(shortest)),
    ];
    let rows: Vec<Row> = connection.rows(&PRUNE_PAGE, &values).await?;
    let all = rows.len() < STRETCH as usize;
    Ok(Stretch {
        after,
        // Behind the last row there may be attempts of rows that are gone.
        through: MessageId(rows.last().filter(|_| !all).map_or(i64::MAX, |row| row.id)),
        last: all || rows.iter().all(|row| row.young != 0),
        overdue: rows.iter().filter_map(Row::overdue).collect(),
    })
}

async fn remove(database: &Database, retention: &Retention, stretch: &Stretch) -> sqlx::Result<Vec<Overdue>> {
    let mut removed = Vec::new();
    if !stretch.overdue.is_empty() {
        let mut transaction = AnyTransaction::to_write(database).await?;
        removed = remove_messages(&mut transaction.connection(), retention, &stretch.overdue).await?;
        transaction.commit().await?;
    }
    let gone: Vec<(i64,)> = read(database, &ORPHANED_ATTEMPTS, &span(stretch)).await?;
    if !gone.is_empty() {
        write(database, &PURGE_ATTEMPTS, &[(&as_json(&gone)).into()]).await?;
    }
    Ok(removed)
}

/// Removes what is still overdue in a stretch, in a transaction that does more.
pub async fn remove_in(
    connection: &mut AnyConnection<'_>,
    retention: &Retention,
    stretch: &Stretch,
) -> sqlx::Result<Vec<Overdue>> {
    let removed = match &stretch.overdue[..] {
        [] => Vec::new(),
        overdue => remove_messages(connection, retention, overdue).await?,
    };
    let gone: Vec<(i64,)> = connection.rows(&ORPHANED_ATTEMPTS, &span(stretch)).await?;
    if !gone.is_empty() {
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&as_json(&gone)).into()]).await?;
    }
    Ok(removed)
}

fn span(stretch: &Stretch) -> [Value<'static>; 3] {
    [stretch.after.0.into(), stretch.through.0.into(), i64::from(STRETCH).into()]
}

fn as_json(gone: &[(i64,)]) -> String {
    ids_as_json(&gone.iter().map(|(id,)| MessageId(*id)).collect::<Vec<_>>())
}

async fn remove_messages(
    connection: &mut AnyConnection<'_>,
    retention: &Retention,
    overdue: &[Overdue],
) -> sqlx::Result<Vec<Overdue>> {
    let asked = ids_as_json(&overdue.iter().map(|one| one.id).collect::<Vec<_>>());
    let continuing = serde_json::json!(retention.continuing).to_string();
    let values = [(&asked).into(), in_ms(retention.success), in_ms(retention.dead), (&continuing).into()];
    let locked: Vec<(i64, String)> = connection.rows(&PRUNE_LOCK, &values).await?;
    let locked: HashSet<_> = locked.into_iter().map(|(id, _)| MessageId(id)).collect();
    let removed: Vec<_> = overdue.iter().filter(|one| locked.contains(&one.id)).copied().collect();
    if !removed.is_empty() {
        let gone = ids_as_json(&removed.iter().map(|one| one.id).collect::<Vec<_>>());
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
        connection.rows::<()>(&PURGE, &[(&gone).into()]).await?;
    }
    Ok(removed)
}

async fn prune_terms(database: &Database) -> sqlx::Result<bool> {
    let old: Vec<OldTerms> = read(database, &OLD_TERMS, &[]).await?;
    let mut more = false;
    for OldTerms { shard, first, last } in old {
        let through = last.min(first + TERMS - 1);
        write(database, &PRUNE_TERMS, &[shard.into(), through.into()]).await?;
        more |= through < last;
    }
    Ok(more)
}

async fn prune_destinations(database: &Database, after: &str) -> sqlx::Result<Option<String>> {
    let page: Vec<(String, i64)> =
        read(database, &DESTINATIONS_PAGE, &[after.into(), i64::from(DESTINATIONS).into()]).await?;
    let over: Vec<_> = page.iter().filter(|(_, over)| *over != 0).map(|(destination, _)| destination).collect();
    if !over.is_empty() {
        write(database, &FORGET_DESTINATIONS, &[(&serde_json::json!(over).to_string()).into()]).await?;
    }
    let all = page.len() < DESTINATIONS as usize;
    Ok(page.into_iter().next_back().filter(|_| !all).map(|(last, _)| last))
}

fn in_ms(time: Option<Duration>) -> Value<'static> {
    Value::Number(time.map(millis_i64))
}
