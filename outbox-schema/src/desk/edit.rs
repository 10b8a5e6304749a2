//! Editing, of one dead letter or of many: the one place that changes the payload of a message.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::change::HeadersBefore;
use super::dead::meant;
use super::operation::{Operation, Standing, audit, lock_terms, pause, said_of};
use super::progress::{Progress, Watch};
use super::statements::{CONTENTS, EDIT, EDIT_EACH};
use super::{Author, Change, Edited, EditedAll, Left, Refusal, Selection, Skipped};
use crate::sql::{AnyConnection, AnyTransaction};
use crate::store::lossy::Lossy;
use crate::store::wire::ids_as_json;
use crate::{Database, InvalidMessage, MessageId, NewMessage, Status};

/// Messages of one transaction. Their payloads are in memory meanwhile.
const BATCH: usize = 200;

/// What an edit may change of a message.
#[derive(Debug, sqlx::FromRow)]
struct Content {
    id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    target: String,
    #[sqlx(try_from = "Lossy<String>")]
    payload: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    headers: Option<String>,
    revision: i32,
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
    /// What [`enqueue`](crate::enqueue()) would refuse in such a message for `channel`.
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

    fn headers_column(&self) -> Option<Value> {
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
    let Some(before) = connection.rows::<Content>(&CONTENTS, &[(&ids_as_json(&[id])).into()]).await?.pop() else {
        return refused(Refusal::NotThere);
    };
    if before.revision != revision {
        return refused(Refusal::Changed);
    }
    let (new_key, revised) = if revised.keeps_key {
        // Space around the JSON text means nothing, and stays as it is: a signature may cover it.
        if revised.payload.trim() != before.payload.trim() {
            return refused(Refusal::PayloadUnderOldKey);
        }
        (before.idempotency_key.clone(), Revised { payload: before.payload.clone(), ..revised.clone() })
    } else {
        (Uuid::now_v7().to_string(), revised.clone())
    };
    let details = overwritten(&before, &revised, &new_key)?;
    audit(connection, "edit", Some(id), &details, author).await?;
    write(connection, &before, &revised, &new_key).await?;
    Ok(Edited::Done { id, old_key: before.idempotency_key, new_key })
}

/// Makes the same change to each message of a selection, in batches.
pub(super) async fn edit_all(
    database: &Database,
    selection: &Selection,
    change: &Change,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<EditedAll> {
    let ids = meant(database, selection).await?;
    let mut done = EditedAll { meant: ids.len() as u64, ..EditedAll::default() };
    if ids.is_empty() {
        return Ok(done);
    }
    let mut details = said_of(selection);
    details["meant"] = done.meant.into();
    let operation = Operation::begin(database, "edit", &details, author).await?;
    done.audit_id = Some(operation.audit_id);
    let mut progress = Progress { audit_id: operation.audit_id, of: Some(done.meant), done: 0, changed: 0 };
    for batch in ids.chunks(BATCH) {
        if watch(progress).is_break() {
            return Ok(done);
        }
        let began = Instant::now();
        let mut transaction = AnyTransaction::to_write(database).await?;
        let edited = edit_batch(&mut transaction.connection(), &operation, batch, change).await?;
        transaction.commit().await?;
        done.add(edited);
        progress = Progress { done: progress.done + batch.len() as u64, changed: done.edited, ..progress };
        if progress.done < done.meant {
            pause(began).await;
        }
    }
    // The change is done, whether it was to go on or not.
    let _ = watch(progress);
    Ok(done)
}

async fn edit_batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    batch: &[MessageId],
    change: &Change,
) -> sqlx::Result<EditedAll> {
    let (fit, skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Dead);
    let mut done = EditedAll::default();
    done.left.extend(skipped.iter().map(|skipped| Left { id: skipped.id, because: skipped.because.to_string() }));
    let mut parts = Vec::new();
    for before in connection.rows::<Content>(&CONTENTS, &[(&ids_as_json(&fit)).into()]).await? {
        let Content { channel, target, payload, headers, .. } = &before;
        match change.revised(channel, target, payload, headers.as_deref()) {
            Err(unfit) => done.left.push(Left { id: MessageId(before.id), because: unfit.to_string() }),
            Ok(revised) if before.is_like(&revised) => done.unchanged += 1,
            Ok(revised) => {
                let new_key = if change.keep_key { before.idempotency_key.clone() } else { Uuid::now_v7().to_string() };
                parts.push(Part {
                    id: before.id,
                    details: overwritten(&before, &revised, &new_key)?,
                    key: new_key,
                    headers: revised.headers_column().map(|headers| headers.to_string()),
                    target: revised.target,
                });
            }
        }
    }
    if !parts.is_empty() {
        // A statement for each message would take ten times as long, and its pause with it.
        let all = serde_json::to_string(&parts).map_err(not_json)?;
        operation.audit_parts(connection, &all).await?;
        connection.rows::<()>(&EDIT_EACH, &[(&all).into()]).await?;
        done.edited = parts.len() as u64;
    }
    Ok(done)
}

/// The edit of one message among many, as the statements read it. Payloads stay.
#[derive(Serialize)]
struct Part {
    id: i64,
    key: String,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<String>,
    details: String,
}

impl Content {
    /// Whether nothing would be different.
    fn is_like(&self, revised: &Revised) -> bool {
        let headers = HeadersBefore::of(self.headers.as_deref());
        self.target == revised.target && headers.others.is_empty() && headers.texts == revised.headers
    }
}

/// What the audit keeps of an edit, as JSON text.
fn overwritten(before: &Content, revised: &Revised, new_key: &str) -> sqlx::Result<String> {
    let headers = revised.headers_column();
    let raw = |text| serde_json::from_str::<&RawValue>(text).map_err(not_json);
    let headers_before: Option<Value> =
        before.headers.as_deref().map(serde_json::from_str).transpose().map_err(not_json)?;
    let overwritten = Overwritten {
        idempotency_key: &before.idempotency_key,
        new_idempotency_key: new_key,
        revision: before.revision,
        target: Some(before.target.as_str()).filter(|target| *target != revised.target),
        payload: Some(raw(&before.payload)?).filter(|_| before.payload != revised.payload),
        headers: (headers_before != headers).then(|| headers_before.unwrap_or(Value::Null)),
    };
    serde_json::to_string(&overwritten).map_err(not_json)
}

async fn write(
    connection: &mut AnyConnection<'_>,
    before: &Content,
    revised: &Revised,
    new_key: &str,
) -> sqlx::Result<()> {
    let headers = revised.headers_column().map(|headers| headers.to_string());
    let (target, payload) = (revised.target.as_str(), revised.payload.as_str());
    let values = [new_key.into(), target.into(), payload.into(), headers.as_deref().into(), before.id.into()];
    connection.rows::<()>(&EDIT, &values).await.map(drop)
}

fn not_json(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(error.into())
}
