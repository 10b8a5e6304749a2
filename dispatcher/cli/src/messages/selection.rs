//! The messages that a change means: by name, or by a filter.

use std::process::ExitCode;

use outbox_console::text::{Cell, Page, warning};
use outbox_schema::desk::{MESSAGE_GROUPS, MessageChange, MessageFilter, MessageGroup, MessageSelection};

use super::ids_of;
use crate::nearest::{self, NOTHING_MATCHED};
use crate::pace::Count;
use crate::session::{Misuse, OutboxAccess};

/// What the operator selects: messages by name, or a filter.
pub(super) async fn selection(
    outbox: &OutboxAccess,
    messages: &[String],
    filter: MessageFilter,
    change: MessageChange,
) -> anyhow::Result<MessageSelection> {
    let filtered = filter != MessageFilter::default();
    let selection = match (messages.is_empty(), filtered) {
        (false, false) => MessageSelection::Ids(ids_of(outbox.desk().as_ref(), messages).await?),
        (true, true) => MessageSelection::Filter(filter),
        (true, false) => return Err(Misuse::new("name messages, or a filter such as --channel and --since").into()),
        (false, true) => return Err(Misuse::new("name either messages or a filter").into()),
    };
    selection.check(change).map_err(Misuse::new)?;
    Ok(selection)
}

/// The exit status. Where a filter found nothing, says which of its names are unknown.
pub(super) async fn over(
    outbox: &OutboxAccess,
    selection: &MessageSelection,
    meant: u64,
    otherwise: ExitCode,
) -> anyhow::Result<ExitCode> {
    match selection {
        MessageSelection::Filter(filter) if meant == 0 => {
            nearest::of_messages(outbox, filter).await?.iter().for_each(|unknown| warning(unknown));
            Ok(ExitCode::from(NOTHING_MATCHED))
        }
        MessageSelection::Filter(_) | MessageSelection::Ids(_) => Ok(otherwise),
    }
}

/// The number of messages in groups.
pub(super) fn counted(groups: &[MessageGroup]) -> Count {
    let counted = groups.iter().map(|group| group.count).sum();
    Count { counted, more: groups.len() >= MESSAGE_GROUPS }
}

/// The groups as a table. Nothing where there are none.
pub(super) fn table_of(groups: &[MessageGroup]) -> Page {
    let mut text = Page::default();
    if !groups.is_empty() {
        let heading = ["COUNT", "CHANNEL", "DESTINATION", "FIRST CREATED", "LAST CREATED", "EXAMPLE"];
        let rows = groups.iter().map(|group| {
            [
                Cell::whole(group.count),
                group.channel.clone().into(),
                group.destination.clone().into(),
                Cell::time(&group.first_created),
                Cell::time(&group.last_created),
                Cell::whole(group.example),
            ]
        });
        text.table(heading, rows);
        text.blank();
    }
    text
}
