//! A message with all that is kept of it.

use outbox_schema::MessageId;
use outbox_store::sql::AnyConnection;

use super::MessageRecord;
use super::edit::PAYLOAD_READ;
use super::statements::{ATTEMPTS, AUDIT_OF_MESSAGE, MESSAGE, NAMING_CLAIM};

pub(super) async fn whole_message(
    connection: &mut AnyConnection<'_>,
    id: MessageId,
) -> sqlx::Result<Option<MessageRecord>> {
    let asked = [id.0.into(), PAYLOAD_READ.into()];
    let Some(message) = connection.rows::<MessageRecord>(&MESSAGE, &asked).await?.pop() else { return Ok(None) };
    let id = &asked[..1];
    Ok(Some(MessageRecord {
        attempt_log: connection.rows(&ATTEMPTS, id).await?,
        audit: connection.rows(&AUDIT_OF_MESSAGE, id).await?,
        claim: connection.rows(&NAMING_CLAIM, id).await?.pop(),
        ..message
    }))
}
