//! Cancelling one message that waits, which becomes a dead letter, `cancelled`.

use outbox_schema::MessageId;
use outbox_store::sql::{AnyConnection, AnyTransaction};
use outbox_store::store::ids_as_json;
use outbox_store::{Database, Status};

use super::edit::Envelope;
use super::operation::{Standing, audit, lock_terms};
use super::statements::{CANCEL, ENVELOPES};
use super::{Author, Cancelled, Refusal, Skipped};

pub(super) async fn cancel(database: &Database, id: MessageId, author: &Author) -> sqlx::Result<Cancelled> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let cancelled = cancel_in(&mut transaction.connection(), id, author).await?;
    transaction.commit().await?;
    Ok(cancelled)
}

async fn cancel_in(connection: &mut AnyConnection<'_>, id: MessageId, author: &Author) -> sqlx::Result<Cancelled> {
    lock_terms(connection).await?;
    let refused = |because| Ok(Cancelled::Refused(Skipped { id, because }));
    if let Some(because) = Standing::lock(connection, &[id]).await?.refusal(id, Status::Pending) {
        return refused(because);
    }
    let ids = ids_as_json(&[id]);
    let Some(before) = connection.rows::<Envelope>(&ENVELOPES, &[(&ids).into()]).await?.pop() else {
        return refused(Refusal::NotThere);
    };
    let details = serde_json::json!({
        "idempotency_key": before.idempotency_key, "channel": before.channel, "revision": before.revision,
    });
    audit(connection, "cancel", Some(id), &details.to_string(), author).await?;
    connection.rows::<()>(&CANCEL, &[(&ids).into()]).await?;
    Ok(Cancelled::Done { id })
}
