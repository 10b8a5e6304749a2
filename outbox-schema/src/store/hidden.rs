//! Due messages that no turn brings: the first of their tenant go to destinations that take nothing, and theirs takes some.

use serde::Serialize;
use sqlx::FromRow;

use crate::claim::Found;
use crate::look::{Passed, Place, Step};
use crate::sql::{AnyTransaction, Statement};
use crate::store::fitting::DueRow;
use crate::store::lossy::Lossy;
use crate::store::steps::failed;
use crate::store::wire::as_json;
use crate::{Database, MessageId, Shard, StoreError};

const TENANTS: Statement = statement!("poller/hidden_tenants");
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

/// A tenant whose first row goes to a destination that takes nothing.
#[derive(Debug, FromRow, Serialize)]
struct TenantRow {
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    tenant: String,
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

/// Takes a step, as [`Store::hidden`](crate::Store::hidden) says. Tenants are looked for first: of one there may be any number of
/// rows.
pub(crate) async fn look(database: &Database, shard: Shard, look: &HiddenLook<'_>) -> Result<Hidden, StoreError> {
    let doing = "looking for messages behind those of silent destinations";
    let (open, excluded) = (as_json(doing, look.open)?, as_json(doing, look.excluded)?);
    let (mut found, mut step) = (Vec::new(), Step::new(shard, look.from.clone(), look.rows, look.limit));
    let mut transaction = AnyTransaction::to_read(database).await.map_err(failed(doing))?;
    let mut connection = transaction.connection();
    while let Some(stretch) = step.next(&mut connection).await.map_err(failed(doing))? {
        let values = [&stretch.values()[..], &[(&open).into()]].concat();
        let tenants: Vec<TenantRow> = connection.rows(&TENANTS, &values).await.map_err(failed(doing))?;
        if tenants.is_empty() {
            continue;
        }
        let tenants = as_json(doing, &tenants)?;
        let values = [&values[..], &[(&excluded).into(), (&tenants).into(), step.left().into()]].concat();
        let some: Vec<HiddenRow> = connection.rows(&HIDDEN, &values).await.map_err(failed(doing))?;
        step.brings(&some, &stretch);
        found.extend(some.into_iter().map(|row| row.due));
    }
    transaction.commit().await.map_err(failed(doing))?;
    Ok(Hidden { found: Found(found), next: step.goes_on() })
}
