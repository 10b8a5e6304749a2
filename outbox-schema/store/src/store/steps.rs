//! The decisions between the statements of one transaction, in the dialects whose stores have no functions in the
//! database.

use std::collections::HashSet;

use outbox_schema::MessageId;
use serde::Serialize;
use sqlx::error::DatabaseError;
use uuid::Uuid;

use crate::fingerprint::error_hash;
use crate::store::Decided;
use crate::store::due::ClaimTerms;
use crate::store::lossy::Lossy;
use crate::store::wire::{MarkRow, as_json, millis_i64};
use crate::store::{mysql, postgres, sqlite};
use crate::{DeadReason, Mark, Message, Status, StoreError, TermId};

/// An error of any database, with what was asked of it.
pub(crate) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| StoreError::of(doing, error, is_about_data)
}

fn is_about_data(error: &dyn DatabaseError) -> bool {
    mysql::errors::is_about_data(error)
        || sqlite::errors::is_about_data(error)
        || postgres::errors::is_about_data(error)
}

/// A shard's term row, read under its lock.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct TermRow {
    pub(crate) epoch: i64,
    pub(crate) holder: String,
}

impl TermRow {
    /// Whether `term` is still the shard's term.
    pub(crate) fn require(row: Option<&Self>, term: &TermId) -> Result<(), StoreError> {
        match row {
            Some(row) if row.epoch == term.epoch.0 && row.holder == term.holder.as_str() => Ok(()),
            Some(_) | None => Err(StoreError::Fenced { shard: term.shard, epoch: term.epoch }),
        }
    }
}

/// A shard's term row, and whether a claim was made already.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct ClaimTermRow {
    #[sqlx(flatten)]
    pub(crate) term: TermRow,
    pub(crate) made: bool,
}

/// The columns of `outbox_claim` that describe a batch.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The ids, as a JSON array.
    pub(crate) message_ids: String,
    /// The revisions, as a JSON array of the same length.
    pub(crate) revisions: String,
    pub(crate) settling_ms: i64,
    pub(crate) settling_closed_ms: i64,
    /// The channels, as a JSON array.
    pub(crate) at_most_once: String,
}

impl Batch {
    /// The batch of the claimed rows, in their order, of which those `messages` may be sent.
    pub(crate) fn of(
        doing: &'static str,
        rows: &[(i64, i32)],
        messages: &[Message],
        terms: &ClaimTerms<'_>,
    ) -> Result<Self, StoreError> {
        let (ids, revisions): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let longest = messages.iter().map(|message| message.deadline(terms.timeout)).max();
        let terms = ClaimTerms { timeout: longest.unwrap_or(terms.timeout), ..*terms };
        Ok(Self {
            message_ids: as_json(doing, &ids)?,
            revisions: as_json(doing, &revisions)?,
            settling_ms: millis_i64(terms.settling()),
            settling_closed_ms: millis_i64(terms.settling_closed()),
            at_most_once: as_json(doing, &terms.at_most_once())?,
        })
    }
}

/// A group of marks on its way through the statements.
#[derive(Debug)]
pub(crate) struct MarkGroup<'a> {
    rows: Vec<MarkRow<'a>>,
}

impl<'a> MarkGroup<'a> {
    pub(crate) fn of(marks: &'a [Mark]) -> Self {
        Self { rows: MarkRow::all(marks) }
    }

    /// The claims of the group, in the order in which they are locked.
    pub(crate) fn claims(&self, finished: &[Uuid]) -> Vec<Uuid> {
        let mut claims: Vec<_> = self.rows.iter().map(|row| row.claim).chain(finished.iter().copied()).collect();
        claims.sort_unstable();
        claims.dedup();
        claims
    }

