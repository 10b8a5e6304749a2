//! A trial of a poller's work: three messages in a shard that no replica polls, from their insert to their removal, in
//! one transaction that is rolled back. It finds a server that does not take a statement, or a role that lacks a right,
//! before anything is sent. The messages have ids of their own, below zero.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_schema::MessageId;
use uuid::Uuid;

use super::header::Header;
use crate::database::Database;
use crate::passing::passes;
use crate::retention::{PRUNE_LOCK, PURGE, PURGE_ATTEMPTS};
use crate::sql::AnyConnection;
use crate::statement::Statement;
use crate::store::StoreError;
use crate::store::claim::{claim, claim_all, is_made};
use crate::store::due::{ClaimTerms, LaneLook, LookAndClaim, RowsToClaim};
use crate::store::mysql::MySqlStore;
use crate::store::postgres::PostgresStore;
use crate::store::settle::decide;
use crate::store::sqlite::SqliteStore;
use crate::store::steps::failed;
use crate::store::term::mint;
use crate::store::wire::ids_as_json;
use crate::{
    AttemptRecord, ChannelTerms, ClaimId, Epoch, Holder, InDoubtPolicy, Mark, Message, OnDeadOrdered, Outcome,
    Revision, Shard, Store, TermId, Verdict, WalkStart,
};

const INSERT: Statement = statement!("poller/trial");

/// The most rows of each look.
pub(crate) const MOST: u32 = 8;

pub(crate) const ENQUEUE: &str = "enqueue a message";
pub(crate) const TERM: &str = "begin a term";
pub(crate) const LOOK: &str = "look at due messages";
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
        "a look did not show a message that its own role had inserted, in a trial that was rolled back: row-level security on \
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
    /// Tries on the server what a poller does with messages, in a transaction that is rolled back: look, claim,
    /// mark, settle, remove.
    ///
    /// # Errors
    /// What the server, or the rights of the role, did not allow, and in which words.
    pub async fn trial(&self) -> Result<(), TrialError> {
        self.tried_store().await.map(drop)
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
    /// The target of each message, which nobody dials, and its ordering key.
    const MESSAGES: [(&str, Option<&str>); 3] = [
        ("https://nowhere.invalid", None),
        ("https://elsewhere.invalid", None),
        ("https://nowhere.invalid", Some("outbox-trial")),
    ];

    pub(crate) fn new() -> Self {
        let channel = ChannelTerms {
            name: "outbox-trial".to_owned(),
            timeout: Duration::ZERO,
            max_attempts: 1,
            in_doubt: InDoubtPolicy::Resend,
            on_dead_ordered: OnDeadOrdered::Halt,
            max_message_bytes: 1_000,
            on_dead: None,
        };
        let [.., high, low] = Uuid::new_v4().into_bytes();
        let shard = Shard(i16::from_be_bytes([high | 0x80, low]));
        Self { shard, holders: ["1", "2"].map(|nonce| Holder::new("outbox-trial", nonce)), channels: [channel] }
    }

    pub(crate) fn term(&self, epoch: Epoch, holder: usize) -> TermId {
        TermId { shard: self.shard, epoch, holder: self.holders[holder].clone() }
    }

    /// The terms of a claim with no settling time to wait for.
    pub(crate) fn terms(&self) -> ClaimTerms<'_> {
        ClaimTerms {
            channels: &self.channels,
            timeout: Duration::ZERO,
            lease_ttl: Duration::ZERO,
            margin: Duration::ZERO,
        }
    }

    pub(crate) async fn insert(&self, connection: &mut AnyConnection<'_>) -> Result<(), TrialError> {
        for (target, key) in Self::MESSAGES {
            let inserted = connection.changed(&INSERT, &[target.into(), key.into(), self.shard.into()]).await;
            tried(ENQUEUE, inserted.map_err(failed("inserting a message")))?;
        }
        Ok(())
    }

    /// A look at the lanes of these headers.
    pub(crate) fn lanes(headers: &[Header]) -> Vec<LaneLook> {
        let look = |header: &Header| LaneLook { lane: header.lane.clone(), behind: WalkStart::default() };
        headers.iter().map(look).collect()
    }

    /// Of what looks showed, the rows to claim: one without an ordering key, and one with. A look that claims finds the other one.
    ///
    /// # Errors
    /// They did not show all three.
    pub(crate) fn rows(unordered: &[Header], ordered: &[Header]) -> Result<[(MessageId, Revision); 2], TrialError> {
        let ([first, _, ..], [keyed, ..]) = (unordered, ordered) else { return Err(TrialError::Hidden) };
        Ok([first, keyed].map(|header| (header.id, header.revision)))
    }

    /// A look that claims what is not `known`.
    pub(crate) fn look_and_claim<'a>(known: &'a [MessageId], terms: &'a ClaimTerms<'a>) -> LookAndClaim<'a> {
        LookAndClaim {
            claim: ClaimId::mint(),
            behind: WalkStart::default(),
            limit: MOST,
            known,
            not_of: &[],
            up_to: MOST,
            terms,
        }
    }

    /// Marks that record the messages of a claim by `term` as delivered.
    ///
    /// # Errors
    /// The claim brought no message.
    pub(crate) fn deliveries(term: &TermId, claim: ClaimId, messages: &[Message]) -> Result<Vec<Mark>, TrialError> {
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
        let marks: Vec<_> = messages.iter().map(mark).collect();
        if marks.is_empty() { Err(TrialError::Hidden) } else { Ok(marks) }
    }
}

/// The same in the dialects that have no functions of their own.
impl Probe {
    /// Begins one of the terms.
    pub(crate) async fn begin(&self, connection: &mut AnyConnection<'_>, holder: usize) -> Result<TermId, TrialError> {
        let epoch = tried(TERM, mint(connection, self.shard, &self.holders[holder], Epoch::default(), None).await)?;
        Ok(self.term(Epoch(epoch), holder))
    }

    /// Claims the `rows`, and what another look found: as a look that claims does, and once more where its answer was lost. Returns
    /// the marks of the rows.
    pub(crate) async fn claim(
        &self,
        connection: &mut AnyConnection<'_>,
        term: &TermId,
        rows: &[(MessageId, Revision)],
        found: Vec<Header>,
    ) -> Result<Vec<Mark>, TrialError> {
        let terms = self.terms();
        let request = RowsToClaim { claim: ClaimId::mint(), rows, terms: &terms };
        let messages = tried(CLAIM, claim(connection, term, &request).await)?;
        let look = Self::look_and_claim(&[], &terms);
        tried(CLAIM, is_made(connection, term, look.claim).await)?;
        for found in [Some(found), None] {
            tried(CLAIM, claim_all(connection, term, &look, found).await)?;
        }
        Self::deliveries(term, request.claim, &messages)
    }

    /// Settles what is not marked, in the second term, and removes what is.
    pub(crate) async fn end(&self, mut connection: AnyConnection<'_>, marks: &[Mark]) -> Result<(), TrialError> {
        self.begin(&mut connection, 1).await?;
        tried(SETTLE, decide(&mut connection, self.shard, &self.channels).await)?;
        prune(connection, marks).await
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
