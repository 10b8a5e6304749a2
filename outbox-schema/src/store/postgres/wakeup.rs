//! `LISTEN` for the hint that the statement trigger on `outbox` gives, at most once per transaction.
//!
//! A commit that notifies holds a lock of the whole database until it is on disk, so such commits go one by one. The
//! trigger therefore notifies only while a listener asks for hints, by holding an advisory lock, shared.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::errors::failed;
use crate::StoreError;
use crate::database::CONNECTION_LIMIT;
use crate::store::{HintsLost, Wakeups};

const DOING: &str = "listening for new messages";

/// How often the listener asks for its lock. The commit of an insert holds it for a moment; a stranger may hold it for ever.
const TRIES: u32 = 5;

const BETWEEN_TRIES: Duration = Duration::from_millis(10);

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
        // The listener has a pool of its own: a connection that went back to the other pool would keep its lock.
        let own = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECTION_LIMIT)
            .connect_lazy_with((*pool.connect_options()).clone());
        let mut listener = PgListener::connect_with(&own).await.map_err(|error| failed(DOING, error))?;
        // A connection that was remade is of no use: it is unknown whether it has asked for hints.
        listener.eager_reconnect(false);
        listener.listen(&hints).await.map_err(|error| failed(DOING, error))?;
        Ok(Self { listener })
    }
}

#[async_trait]
impl Wakeups for PostgresWakeups {
    async fn want(&mut self, wanted: bool) -> Result<(), HintsLost> {
        if !wanted {
            let all = query!("postgres/poller/want_no_wakeups");
            sqlx::raw_sql(all).execute(&mut self.listener).await.map_err(|error| failed(DOING, error))?;
            return Ok(());
        }
        for _ in 0..TRIES {
            let ask = sqlx::query_scalar(query!("postgres/poller/want_wakeups"));
            let has_it: bool = ask.fetch_one(&mut self.listener).await.map_err(|error| failed(DOING, error))?;
            if has_it {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
        // Whoever holds it makes every commit notify.
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), HintsLost> {
        match self.listener.try_recv().await.map_err(|error| failed(DOING, error))? {
            Some(_) => Ok(()),
            None => Err(StoreError::Unavailable { doing: DOING, source: "the connection was lost".into() }.into()),
        }
    }
}