    /// The marks whose claim stands. The others are refused.
    pub(crate) fn under(&self, standing: &HashSet<Uuid>) -> Vec<&MarkRow<'a>> {
        self.rows.iter().filter(|row| standing.contains(&row.claim)).collect()
    }

    /// The marks that the database accepted, and those that it refused.
    pub(crate) fn split(&self, accepted: &[i64]) -> (Vec<&MarkRow<'a>>, Vec<&MarkRow<'a>>) {
        let accepted: HashSet<i64> = accepted.iter().copied().collect();
        self.rows.iter().partition(|row| accepted.contains(&row.id))
    }

    /// The marks that pause a destination, accepted or refused: the destination said so either way.
    pub(crate) fn pauses(&self) -> Vec<&MarkRow<'a>> {
        self.rows.iter().filter(|row| row.paused.is_some()).collect()
    }
}

/// The attempts to append: those that their mark asks to record, and deliveries whose mark was fenced.
pub(crate) fn attempts_to_record<'a>(
    accepted: &[&MarkRow<'a>],
    refused: &[&MarkRow<'a>],
    fenced: &[i64],
) -> Vec<MarkRow<'a>> {
    let fenced = refused.iter().filter(|row| row.status == Status::Success.as_str() && fenced.contains(&row.id));
    let mut attempts: Vec<_> = accepted.iter().filter(|row| row.record).map(|row| (*row).clone()).collect();
    attempts.extend(fenced.map(|row| row.fenced_delivery()));
    attempts
}

/// A row in doubt.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct DoubtRow {
    message_id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    destination: String,
    number: i64,
    claim: String,
    epoch: i64,
    holder: String,
    crashed: bool,
    /// Whether the row may be sent again.
    resend: bool,
    used_up: bool,
}

/// The error of a row in doubt that was settled, as all such rows share it.
pub(crate) const DOUBT: &str = "in doubt: claimed and never marked";

/// The error in `outbox_attempt` for a row whose poller never said that its gate is closed.
pub const CRASHED: &str = "claimed and never marked: its poller died or was cut off";

/// The same for a row whose poller said so.
pub(crate) const ENDED: &str = "claimed and never marked: its poller ended before it could mark it";

/// What becomes of a row in doubt.
#[derive(Debug, Serialize)]
pub(crate) struct Decision {
    pub(crate) message_id: i64,
    #[serde(skip)]
    destination: String,
    #[serde(skip)]
    crashed: bool,
    number: i64,
    pub(crate) claim: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_reason: Option<&'static str>,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_hash: Option<String>,
    explanation: &'static str,
}

impl From<DoubtRow> for Decision {
    fn from(row: DoubtRow) -> Self {
        let reason = match (row.resend, row.used_up) {
            (false, _) => Some(DeadReason::InDoubt),
            (true, true) => Some(DeadReason::Exhausted),
            (true, false) => None,
        };
        Self {
            message_id: row.message_id,
            destination: row.destination,
            crashed: row.crashed,
            number: row.number,
            claim: row.claim,
            status: if reason.is_some() { Status::Dead } else { Status::Pending }.as_str(),
            dead_reason: reason.map(DeadReason::as_str),
            error: format!("in doubt: claimed by {} in epoch {} and never marked", row.holder, row.epoch),
            error_hash: reason.map(|_| error_hash(DOUBT)),
            explanation: if row.crashed { CRASHED } else { ENDED },
        }
    }
}

impl From<Decision> for Decided {
    fn from(decision: Decision) -> Self {
        let Decision { message_id, destination, crashed, dead_reason, .. } = decision;
        Self { id: MessageId(message_id), destination, crashed, resend: dead_reason.is_none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_groups_what_it_settles_as_the_others_do() {
        let functions = sql_file!("functions/postgres/outbox_settle");
        assert!(functions.contains(&format!("ELSE '{}' END", error_hash(DOUBT))), "{}", error_hash(DOUBT));
    }

    #[test]
    fn postgres_says_of_what_it_settles_what_the_others_say() {
        let functions = sql_file!("functions/postgres/outbox_settle");
        for explanation in [CRASHED, ENDED] {
            let (both, one) = explanation.split_at(explanation.find("poller ").unwrap_or_default() + "poller ".len());
            assert!(functions.contains(&format!("'{both}'")) && functions.contains(&format!("'{one}'")));
        }
    }
}
