//! `outbox messages cancel`: makes messages that wait dead letters, `cancelled`.

use std::process::ExitCode;

use anyhow::bail;
use outbox_console::text::print_as;
use outbox_desk::{Action, Author, Cancelled, Change, MessageSelection};
use outbox_schema::MessageId;

use super::waiting::WaitingArgs;
use crate::changes::{make, would};
use crate::session::OutboxAccess;

pub(super) async fn cancel(outbox: &OutboxAccess, args: WaitingArgs) -> anyhow::Result<ExitCode> {
    let WaitingArgs { meant, dry_run, author, json } = args;
    let (selection, author) = (meant.into_selection(outbox, Action::Cancel).await?, author.into_author());
    match &selection {
        MessageSelection::Ids(ids) if ids.len() == 1 && !dry_run => one(outbox, ids[0], &author, json).await,
        _ if dry_run => would(outbox, &Change::Cancel { selection }, json).await,
        _ => make(outbox, &Change::Cancel { selection }, &author, json).await,
    }
}

async fn one(outbox: &OutboxAccess, id: MessageId, author: &Author, json: bool) -> anyhow::Result<ExitCode> {
    let cancelled = outbox.by_hand().cancel(id, author).await?;
    if let Cancelled::Refused(refused) = &cancelled {
        bail!("message {} was not cancelled: {}", refused.id, refused.because);
    }
    print_as(json, &cancelled, |_| format!("message {id} is cancelled"))?;
    Ok(ExitCode::SUCCESS)
}
