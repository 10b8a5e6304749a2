//! Rows of claims that wait for their settling time.

use std::time::Duration;

use outbox_schema::MessageId;

use super::rows::UnsettledRow;
use super::steps::failed;
use crate::sql::AnyConnection;
use crate::statement::Statement;
use crate::{Shard, StoreError};

const UNSETTLED: Statement = statement!("poller/unsettled");

/// Rows of claims that wait for their settling time, and when the first of these is over.
pub(crate) async fn unsettled(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
) -> Result<(Vec<MessageId>, Option<Duration>), StoreError> {
    let rows: Vec<UnsettledRow> =
        connection.rows(&UNSETTLED, &[shard.into()]).await.map_err(failed("reading unsettled claims"))?;
    Ok(UnsettledRow::split(&rows))
}
