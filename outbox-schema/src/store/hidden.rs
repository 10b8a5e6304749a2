//! Due messages that no turn brings: the first of their tenant go to destinations that take nothing, and theirs takes some.

use sqlx::FromRow;

use crate::claim::Found;
use crate::look::{Most, Passed, Place, step};
use crate::sql::{AnyTransaction, Statement};
use crate::store::fitting::DueRow;
use crate::store::steps::failed;
use crate::store::wire::as_json;
use crate::{Database, MessageId, Shard, StoreError};

const HIDDEN: Statement = statement!("poller/hidden");

/// A step of a look for hidden messages.
#[derive(Debug, Clone)]
pub struct HiddenLook<'a> {
    /// Where it goes on.
    pub from: Place,
    /// The most due rows that it looks at.
    pub rows: u32,
    /// The most messages that it brings.
    pub limit: u32,
    /// The destinations that take something.
    pub open: &'a [String],
    /// Rows that it leaves out: those in flight here, and those of claims that are not settled.
    pub excluded: &'a [MessageId],
}

/// What a step of a look for hidden messages brought.
#[derive(Debug, Default)]
pub struct Hidden {
    /// The messages, the first to go first.
    pub found: Found,
    /// Where the next step goes on. None: there are no rows behind those.
    pub next: Option<Place>,
}

#[derive(Debug, FromRow)]
struct HiddenRow {
    #[sqlx(flatten)]
    passed: Passed,
    #[sqlx(flatten)]
    due: DueRow,
}

impl AsRef<Passed> for HiddenRow {
    fn as_ref(&self) -> &Passed {
        &self.passed
    }
}

/// Takes a step, as [`Store::hidden`](crate::Store::hidden) says.
pub(crate) async fn look(database: &Database, shard: Shard, look: &HiddenLook<'_>) -> Result<Hidden, StoreError> {
    let doing = "looking for messages behind those of silent destinations";
    let (open, excluded) = (as_json(doing, look.open)?, as_json(doing, look.excluded)?);
    let mut transaction = AnyTransaction::to_read(database).await.map_err(failed(doing))?;
    let (most, names) = (Most { rows: look.rows, found: look.limit }, [open.as_str(), excluded.as_str()]);
    let rows = step(&mut transaction.connection(), &HIDDEN, shard, look.from.clone(), most, names).await;
    let (rows, next): (Vec<HiddenRow>, _) = rows.map_err(failed(doing))?;
    transaction.commit().await.map_err(failed(doing))?;
    Ok(Hidden { found: Found(rows.into_iter().map(|row| row.due).collect()), next })
}
