//! What is the same for a change of messages that wait: which are meant.

use anyhow::Context;
use clap::Args;
use outbox_desk::{Action, MessageFilter, MessageSelection};
use outbox_schema::MessageId;

use super::filter::FilterArgs;
use super::selection::selection;
use crate::session::{AuthorArgs, Misuse, OutboxAccess};

#[derive(Debug, Args)]
pub(crate) struct WaitingArgs {
    #[command(flatten)]
    pub(super) meant: MeantArgs,
    /// Say what would be changed, and change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct MeantArgs {
    /// The ids of the rows, or their idempotency keys; or a filter instead.
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    /// The idempotency key of one message alone, also where that is a number.
    #[arg(long, conflicts_with = "messages")]
    key: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
}

impl MeantArgs {
    pub(super) async fn into_selection(
        self,
        outbox: &OutboxAccess,
        action: Action,
    ) -> anyhow::Result<MessageSelection> {
        let filter = self.filter.into_filter(outbox)?;
        match self.key {
            Some(_) if filter != MessageFilter::default() => Err(Misuse::new("name either a key or a filter").into()),
            Some(key) => {
                let found = outbox.desk().message_by_key(&key).await?;
                let found = found.with_context(|| format!("no message has the idempotency key `{key}`"))?;
                Ok(MessageSelection::Ids(vec![MessageId(found.id)]))
            }
            None => selection(outbox, &self.messages, filter, action).await,
        }
    }
}
