//! Claims as the suites make them.

use outbox_store::store::due::{Header, RowsToClaim};
use outbox_store::{ChannelTerms, ClaimId, Message, TermId};

use super::{Outbox, seen, terms};

pub(super) async fn claim(
    outbox: &Outbox,
    term: &TermId,
    channels: &[ChannelTerms],
    headers: &[Header],
) -> Vec<Message> {
    let rows = seen(headers);
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows, terms: &terms(channels) };
    outbox.due().claim_rows(term, &request).await.unwrap()
}

/// The rows that the claims hold, in order.
pub(super) async fn held(outbox: &Outbox) -> Vec<i64> {
    let mut held = Vec::new();
    for row in outbox.strings(&["message_ids"], "outbox_claim").await {
        let numbers = row[0].as_deref().unwrap_or_default().trim_matches(|c| "{[]}".contains(c)).to_owned();
        held.extend(numbers.split(',').filter(|id| !id.is_empty()).map(|id| id.trim().parse::<i64>().unwrap()));
    }
    held.sort_unstable();
    held
}
