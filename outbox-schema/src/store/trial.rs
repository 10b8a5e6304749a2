//! A trial of a poller's work: two messages in a shard that no replica polls, from their insert to their removal, in
//! one transaction that is rolled back. It finds a server that does not take a statement, or a role that lacks a right,
//! before anything is sent. The two messages have ids of their own, below zero.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::database::Database;
use crate::passing::passes;
use crate::retention::{PRUNE_LOCK, PURGE, PURGE_ATTEMPTS};
use crate::sql::AnyConnection;
use crate::store::StoreError;
use crate::store::due::DueRows;
use crate::store::mysql::MySqlStore;
use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
use crate::store::wire::ids_as_json;
use crate::{
    AttemptRecord, ChannelTerms, ClaimId, ClaimRequest, Claimed, Epoch, Holder, InDoubtPolicy, KeyStretch, Mark,
    Message, OnDeadOrdered, Outcome, Shard, Store, Strangers, TermId, Turns, Verdict, WalkStart,
};

pub(crate) const ENQUEUE: &str = "enqueue a message";
pub(crate) const TERM: &str = "begin a term";
pub(crate) const CLAIM: &str = "claim a message";
pub(crate) const MARK: &str = "mark a message";
pub(crate) const SETTLE: &str = "settle a message in doubt";
pub(crate) const PRUNE: &str = "remove a message";

/// The part of a poller's work that the database did not do.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A statement failed.
    #[error("the database did not let the dispatcher {step}, in a trial that was rolled back: {source}")]
    Failed {
        /// The part of the work, as a verb and its object.
        step: &'static str,
        /// The words of the database.
        source: StoreError,
    },
    /// The role that inserted a message does not see it.
    #[error(
        "a claim did not see a message that its own role had inserted, in a trial that was rolled back: row-level security on \
         the outbox tables hides messages from it. Give the role BYPASSRLS, or make a policy that lets it see and change all rows"
    )]
    Hidden,
}

impl TrialError {
    /// Whether the database may do it a moment later: it did not answer, or is overloaded, out of room, or read-only
    /// for now. Otherwise no message should be sent until an operator has seen to it.
    pub fn may_pass(&self) -> bool {
        let Self::Failed {
            source: StoreError::Unavailable { source, .. } | StoreError::Refused { source, .. }, ..
        } = self
        else {
            return false;
        };
        match source.downcast_ref::<sqlx::Error>() {
            Some(sqlx::Error::Database(error)) => passes(error.as_ref()),
            Some(_) => true,
            None => false,
        }
    }
}

pub(crate) fn tried<T>(step: &'static str, outcome: Result<T, StoreError>) -> Result<T, TrialError> {
    outcome.map_err(|source| TrialError::Failed { step, source })
}

impl Database {
    /// Tries on the server what a poller does with a message, in a transaction that is rolled back: claim, mark,
    /// settle, remove.
    ///
    /// # Errors
    /// What the server, or the rights of the role, did not allow, and in which words.
    pub async fn trial(&self) -> Result<(), TrialError> {
        self.tried_store().await.map(drop)
    }

    /// The due rows of the outbox, for a poller that chooses among them.
    pub fn due_rows(&self) -> Arc<dyn DueRows> {
        match self {
            Self::Postgres(pool) => Arc::new(PostgresStore::new(pool.clone())),
            Self::MySql(pool) => Arc::new(MySqlStore::new(pool.clone())),
            Self::Sqlite(pool) => Arc::new(SqliteStore::new(pool.clone())),
        }
    }

    /// The outbox for a poller, after such a trial.
    ///
    /// # Errors
    /// As of [`Self::trial`].
    pub async fn tried_store(&self) -> Result<Arc<dyn Store>, TrialError> {
        Ok(match self {
            Self::Postgres(pool) => {
                let store = PostgresStore::new(pool.clone());
                store.trial().await?;
                Arc::new(store)
            }
            Self::MySql(pool) => {
                let store = MySqlStore::new(pool.clone());
                store.trial().await?;
                Arc::new(store)
            }
            Self::Sqlite(pool) => {
                let store = SqliteStore::new(pool.clone());
                store.trial().await?;
                Arc::new(store)
            }
        })
    }
}

