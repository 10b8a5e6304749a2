//! `outbox messages retry`: makes messages due now that wait for another attempt.

use std::process::ExitCode;

use outbox_desk::{Action, Change};

use super::waiting::WaitingArgs;
use crate::changes::{make, would};
use crate::session::OutboxAccess;

pub(super) async fn retry(outbox: &OutboxAccess, args: WaitingArgs) -> anyhow::Result<ExitCode> {
    let WaitingArgs { meant, dry_run, author, json } = args;
    let change = Change::Retry { selection: meant.into_selection(outbox, Action::Retry).await? };
    if dry_run {
        return would(outbox, &change, json).await;
    }
    make(outbox, &change, &author.into_author(), json).await
}
