//! Redriving: dead letters become due again, under the lock that keeps everybody from claiming meanwhile.

use std::collections::HashSet;

use super::database::dead_letters;
use super::statements::{LOCK_TERMS, REDRIVABLE, REDRIVE, REDRIVE_AUDIT};
use super::{DeadLetterFilter, Redriven};
use crate::sql::AnyTransaction;
use crate::wire::storable;
use crate::{Database, MessageId};

/// Rows of one transaction: the term is locked, and so nothing is claimed, for as long as that takes.
const BATCH: u16 = 1_000;

/// Longest name of who redrives, in characters.
const WHO_CHARS: usize = 255;

pub(super) async fn redrive_ids(database: &Database, ids: &[MessageId], by: &str, why: &str) -> sqlx::Result<Redriven> {
    let mut all = Redriven::default();
    for batch in ids.chunks(BATCH.into()) {
        redrive_batch(database, batch, by, why, &mut all).await?;
    }
    Ok(all)
}

/// Walks down the ids, so that rows which are skipped, or die again meanwhile, are met once.
pub(super) async fn redrive_found(
    database: &Database,
    filter: &DeadLetterFilter,
    by: &str,
    why: &str,
) -> sqlx::Result<Redriven> {
    let mut all = Redriven::default();
    let mut before = filter.before;
    let mut left = filter.limit.unwrap_or(u32::MAX);
    while left > 0 {
        let page = dead_letters(database, filter, before, left.min(BATCH.into())).await?;
        let ids: Vec<_> = page.iter().map(|letter| MessageId(letter.id)).collect();
        let Some(last) = ids.last() else { break };
        before = Some(*last);
        left = left.saturating_sub(u32::try_from(ids.len()).unwrap_or(u32::MAX));
        redrive_batch(database, &ids, by, why, &mut all).await?;
    }
    Ok(all)
}

async fn redrive_batch(
    database: &Database,
    ids: &[MessageId],
    by: &str,
    why: &str,
    all: &mut Redriven,
) -> sqlx::Result<()> {
    let by: String = storable(by).chars().take(WHO_CHARS).collect();
    let why = storable(why);

    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    connection.rows::<(i32,)>(&LOCK_TERMS, &[]).await?;
    let found: Vec<(i64,)> = connection.rows(&REDRIVABLE, &[json(ids.iter().map(|id| id.0)).as_str().into()]).await?;
    let redrivable = json(found.iter().map(|(id,)| *id));
    let audit = [by.as_str().into(), why.as_ref().into(), redrivable.as_str().into()];
    connection.rows::<()>(&REDRIVE_AUDIT, &audit).await?;
    connection.rows::<()>(&REDRIVE, &[redrivable.as_str().into()]).await?;
    transaction.commit().await?;

    let mut found: HashSet<_> = found.into_iter().map(|(id,)| MessageId(id)).collect();
    // Taken out, so that an id that was given twice is redriven once.
    let (redriven, skipped): (Vec<_>, Vec<_>) = ids.iter().copied().partition(|id| found.remove(id));
    all.redriven.extend(redriven);
    all.skipped.extend(skipped);
    Ok(())
}

fn json(ids: impl Iterator<Item = i64>) -> String {
    ids.collect::<serde_json::Value>().to_string()
}