/// The parts of a trial.
#[derive(Debug)]
pub(crate) struct Probe {
    /// A shard that no replica polls. Trials that are made at the same time each have one of their own, as good as always: they
    /// would wait for each other's term, and on MySQL could be in a deadlock.
    pub(crate) shard: Shard,
    /// The holders of two terms, one after the other. The second settles what the first left.
    pub(crate) holders: [Holder; 2],
    pub(crate) channels: [ChannelTerms; 1],
}

impl Probe {
    /// The targets of the two messages: each is a tenant of its own, so that they take turns. Nobody dials them.
    pub(crate) const TARGETS: [&str; 2] = ["https://nowhere.invalid", "https://elsewhere.invalid"];

    pub(crate) fn new() -> Self {
        let channel = ChannelTerms {
            name: "outbox-trial".to_owned(),
            timeout: Duration::ZERO,
            max_attempts: 1,
            in_doubt: InDoubtPolicy::Resend,
            on_dead_ordered: OnDeadOrdered::Continue,
            room: 1,
            most: 1,
            max_message_bytes: 1_000,
            fair: true,
            on_dead: None,
        };
        let [.., high, low] = Uuid::new_v4().into_bytes();
        let shard = Shard(i16::from_be_bytes([high | 0x80, low]));
        Self { shard, holders: ["1", "2"].map(|nonce| Holder::new("outbox-trial", nonce)), channels: [channel] }
    }

    pub(crate) fn term(&self, epoch: Epoch, holder: usize) -> TermId {
        TermId { shard: self.shard, epoch, holder: self.holders[holder].clone() }
    }

    /// A request for one message, with no settling time to wait for.
    pub(crate) fn request(&self, claim: ClaimId) -> ClaimRequest<'_> {
        ClaimRequest {
            claim,
            limit: 1,
            max_bytes: 1_000,
            excluded: &[],
            from: WalkStart::default(),
            keys: KeyStretch::default(),
            channels: &self.channels,
            closed: &[],
            closed_channels: &[],
            rooms: &[],
            strangers: Strangers { rows: 1, bytes: 1_000, ask: false },
            found: None,
            turns: Some(Turns { from: 0, tenants: 1, served: &[], glance: false }),
            unknown_channel_delay: Duration::ZERO,
            lease_ttl: Duration::ZERO,
            margin: Duration::ZERO,
        }
    }

    /// Marks that record the messages of a claim by `term` as delivered.
    ///
    /// # Errors
    /// The claim brought no message.
    pub(crate) fn deliveries(term: &TermId, claim: ClaimId, claimed: &Claimed) -> Result<Vec<Mark>, TrialError> {
        let mark = |message: &Message| Mark {
            claim,
            id: message.id(),
            revision: message.revision(),
            verdict: Verdict::Success { receipt: None },
            pause: None,
            status_code: Some(200),
            error: None,
            deadline: None,
            told: None,
            attempt: AttemptRecord {
                number: 1,
                epoch: term.epoch,
                holder: term.holder.clone(),
                started: Instant::now(),
                duration: Duration::ZERO,
                kept: false,
                outcome: Outcome::Delivered { receipt: None }.as_str(),
                excerpt: None,
            },
        };
        let marks: Vec<_> = claimed.messages.iter().map(mark).collect();
        if marks.is_empty() { Err(TrialError::Hidden) } else { Ok(marks) }
    }
}

/// Removes a message as retention does, or a purge by hand.
pub(crate) async fn prune(mut connection: AnyConnection<'_>, marks: &[Mark]) -> Result<(), TrialError> {
    let gone = ids_as_json(&marks.iter().map(|mark| mark.id).collect::<Vec<_>>());
    let at_once = [(&gone).into(), 0.into(), 0.into(), "[]".into()];
    let removed = async {
        connection.rows::<(i64, String)>(&PRUNE_LOCK, &at_once).await?;
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
        connection.rows::<()>(&PURGE, &[(&gone).into()]).await
    };
    tried(PRUNE, removed.await.map(drop).map_err(|error| StoreError::of("removing messages", error, |_| false)))
}
