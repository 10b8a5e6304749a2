//! A retry makes messages due that wait: those whose attempt failed, and by their ids also those that are scheduled for later.

use outbox_schema::MessageId;
use outbox_store::sql::AnyConnection;
use outbox_store::store::ids_as_json;

use super::operations::Outcome;
use super::statements::WAITS_FOR;
use super::{MessageSelection, Refusal, Skipped};

/// Those of `fit` that the retry of a selection is for. The rows are locked.
pub(super) async fn chosen(
    connection: &mut AnyConnection<'_>,
    selection: &MessageSelection,
    fit: &[MessageId],
    done: &mut Outcome,
) -> sqlx::Result<Vec<MessageId>> {
    let waiting: Vec<Waiting> = connection.rows(&WAITS_FOR, &[(&ids_as_json(fit)).into()]).await?;
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    for one in waiting {
        let id = MessageId(one.id);
        if let Some(because) = one.refusal(selection) {
            skipped.push(Skipped { id, because });
        } else {
            done.add("untried", u64::from(!one.tried));
            chosen.push(id);
        }
    }
    done.leave(skipped);
    chosen.sort_unstable();
    Ok(chosen)
}

/// A message that waits, and for what.
#[derive(Debug, sqlx::FromRow)]
struct Waiting {
    id: i64,
    due: bool,
    deferred: bool,
    tried: bool,
}

impl Waiting {
    /// Why a retry of the selection leaves the message.
    fn refusal(&self, selection: &MessageSelection) -> Option<Refusal> {
        match selection {
            _ if self.due => Some(Refusal::Due),
            _ if self.deferred => Some(Refusal::Deferred),
            MessageSelection::Filter(_) if !self.tried => Some(Refusal::Untried),
            MessageSelection::Filter(_) | MessageSelection::Ids(_) => None,
        }
    }
}
