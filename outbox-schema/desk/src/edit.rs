//! Editing a dead letter: the one place that changes the payload of a message.

use std::collections::BTreeMap;

use outbox_schema::{InvalidMessage, MessageId, NewMessage};
use outbox_store::sql::{AnyConnection, AnyTransaction};
use outbox_store::store::Lossy;
use outbox_store::store::ids_as_json;
use outbox_store::{Database, Status};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::operation::{Standing, audit, lock_terms};
use super::statements::{CONTENTS, EDIT};
use super::{Author, Edited, Refusal, Skipped};

/// The most bytes of a payload that is read back, to be shown or edited. A row of a few kilobytes can hold one of hundreds of
/// megabytes, and whoever asks may ask a replica.
pub(super) const PAYLOAD_READ: i64 = 8 << 20;

/// What an edit may change of a message, but for its payload.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct Envelope {
    pub(super) id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    pub(super) idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub(super) channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub(super) target: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub(super) headers: Option<String>,
    pub(super) revision: i32,
}

/// What an edit may change of a message.
#[derive(Debug, sqlx::FromRow)]
struct Content {
    #[sqlx(flatten)]
    envelope: Envelope,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    payload: Option<String>,
}

/// The new content of a dead letter. It is as valid as a message that is enqueued.
#[derive(Clone, PartialEq, Eq)]
pub struct Revised {
    target: String,
    payload: String,
    headers: BTreeMap<String, String>,
    keeps_key: bool,
}

impl Revised {
    /// Checks the content. `payload` is JSON text, and is written as it is.
    ///
    /// # Errors
    /// What [`enqueue`](outbox_schema::enqueue()) would refuse in such a message for `channel`.
    pub fn new(
        channel: &str,
        target: &str,
        payload: &str,
        headers: BTreeMap<String, String>,
    ) -> Result<Self, InvalidMessage> {
        let message = NewMessage::new(channel, target, payload);
        headers.iter().fold(message, |message, (name, value)| message.header(name, value)).validate()?;
        Ok(Self { target: target.to_owned(), payload: payload.to_owned(), headers, keeps_key: false })
    }

    /// The same, where the message keeps its idempotency key if `keeps` is true. Only target and headers may then differ: an
    /// edit of the payload is refused.
    #[must_use]
    pub fn keeping_key(self, keeps: bool) -> Self {
        Self { keeps_key: keeps, ..self }
    }

    /// Whether the message keeps its idempotency key.
    pub fn keeps_key(&self) -> bool {
        self.keeps_key
    }

    /// The target.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The payload, as JSON text.
    pub fn payload(&self) -> &str {
        &self.payload
    }

    /// All headers of the message.
    pub fn headers(&self) -> &BTreeMap<String, String> {
        &self.headers
    }

    pub(super) fn headers_column(&self) -> Option<Value> {
        let fields = self.headers.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        (!self.headers.is_empty()).then(|| Value::Object(fields.collect()))
    }
}

/// Bodies, headers and targets stay out of logs.
impl std::fmt::Debug for Revised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revised").finish_non_exhaustive()
    }
}

/// What the audit keeps of an edit: the former value of each part that changed.
#[derive(Serialize)]
struct Overwritten<'a> {
    idempotency_key: &'a str,
    /// The same as `idempotency_key` where the message kept it.
    new_idempotency_key: &'a str,
    revision: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Value>,
}

pub(super) async fn edit(
    database: &Database,
    id: MessageId,
    revision: i32,
    revised: &Revised,
    author: &Author,
) -> sqlx::Result<Edited> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let edited = edit_in(&mut transaction.connection(), id, revision, revised, author).await?;
    transaction.commit().await?;
    Ok(edited)
}

async fn edit_in(
    connection: &mut AnyConnection<'_>,
    id: MessageId,
    revision: i32,
    revised: &Revised,
    author: &Author,
) -> sqlx::Result<Edited> {
    lock_terms(connection).await?;
    let refused = |because| Ok(Edited::Refused(Skipped { id, because }));
    if let Some(because) = Standing::lock(connection, &[id]).await?.refusal(id, Status::Dead) {
        return refused(because);
    }
    let Some(before) =
        connection.rows::<Content>(&CONTENTS, &[(&ids_as_json(&[id])).into(), PAYLOAD_READ.into()]).await?.pop()
    else {
        return refused(Refusal::NotThere);
    };
    let Content { envelope: before, payload } = before;
    if before.revision != revision {
        return refused(Refusal::Changed);
    }
    let Some(payload) = payload else { return refused(Refusal::PayloadUnread) };
    let (new_key, revised) = if revised.keeps_key {
        // Space around the JSON text means nothing, and stays as it is: a signature may cover it.
        if revised.payload.trim() != payload.trim() {
            return refused(Refusal::PayloadUnderOldKey);
        }
        (before.idempotency_key.clone(), Revised { payload: payload.clone(), ..revised.clone() })
    } else {
        (Uuid::now_v7().to_string(), revised.clone())
    };
    let details =
        before.overwritten_by(&revised, Some(&payload).filter(|payload| **payload != revised.payload), &new_key)?;
    audit(connection, "edit", Some(id), &details, author).await?;
    write(connection, before.id, &revised, &new_key).await?;
    Ok(Edited::Done { id, old_key: before.idempotency_key, new_key })
}

impl Envelope {
    /// What the audit keeps of an edit, as JSON text. `payload` is the former one, where the edit changes it.
    pub(super) fn overwritten_by(
        &self,
        revised: &Revised,
        payload: Option<&String>,
        new_key: &str,
    ) -> sqlx::Result<String> {
        let headers = revised.headers_column();
        let headers_before: Option<Value> =
            self.headers.as_deref().map(serde_json::from_str).transpose().map_err(not_json)?;
        let overwritten = Overwritten {
            idempotency_key: &self.idempotency_key,
            new_idempotency_key: new_key,
            revision: self.revision,
            target: Some(self.target.as_str()).filter(|target| *target != revised.target),
            payload: payload.map(|payload| serde_json::from_str(payload)).transpose().map_err(not_json)?,
            headers: (headers_before != headers).then(|| headers_before.unwrap_or(Value::Null)),
        };
        serde_json::to_string(&overwritten).map_err(not_json)
    }
}

async fn write(connection: &mut AnyConnection<'_>, id: i64, revised: &Revised, new_key: &str) -> sqlx::Result<()> {
    let headers = revised.headers_column().map(|headers| headers.to_string());
    let (target, payload) = (revised.target.as_str(), revised.payload.as_str());
    let values = [new_key.into(), target.into(), payload.into(), headers.as_deref().into(), id.into()];
    connection.rows::<()>(&EDIT, &values).await.map(drop)
}

pub(super) fn not_json(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(error.into())
}
