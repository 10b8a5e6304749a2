//! Retention, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::FromRow;

use super::statements::{OLD_TERMS, ORPHANED_ATTEMPTS, PRUNE_LOCK, PRUNE_PAGE, PRUNE_TERMS, PURGE, PURGE_ATTEMPTS};
use super::{Overdue, Pruning, Retention, STRETCH, Stretch};
use crate::sql::{AnyTransaction, Value, read, while_doing, write};
use crate::store::wire::{ids_as_json, millis_i64};
use crate::{Database, DeskError, MessageId, Status};

/// Epochs of the term log that are removed in one transaction.
const TERMS: i64 = 1_000;

#[derive(Debug, FromRow)]
struct Row {
    id: i64,
    status: String,
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
    async fn overdue(&self, retention: &Retention, after: MessageId) -> Result<Stretch, DeskError> {
        overdue(self, retention, after).await.map_err(while_doing("looking for what is past its retention"))
    }

    async fn remove(&self, retention: &Retention, stretch: &Stretch) -> Result<Vec<Overdue>, DeskError> {
        remove(self, retention, stretch).await.map_err(while_doing("removing what is past its retention"))
    }

    async fn prune_terms(&self) -> Result<bool, DeskError> {
        prune_terms(self).await.map_err(while_doing("removing old terms from the log"))
    }
}

async fn overdue(database: &Database, retention: &Retention, after: MessageId) -> sqlx::Result<Stretch> {
    let Some(shortest) = retention.shortest() else { return Ok(Stretch::NONE) };
    let values = [
        after.0.into(),
        i64::from(STRETCH).into(),
        in_ms(retention.success),
        in_ms(retention.dead),
        in_ms(Some(shortest)),
    ];
    let rows: Vec<Row> = read(database, &PRUNE_PAGE, &values).await?;
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
    let removed = match &stretch.overdue[..] {
        [] => Vec::new(),
        overdue => remove_messages(database, retention, overdue).await?,
    };
    let span = [stretch.after.0.into(), stretch.through.0.into(), i64::from(STRETCH).into()];
    let gone: Vec<(i64,)> = read(database, &ORPHANED_ATTEMPTS, &span).await?;
    if !gone.is_empty() {
        let gone: Vec<_> = gone.into_iter().map(|(id,)| MessageId(id)).collect();
        write(database, &PURGE_ATTEMPTS, &[(&ids_as_json(&gone)).into()]).await?;
    }
    Ok(removed)
}

async fn remove_messages(
    database: &Database,
    retention: &Retention,
    overdue: &[Overdue],
) -> sqlx::Result<Vec<Overdue>> {
    let asked = ids_as_json(&overdue.iter().map(|one| one.id).collect::<Vec<_>>());
    let continuing = serde_json::json!(retention.continuing).to_string();
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let values = [(&asked).into(), in_ms(retention.success), in_ms(retention.dead), (&continuing).into()];
    let locked: Vec<(i64, String)> = connection.rows(&PRUNE_LOCK, &values).await?;
    let locked: HashSet<_> = locked.into_iter().map(|(id, _)| MessageId(id)).collect();
    let removed: Vec<_> = overdue.iter().filter(|one| locked.contains(&one.id)).copied().collect();
    if !removed.is_empty() {
        let gone = ids_as_json(&removed.iter().map(|one| one.id).collect::<Vec<_>>());
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
        connection.rows::<()>(&PURGE, &[(&gone).into()]).await?;
    }
    transaction.commit().await?;
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

fn in_ms(time: Option<Duration>) -> Value<'static> {
    Value::Number(time.map(millis_i64))
}
