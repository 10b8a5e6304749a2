//! A retry makes messages due that wait: those whose attempt failed, and by their ids also those that are scheduled for later.

use async_trait::async_trait;

use super::statements::{RETRY, WAITS_FOR};
use super::waiting::{Changing, Chosen, OfWaiting, Tally};
use super::{MessageChange, MessageSelection, Refusal, Retried, Skipped};
use crate::MessageId;
use crate::sql::AnyConnection;
use crate::statement::Statement;
use crate::store::wire::ids_as_json;

/// A retry of many messages.
pub(super) type Retrying = Changing<Retried>;

#[async_trait]
impl OfWaiting for Retried {
    const CHANGE: MessageChange = MessageChange::Retry;
    const STATEMENT: &'static Statement = &RETRY;

    async fn choose(
        connection: &mut AnyConnection<'_>,
        selection: &MessageSelection,
        fit: Vec<MessageId>,
    ) -> sqlx::Result<Chosen> {
        let waiting: Vec<Waiting> = connection.rows(&WAITS_FOR, &[(&ids_as_json(&fit)).into()]).await?;
        let mut chosen = Chosen::default();
        for one in waiting {
            let id = MessageId(one.id);
            if let Some(because) = one.refusal(selection) {
                chosen.skipped.push(Skipped { id, because });
            } else {
                chosen.untried += u64::from(!one.tried);
                chosen.fit.push(id);
            }
        }
        chosen.fit.sort_unstable();
        Ok(chosen)
    }
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

impl From<Tally> for Retried {
    fn from(Tally { audit_id, meant, changed, untried, skipped }: Tally) -> Self {
        Self { audit_id, meant, retried: changed, untried, skipped }
    }
}
