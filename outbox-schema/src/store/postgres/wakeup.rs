//! `LISTEN` for the hint that the statement trigger on `outbox` gives, at most once per transaction.
//!
//! A commit that notifies holds a lock of the whole database until it is on the disk, so that such commits go one by one.
//! The trigger therefore notifies only while somebody listening holds an advisory lock, shared, that says so.

use async_trait::async_trait;
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::errors::failed;
use crate::StoreError;
use crate::database::CONNECTION_LIMIT;
use crate::store::{HintsLost, Wakeups};

const DOING: &str = "listening for new messages";

/// A connection of its own that hears of committed inserts.
#[derive(Debug)]
pub(super) struct PostgresWakeups {
    listener: PgListener,
}

impl PostgresWakeups {
    pub(super) async fn listen(pool: &PgPool) -> Result<Self, StoreError> {
        let hints: String = sqlx::query_scalar(query!("postgres/poller/wakeup_channel"))
            .fetch_one(pool)
            .await
            .map_err(|error| failed(DOING, error))?;
        // In a pool of its own: given back to the other, it would keep its lock.
        let own = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECTION_LIMIT)
            .connect_lazy_with((*pool.connect_options()).clone());
        let mut listener = PgListener::connect_with(&own).await.map_err(|error| failed(DOING, error))?;
        // A connection of which nobody knows what it has said is of no use.
        listener.eager_reconnect(false);
        listener.listen(&hints).await.map_err(|error| failed(DOING, error))?;
        Ok(Self { listener })
    }
}

#[async_trait]
impl Wakeups for PostgresWakeups {
    async fn want(&mut self, wanted: bool) -> Result<(), HintsLost> {
        let statement =
            if wanted { query!("postgres/poller/want_wakeups") } else { query!("postgres/poller/want_no_wakeups") };
        sqlx::raw_sql(statement).execute(&mut self.listener).await.map_err(|error| failed(DOING, error))?;
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), HintsLost> {
        match self.listener.try_recv().await.map_err(|error| failed(DOING, error))? {
            Some(_) => Ok(()),
            None => Err(StoreError::Unavailable { doing: DOING, source: "the connection was lost".into() }.into()),
        }
    }
}
