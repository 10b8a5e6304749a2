//! Outcomes that are told: each by a message of its own, in the transaction that ends the row of the other. So it exists exactly
//! when the outcome does.

use std::collections::HashMap;

use outbox_schema::MessageId;
use serde::Serialize;

use crate::fingerprint::pattern;
use crate::outcome_target::Texts;
use crate::sql::AnyConnection;
use crate::statement::Statement;
use crate::store::lossy::Lossy;
use crate::store::steps::{DOUBT, failed};
use crate::store::wire::{MarkRow, as_json, ids_as_json};
use crate::{ChannelTerms, OutcomeTarget, Status, StoreError};

const OUTCOMES: Statement = statement!("poller/outcomes");
const SETTLED: Statement = statement!("poller/outcomes_settled");
const TEXTS: Statement = statement!("poller/outcomes_texts");

const DOING: &str = "telling of outcomes";

/// An outcome, and where it is told.
#[derive(Debug)]
struct Outcome<'a> {
    id: i64,
    revision: i32,
    status: &'static str,
    dead_reason: Option<&'a str>,
    error: Option<String>,
    told: &'a OutcomeTarget,
}

/// The same as the statement takes it. What else the message says the database adds.
#[derive(Serialize)]
struct OutcomeRow<'a> {
    id: i64,
    /// The revision to which the outcome raised the row.
    revision: i32,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_reason: Option<&'a str>,
    /// The pattern of the error: what is in quotes, numbers and paths stay here.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    channel: &'a str,
    target: String,
}

/// What a row that ended says of itself in the target of its outcome.
#[derive(sqlx::FromRow)]
struct TextsRow {
    id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    tenant: Option<String>,
}

/// A row in doubt that was settled, and is dead.
#[derive(Debug, sqlx::FromRow)]
struct SettledRow {
    id: i64,
    revision: i32,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    dead_reason: String,
}

/// Tells of what accepted marks ended, and whose channel wants it told.
pub(crate) async fn tell_marked<'a>(
    connection: &mut AnyConnection<'_>,
    accepted: impl IntoIterator<Item = &'a MarkRow<'a>>,
) -> Result<(), StoreError> {
    let outcome = |mark: &'a MarkRow<'a>| {
        let told = mark.told.filter(|_| mark.status != Status::Pending.as_str())?;
        Some(Outcome {
            id: mark.id,
            revision: mark.revision + 1,
            status: mark.status,
            dead_reason: mark.dead_reason,
            error: mark.dead_reason.and(mark.error.as_deref()).map(pattern),
            told,
        })
    };
    tell(connection, &accepted.into_iter().filter_map(outcome).collect::<Vec<_>>()).await
}

/// Whether a dead letter of any channel is told.
pub(crate) fn are_told(channels: &[ChannelTerms]) -> bool {
    channels.iter().any(|channel| channel.on_dead.is_some())
}

/// Tells of rows in doubt that were settled as `dead`.
pub(crate) async fn tell_settled(
    connection: &mut AnyConnection<'_>,
    dead: &[MessageId],
    channels: &[ChannelTerms],
) -> Result<(), StoreError> {
    if dead.is_empty() || !are_told(channels) {
        return Ok(());
    }
    let rows: Vec<SettledRow> =
        connection.rows(&SETTLED, &[(&ids_as_json(dead)).into()]).await.map_err(failed(DOING))?;
    let mut outcomes = Vec::new();
    for row in &rows {
        let told =
            channels.iter().find(|channel| channel.name == row.channel).and_then(|channel| channel.on_dead.as_ref());
        outcomes.extend(told.map(|told| Outcome {
            id: row.id,
            revision: row.revision,
            status: Status::Dead.as_str(),
            dead_reason: Some(&row.dead_reason),
            error: Some(pattern(DOUBT)),
            told,
        }));
    }
    tell(connection, &outcomes).await
}

/// Without outcomes there is no round trip, and without a place in a target none for the texts.
async fn tell(connection: &mut AnyConnection<'_>, outcomes: &[Outcome<'_>]) -> Result<(), StoreError> {
    if outcomes.is_empty() {
        return Ok(());
    }
    let with_places = outcomes.iter().filter(|outcome| outcome.told.target.has_places());
    let with_places: Vec<_> = with_places.map(|outcome| MessageId(outcome.id)).collect();
    let texts: Vec<TextsRow> = if with_places.is_empty() {
        Vec::new()
    } else {
        connection.rows(&TEXTS, &[(&ids_as_json(&with_places)).into()]).await.map_err(failed(DOING))?
    };
    let texts: HashMap<i64, TextsRow> = texts.into_iter().map(|texts| (texts.id, texts)).collect();
    let rows: Vec<_> = outcomes.iter().map(|outcome| outcome.row(texts.get(&outcome.id))).collect();
    let told = connection.changed(&OUTCOMES, &[(&as_json(DOING, &rows)?).into()]).await;
    told.map(drop).map_err(failed(DOING))
}

impl Outcome<'_> {
    /// A row without texts is gone, and so nothing is told of it.
    fn row(&self, texts: Option<&TextsRow>) -> OutcomeRow<'_> {
        let texts = Texts {
            id: MessageId(self.id),
            status: self.status,
            idempotency_key: texts.map_or("", |texts| &texts.idempotency_key),
            channel: texts.map_or("", |texts| &texts.channel),
            tenant: texts.and_then(|texts| texts.tenant.as_deref()),
        };
        OutcomeRow {
            id: self.id,
            revision: self.revision,
            status: self.status,
            dead_reason: self.dead_reason,
            error: self.error.as_deref(),
            channel: &self.told.channel,
            target: self.told.target.filled(&texts),
        }
    }
}
