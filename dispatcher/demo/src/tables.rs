//! The outbox tables, as the demo reads them: with plain SQL, as any client may.

use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;

use super::stage::{Stage, TOLD};

/// The tables of the demo's outbox.
#[derive(Debug, Clone)]
pub(super) struct Tables(SqlitePool);

/// The last term that began.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct Leader {
    pub(super) epoch: i64,
    pub(super) holder: String,
    /// The age of the term, in milliseconds.
    pub(super) age_ms: i64,
}

/// A row of the outbox.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct MessageRow {
    pub(super) id: i64,
    pub(super) idempotency_key: String,
    pub(super) channel: String,
    pub(super) status: String,
    pub(super) dead_reason: Option<String>,
    pub(super) last_status_code: Option<i64>,
    /// Of a message that tells of an outcome: the message whose outcome that is, and the status that it tells.
    pub(super) tells_of: Option<i64>,
    pub(super) told_status: Option<String>,
}

/// An attempt that another delivery may have followed.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct DoubtRow {
    pub(super) message_id: i64,
    pub(super) outcome: String,
    pub(super) epoch: i64,
    pub(super) holder: String,
    /// Whether a later term found the message claimed and never marked. If not, the attempt itself ended in doubt.
    pub(super) settled: bool,
}

/// A term, as the term log names it.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct TermRow {
    pub(super) epoch: i64,
    pub(super) holder: String,
    /// The start of the term, in milliseconds since 1970.
    pub(super) started_at: i64,
    pub(super) lasted_ms: Option<i64>,
    pub(super) ended_because: Option<String>,
    pub(super) claimed: Option<i64>,
    pub(super) delivered: Option<i64>,
}

impl Tables {
    /// Opens the database of the stage.
    pub(super) async fn open(stage: &Stage) -> sqlx::Result<Self> {
        let options = SqliteConnectOptions::new().filename(stage.database()).read_only(true);
        Ok(Self(SqlitePool::connect_with(options).await?))
    }

    /// The number of pending messages.
    pub(super) async fn pending(&self) -> sqlx::Result<i64> {
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE status = 'PENDING'").fetch_one(&self.0).await
    }

    /// The number of pending messages that wait for a later time, as for a retry.
    pub(super) async fn retried(&self) -> sqlx::Result<i64> {
        let statement = "SELECT count(*) FROM outbox
                         WHERE status = 'PENDING' AND available_at > (julianday('now') - 2440587.5) * 86400000";
        sqlx::query_scalar(statement).fetch_one(&self.0).await
    }

    /// Whether the poller has not yet tried some push message.
    pub(super) async fn has_untried_pushes(&self) -> sqlx::Result<bool> {
        let statement =
            "SELECT EXISTS (SELECT 1 FROM outbox WHERE channel = 'push' AND status = 'PENDING' AND attempts = 0)";
        sqlx::query_scalar(statement).fetch_one(&self.0).await
    }

    /// The last term that began.
    pub(super) async fn leader(&self) -> sqlx::Result<Leader> {
        let statement = "SELECT epoch, holder,
                                CAST((julianday('now') - 2440587.5) * 86400000 - started_at AS INTEGER) AS age_ms
                         FROM outbox_term WHERE shard = 0";
        sqlx::query_as(statement).fetch_one(&self.0).await
    }

    /// Every message.
    pub(super) async fn messages(&self) -> sqlx::Result<Vec<MessageRow>> {
        let statement = "SELECT id, idempotency_key, channel, status, dead_reason, last_status_code,
                                CASE WHEN channel = ?1 THEN payload ->> 'id' END AS tells_of,
                                CASE WHEN channel = ?1 THEN payload ->> 'status' END AS told_status
                         FROM outbox ORDER BY id";
        sqlx::query_as(statement).bind(TOLD).fetch_all(&self.0).await
    }

    /// Every attempt that explains a second delivery.
    pub(super) async fn doubts(&self) -> sqlx::Result<Vec<DoubtRow>> {
        let statement = "SELECT message_id, outcome, epoch, holder, started_at IS NULL AS settled FROM outbox_attempt
                         WHERE outcome IN ('in_doubt', 'delivered_fenced') ORDER BY id";
        sqlx::query_as(statement).fetch_all(&self.0).await
    }

    /// Every term, in the order of the epochs.
    pub(super) async fn terms(&self) -> sqlx::Result<Vec<TermRow>> {
        let statement = "SELECT epoch, holder, started_at, ended_at - started_at AS lasted_ms, ended_because,
                                claimed, delivered
                         FROM outbox_term_log ORDER BY epoch";
        sqlx::query_as(statement).fetch_all(&self.0).await
    }

    /// Closes the connections.
    pub(super) async fn close(&self) {
        self.0.close().await;
    }
}
