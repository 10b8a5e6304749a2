//! Claims: functions, each one round trip, and what their rows say.

use std::cmp::Reverse;

use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::{FromRow, PgConnection, Postgres};

use super::errors::failed;
use super::looks::{At, places};
use super::names;
use crate::store::due::{ClaimTerms, LookAndClaim, LookedAndClaimed, Names, RowsToClaim};
use crate::store::wire::millis_i64;
use crate::{ClaimId, Message, StoreError, TermId};

pub(super) const READING: &str = "reading what a claimed message says";

/// The statement of a claim, with its parameters.
pub(super) type Claim = QueryAs<'static, Postgres, DueMessage, PgArguments>;

/// A row that was claimed, or shown.
#[derive(Debug, FromRow)]
pub(super) struct DueMessage {
    claimed: bool,
    pub(super) place: i64,
    priority: i16,
    available_at: At,
    #[sqlx(flatten)]
    message: Message,
}

impl DueMessage {
    pub(super) fn claimed(rows: Vec<Self>) -> Vec<Message> {
        rows.into_iter().filter(|row| row.claimed).map(|row| row.message).collect()
    }

    /// What a look that claims found, and claimed.
    pub(super) fn looked_and_claimed(mut rows: Vec<Self>) -> LookedAndClaimed {
        rows.sort_by_key(|row| (Reverse(row.priority), row.available_at, row.message.id));
        let mut names = Names::default();
        let headers = rows.iter().map(|row| names.header(&row.message, row.priority, row.available_at.0)).collect();
        LookedAndClaimed { headers, messages: Self::claimed(rows) }
    }
}

/// A statement that claims, with the parameters that all such have: with what rows say, or without.
fn claiming(statement: &'static str, (term, claim, terms): (&TermId, ClaimId, &ClaimTerms<'_>), bodies: bool) -> Claim {
    sqlx::query_as(statement)
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str().to_owned())
        .bind(claim.0)
        .bind(names(terms.channels))
        .bind(terms.channels.iter().map(|channel| channel.max_message_bytes.cast_signed()).collect::<Vec<_>>())
        .bind(terms.halting())
        .bind(terms.at_most_once())
        .bind(millis_i64(terms.timeout))
        .bind(millis_i64(terms.margin))
        .bind(millis_i64(terms.lease_ttl))
        .bind(bodies)
}

pub(super) fn claim_rows(term: &TermId, request: &RowsToClaim<'_>, bodies: bool) -> Claim {
    let (ids, revisions): (Vec<i64>, Vec<i32>) = request.each_once().into_iter().unzip();
    let statement = query!("postgres/due/message", "postgres/due/claim_rows");
    claiming(statement, (term, request.claim, request.terms), bodies).bind(ids).bind(revisions)
}

pub(super) fn look_and_claim(term: &TermId, request: &LookAndClaim<'_>, bodies: bool) -> Claim {
    let (ats, places) = places(&request.behind);
    let statement = query!("postgres/due/message", "postgres/due/look_and_claim");
    claiming(statement, (term, request.claim, request.terms), bodies)
        .bind(ats)
        .bind(places)
        .bind(i64::from(request.limit))
        .bind(request.known.iter().map(|id| id.0).collect::<Vec<_>>())
        .bind(request.not_of.iter().map(|lane| lane.channel.to_string()).collect::<Vec<_>>())
        .bind(request.not_of.iter().map(|lane| lane.tenant.to_string()).collect::<Vec<_>>())
        .bind(i64::from(request.up_to))
}

/// Reads each body by itself, since the database cannot give all together.
pub(super) async fn apart(connection: &mut PgConnection, rows: &mut [DueMessage]) -> Result<(), StoreError> {
    for message in rows.iter_mut().filter(|row| row.claimed).map(|row| &mut row.message) {
        if !message.too_large {
            let body = sqlx::query_as(query!("postgres/poller/claimed_body"))
                .bind(message.id)
                .bind(message.revision)
                .fetch_one(&mut *connection)
                .await;
            message.read_apart(body.map_err(|error| failed(READING, error)))?;
        }
    }
    Ok(())
}
