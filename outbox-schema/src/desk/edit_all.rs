//! The same edit of many dead letters. Payloads stay, so they are not read.

use std::time::Instant;

use async_trait::async_trait;
use serde::Serialize;
use uuid::Uuid;

use super::batches::{Batch, BatchedChange, in_batches};
use super::change::HeadersBefore;
use super::dead::meant;
use super::edit::{Envelope, not_json};
use super::operation::{Operation, Standing, said_of};
use super::progress::Watch;
use super::statements::{EDIT_EACH, ENVELOPES};
use super::{Author, Change, EditedAll, Left, Revised, Selection};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// Stands for a payload, of which the check of an edited message has nothing to say.
const UNREAD: &str = "{}";

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
    let operation = Operation::begin(database, "edit", &said_of(selection, done.meant), author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut editing = Editing { change, done };
    in_batches(database, &operation, &ids, &mut editing, watch).await?;
    Ok(editing.done)
}

struct Editing<'a> {
    change: &'a Change,
    done: EditedAll,
}

#[async_trait]
impl BatchedChange for Editing<'_> {
    /// It holds no term, so no claim waits for its batches as claims wait for those of a redrive. SQLite has one writer, and waits.
    fn pauses(&self) -> u32 {
        2
    }

    async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        batch: &[MessageId],
    ) -> sqlx::Result<Batch> {
        let Self { change, done } = self;
        let (fit, skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Dead);
        done.left.extend(skipped.iter().map(|skipped| Left { id: skipped.id, because: skipped.because.to_string() }));
        let envelopes: Vec<Envelope> = connection.rows(&ENVELOPES, &[(&ids_as_json(&fit)).into()]).await?;
        let (read, mut parts) = (Instant::now(), Vec::new());
        for before in envelopes {
            match change.revised(&before.channel, &before.target, UNREAD, before.headers.as_deref()) {
                Err(unfit) => done.left.push(Left { id: MessageId(before.id), because: unfit.to_string() }),
                Ok(revised) if is_like(&before, &revised) => done.unchanged += 1,
                Ok(revised) => parts.push(Part::of(&before, &revised, change.keep_key)?),
            }
        }
        let all = serde_json::to_string(&parts).map_err(not_json)?;
        let idle = read.elapsed();
        if !parts.is_empty() {
            // A statement for each message would take ten times as long, and its pause with it.
            operation.audit_parts(connection, &all).await?;
            connection.rows::<()>(&EDIT_EACH, &[(&all).into()]).await?;
            done.edited += parts.len() as u64;
        }
        Ok(Batch { changed: done.edited, idle })
    }
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

impl Part {
    fn of(before: &Envelope, revised: &Revised, keeps_key: bool) -> sqlx::Result<Self> {
        let key = if keeps_key { before.idempotency_key.clone() } else { Uuid::now_v7().to_string() };
        Ok(Self {
            id: before.id,
            details: before.overwritten_by(revised, None, &key)?,
            key,
            target: revised.target().to_owned(),
            headers: revised.headers_column().map(|headers| headers.to_string()),
        })
    }
}

/// Whether nothing would be different.
fn is_like(before: &Envelope, revised: &Revised) -> bool {
    let headers = HeadersBefore::of(before.headers.as_deref());
    before.target == revised.target() && headers.others.is_empty() && headers.texts == *revised.headers()
}
