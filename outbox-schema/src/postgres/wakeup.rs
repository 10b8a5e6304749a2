//! `LISTEN` for the hint that the statement trigger on `outbox` gives once per transaction.

use async_trait::async_trait;
use sqlx::PgPool;
use sqlx::postgres::PgListener;

use super::refused;
use crate::StoreError;
use crate::store::Wakeups;

const DOING: &str = "listening for new messages";

/// A connection of its own that hears of committed inserts.
#[derive(Debug)]
pub(super) struct PostgresWakeups {
    listener: PgListener,
}

impl PostgresWakeups {
    pub(super) async fn listen(pool: &PgPool) -> Result<Self, StoreError> {
        let schema: String = sqlx::query_scalar(include_str!("../../queries/postgres/current_schema.sql"))
            .fetch_one(pool)
            .await
            .map_err(|error| refused(DOING, error))?;
        let mut listener = PgListener::connect_with(pool).await.map_err(|error| refused(DOING, error))?;
        listener.listen(&format!("outbox_{schema}")).await.map_err(|error| refused(DOING, error))?;
        Ok(Self { listener })
    }
}

#[async_trait]
impl Wakeups for PostgresWakeups {
    async fn wait(&mut self) -> Result<(), StoreError> {
        self.listener.recv().await.map(drop).map_err(|error| refused(DOING, error))
    }
}
