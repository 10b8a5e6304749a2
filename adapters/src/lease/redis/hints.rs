//! Hints by `PUBLISH`, on the server that has the lease.
//!
//! An application that gives hints needs `+publish` on the one channel, and no key.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use outbox_store::store::{HintsLost, Wakeups};
use redis::RedisError;
use redis::aio::PubSubStream;

use super::connections::Connections;
use super::primary::Primary;
use super::releases::subscribe;
use super::{RedisSetupError, in_words, primary_of};
use crate::{Hints, LeaseError};

const LISTENING: &str = "listening for new messages";

/// The hints of one outbox in one Redis.
pub struct RedisHints {
    channel: String,
    at: String,
    primary: Arc<Primary>,
    commands: Connections,
}

impl RedisHints {
    /// Sets the hints up without connecting, on the server of a [`super::RedisLease`] of the same settings.
    pub fn new(url: &str, tls_ca: &str, outbox_id: &str, ttl: Duration) -> Result<Self, RedisSetupError> {
        let (primary, at) = primary_of(url, tls_ca, ttl)?;
        let channel = format!("outbox:{{{outbox_id}}}:wake");
        Ok(Self { channel, at, commands: Connections::new(Arc::clone(&primary)), primary })
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(RedisError) -> LeaseError {
        move |source| LeaseError { at: self.at.clone(), doing, source: in_words(source) }
    }

    async fn publish(&self) -> Result<u64, RedisError> {
        let mut publish = redis::cmd("PUBLISH");
        let publish: &redis::Cmd = publish.arg(&self.channel).arg("");
        self.commands.with(|mut connection| async move { publish.query_async(&mut connection).await }).await
    }
}

#[async_trait]
impl Hints for RedisHints {
    async fn listen(&self) -> Result<Box<dyn Wakeups>, LeaseError> {
        let messages = subscribe(&self.primary, &self.channel).await.map_err(self.failed(LISTENING))?;
        Ok(Box::new(Subscription { messages: Box::pin(messages), at: self.at.clone() }))
    }

    /// Tries a second time where the first try failed: the connection may have been lost while idle, and a second hint
    /// does no harm.
    async fn give(&self) -> Result<u64, LeaseError> {
        let listeners = match self.publish().await {
            Ok(listeners) => Ok(listeners),
            Err(_) => self.publish().await,
        };
        listeners.map_err(self.failed("waking the poller"))
    }
}

impl fmt::Debug for RedisHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisHints").field("at", &self.at).field("channel", &self.channel).finish_non_exhaustive()
    }
}

/// A subscription, on a connection of its own.
struct Subscription {
    messages: Pin<Box<PubSubStream>>,
    at: String,
}

#[async_trait]
impl Wakeups for Subscription {
    /// A hint costs an application the same, whether or not the poller wants it.
    async fn want(&mut self, _wanted: bool) -> Result<(), HintsLost> {
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), HintsLost> {
        if self.messages.next().await.is_some() {
            return Ok(());
        }
        Err(LeaseError { at: self.at.clone(), doing: LISTENING, source: "the connection was lost".into() }.into())
    }
}
