//! The same edit of many dead letters. Payloads stay, so they are not read.

use std::time::Instant;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::content_edit::HeadersBefore;
use super::dead::meant;
use super::edit::{Envelope, not_json};
use super::operation::{Operation, Standing, said_of};
use super::operations::{Batch, Remaining, Work};
use super::statements::{EDIT_EACH, ENVELOPES};
use super::{ContentEdit, EditedAll, Left, Revised, Selection, Skipped};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// Stands for a payload, of which the check of an edited message has nothing to say.
const UNREAD: &str = "{}";

/// The same change of each dead letter of a selection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Editing {
    selection: Selection,
    change: ContentEdit,
    remaining: Remaining,
    done: EditedAll,
}

impl Editing {
    pub(super) fn of(selection: &Selection, change: &ContentEdit) -> Self {
        let (remaining, done) = (Remaining::default(), EditedAll::default());
        Self { selection: selection.clone(), change: change.clone(), remaining, done }
    }
}

#[async_trait]
impl Work for Editing {
    const ACTION: &'static str = "edit";
    type Done = EditedAll;

    fn said(&self) -> serde_json::Value {
        let mut details = said_of(&self.selection, self.done.meant);
        details["change"] = self.change.said();
        details
    }

    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let meant = meant(database, &self.selection, &mut self.remaining.as_of_us).await?;
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, None)))
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    /// It holds no term, so no claim waits for its batches as claims wait for those of a redrive. SQLite has one writer, and waits.
    fn pauses(&self) -> u32 {
        2
    }

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let Self { change, remaining, done, .. } = self;
        let batch = remaining.next();
        let (fit, skipped) = Standing::lock(connection, &batch).await?.split(&batch, Status::Dead);
        for Skipped { id, because } in skipped {
            done.leave(Left { id, because: because.to_string() });
        }
        let envelopes: Vec<Envelope> = connection.rows(&ENVELOPES, &[(&ids_as_json(&fit)).into()]).await?;
        let (read, mut parts) = (Instant::now(), Vec::new());
        for before in envelopes {
            match change.revised(&before.channel, &before.target, UNREAD, before.headers.as_deref()) {
                Err(unfit) => done.leave(Left { id: MessageId(before.id), because: unfit.to_string() }),
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
        Ok(Batch { idle, ..Batch::of(&batch, done.edited, remaining) })
    }

    fn done(self) -> EditedAll {
        self.done
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
