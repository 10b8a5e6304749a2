//! Targets that are known to be gone: reading and forgetting them.

use std::time::Instant;

use outbox_schema::MessageId;
use outbox_store::Database;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value};
use outbox_store::store::ids_as_json;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::operation::{BATCH, PAUSES, audit, pause};
use super::statements::{INVALID_TARGETS, INVALID_TARGETS_CLEAR, INVALID_TARGETS_COUNT};
use super::{Author, Moment};

/// The most targets that an audit entry names.
const NAMED: usize = 100;

/// A selection of targets. A target must meet all conditions that are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InvalidTargetSelection {
    /// The targets, spelled as in the messages to them. Empty: any target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The channel of the targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Only targets that were last found to be gone at this moment or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "90d"))]
    pub older_than: Option<Moment>,
}

/// A target that is known to be gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvalidTarget {
    /// The id of the row in `outbox_invalid_target`.
    pub id: i64,
    /// The channel of the messages to the target.
    pub channel: String,
    /// The target, spelled as in the messages to it.
    pub target: String,
    /// What the receiver said.
    pub reason: Option<String>,
    /// When the target was last found to be gone.
    pub observed_at: String,
}

/// One page of targets that are known to be gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvalidTargetPage {
    /// The targets, the last recorded first.
    pub targets: Vec<InvalidTarget>,
    /// The number of targets on all pages.
    pub total: i64,
    /// The `after` of the next page, which has lower ids. None on the last page.
    pub next: Option<i64>,
}

/// The result of clearing targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cleared {
    /// The id of the entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Targets that are no longer recorded.
    pub cleared: u64,
}

/// A selection, in the form that statements take.
struct Asked<'a> {
    channel: Option<&'a str>,
    targets: Option<String>,
    until_us: Option<i64>,
}

impl<'a> Asked<'a> {
    async fn of(connection: &mut AnyConnection<'_>, selection: &'a InvalidTargetSelection) -> sqlx::Result<Self> {
        let until_us = match selection.older_than {
            Some(moment) => Some(moment.in_us(connection.now_us().await?)),
            None => None,
        };
        let targets = (!selection.targets.is_empty()).then(|| serde_json::json!(selection.targets).to_string());
        Ok(Self { channel: selection.channel.as_deref(), targets, until_us })
    }

    fn values(&self) -> [Value<'_>; 3] {
        [self.channel.into(), self.targets.as_deref().into(), Value::Number(self.until_us)]
    }

    async fn count(&self, connection: &mut AnyConnection<'_>) -> sqlx::Result<i64> {
        let total: Vec<(i64,)> = connection.rows(&INVALID_TARGETS_COUNT, &self.values()).await?;
        Ok(total.first().map_or(0, |(total,)| *total))
    }

    async fn below(
        &self,
        connection: &mut AnyConnection<'_>,
        id: Option<i64>,
        limit: i64,
    ) -> sqlx::Result<Vec<InvalidTarget>> {
        let [channel, targets, until] = self.values();
        let values = [channel, targets, until, id.unwrap_or(i64::MAX).into(), limit.into()];
        connection.rows(&INVALID_TARGETS, &values).await
    }
}

pub(super) async fn page(
    database: &Database,
    selection: &InvalidTargetSelection,
    after: Option<i64>,
    limit: u32,
) -> sqlx::Result<InvalidTargetPage> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let asked = Asked::of(&mut connection, selection).await?;
    // One more than the limit tells whether there is a next page.
    let mut targets = asked.below(&mut connection, after, i64::from(limit) + 1).await?;
    let total = asked.count(&mut connection).await?;
    transaction.commit().await?;
    let more = targets.len() > limit as usize;
    targets.truncate(limit as usize);
    Ok(InvalidTargetPage { next: targets.last().filter(|_| more).map(|target| target.id), targets, total })
}

pub(super) async fn clear(
    database: &Database,
    selection: &InvalidTargetSelection,
    author: &Author,
) -> sqlx::Result<Cleared> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let asked = Asked::of(&mut connection, selection).await?;
    let meant = asked.count(&mut connection).await?;
    if meant == 0 {
        transaction.commit().await?;
        return Ok(Cleared::default());
    }
    let named = &selection.targets[..selection.targets.len().min(NAMED)];
    let details = serde_json::json!({
        "targets": named, "channel": selection.channel, "older_than": selection.older_than, "meant": meant,
    });
    let audit_id = audit(&mut connection, "clear", None, &details.to_string(), author).await?;
    transaction.commit().await?;

    let mut done = Cleared { audit_id: Some(audit_id), cleared: 0 };
    let (mut after, batch) = (None, i64::try_from(BATCH).unwrap_or(i64::MAX));
    loop {
        let began = Instant::now();
        let mut transaction = AnyTransaction::to_write(database).await?;
        let mut connection = transaction.connection();
        let some = asked.below(&mut connection, after, batch).await?;
        let ids: Vec<_> = some.iter().map(|target| MessageId(target.id)).collect();
        let ids = ids_as_json(&ids);
        let values = [Value::from(&ids), Value::Number(asked.until_us)];
        done.cleared += connection.changed(&INVALID_TARGETS_CLEAR, &values).await?;
        transaction.commit().await?;
        after = some.last().map(|target| target.id);
        if some.len() < BATCH {
            return Ok(done);
        }
        pause(began, PAUSES).await;
    }
}
