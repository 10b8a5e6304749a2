//! `LISTEN` for the hint that the statement trigger on `outbox` gives, at most once per transaction.
//!
//! A commit that notifies holds a lock of the whole database until it is on disk, so such commits go one by one. The
//! trigger therefore notifies only while a listener asks for hints, by holding an advisory lock, shared.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::watch;

use super::errors::failed;
use crate::StoreError;
use crate::database::CONNECTION_LIMIT;
use crate::session::Session;
use crate::store::{HintsLost, Wakeups};

const DOING: &str = "listening for new messages";

/// How often the listener asks for its lock. The commit of an insert holds it for a moment; a stranger may hold it for ever.
const TRIES: u32 = 5;

const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A connection of its own that hears of committed inserts.
#[derive(Debug)]
pub(super) struct PostgresWakeups {
    listener: PgListener,
    /// Raised where a call of the store got no answer. Nothing is asked on this connection while the poller is active, so it
    /// would not be found out by itself.
    silences: watch::Receiver<()>,
}

impl PostgresWakeups {
    pub(super) async fn listen(pool: &PgPool, silences: watch::Receiver<()>) -> Result<Self, StoreError> {
        let mut session = Session::open(pool).await.map_err(|error| failed(DOING, error))?;
        let hints: String = sqlx::query_scalar(query!("postgres/poller/wakeup_channel"))
            .fetch_one(&mut *session)
            .await
            .map_err(|error| failed(DOING, error))?;
        session.finish();
        // The listener has a pool of its own: a connection that went back to the other pool would keep its lock.
        let own = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECTION_LIMIT)
            .connect_lazy_with((*pool.connect_options()).clone());
        let mut listener = PgListener::connect_with(&own).await.map_err(|error| failed(DOING, error))?;
        // A connection that was remade is of no use: it is unknown whether it has asked for hints.
        listener.eager_reconnect(false);
        listener.listen(&hints).await.map_err(|error| failed(DOING, error))?;
        Ok(Self { listener, silences })
    }

    async fn ask(&mut self, wanted: bool) -> Result<(), StoreError> {
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
}

/// The answer, or an error where the server says nothing for as long as two connections may take.
pub(super) async fn in_time<T, E: From<StoreError>>(
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, E> {
    match tokio::time::timeout(2 * CONNECTION_LIMIT, answer).await {
        Ok(answer) => answer.map_err(E::from),
        Err(_) => Err(lost("nothing came in time").into()),
    }
}

fn lost(why: &'static str) -> StoreError {
    StoreError::Unavailable { doing: DOING, source: why.into() }
}

#[async_trait]
impl Wakeups for PostgresWakeups {
    async fn want(&mut self, wanted: bool) -> Result<(), HintsLost> {
        in_time(self.ask(wanted)).await
    }

    async fn wait(&mut self) -> Result<(), HintsLost> {
        tokio::select! {
            heard = self.listener.try_recv() => match heard.map_err(|error| failed(DOING, error))? {
                Some(_) => Ok(()),
                None => Err(lost("the connection was lost").into()),
            },
            Ok(()) = self.silences.changed() => Err(lost("another call got no answer, so this connection may be dead too").into()),
        }
    }
}
