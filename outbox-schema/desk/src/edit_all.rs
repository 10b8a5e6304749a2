//! The same edit of many dead letters. Payloads stay, so they are not read.

use std::time::{Duration, Instant};

use outbox_schema::MessageId;
use outbox_store::sql::AnyConnection;
use outbox_store::store::ids_as_json;
use serde::Serialize;
use uuid::Uuid;

use super::content_edit::HeadersBefore;
use super::edit::{Envelope, not_json};
use super::operation::Operation;
use super::operations::{Because, Outcome};
use super::statements::{EDIT_EACH, ENVELOPES};
use super::{ContentEdit, Revised};

/// Stands for a payload, of which the check of an edited message has nothing to say.
const UNREAD: &str = "{}";

/// Edits the messages of a batch. Gives how long the database had no work meanwhile.
pub(super) async fn batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    fit: &[MessageId],
    change: &ContentEdit,
    done: &mut Outcome,
) -> sqlx::Result<Duration> {
    let envelopes: Vec<Envelope> = connection.rows(&ENVELOPES, &[(&ids_as_json(fit)).into()]).await?;
    let (read, mut parts) = (Instant::now(), Vec::new());
    for before in envelopes {
        match change.revised(&before.channel, &before.target, UNREAD, before.headers.as_deref()) {
            Err(unfit) => done.leave_one(MessageId(before.id), Because::Unfit(unfit.to_string())),
            Ok(revised) if is_like(&before, &revised) => done.add("unchanged", 1),
            Ok(revised) => parts.push(Part::of(&before, &revised, change.keep_key)?),
        }
    }
    let all = serde_json::to_string(&parts).map_err(not_json)?;
    let idle = read.elapsed();
    if !parts.is_empty() {
        // A statement for each message would take ten times as long, and its pause with it.
        operation.audit_parts(connection, &all).await?;
        connection.rows::<()>(&EDIT_EACH, &[(&all).into()]).await?;
        done.changed += parts.len() as u64;
    }
    Ok(idle)
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
