//! The messages that a change means: by name, or by a filter.

use outbox_console::text::{Cell, Page};
use outbox_desk::{Action, MessageFilter, MessageGroup, MessageSelection};

use super::ids_of;
use crate::session::{Misuse, OutboxAccess};

/// What the operator selects: messages by name, or a filter.
pub(super) async fn selection(
    outbox: &OutboxAccess,
    messages: &[String],
    filter: MessageFilter,
    action: Action,
) -> anyhow::Result<MessageSelection> {
    let filtered = filter != MessageFilter::default();
    let selection = match (messages.is_empty(), filtered) {
        (false, false) => MessageSelection::Ids(ids_of(outbox.desk().as_ref(), messages).await?),
        (true, true) => MessageSelection::Filter(filter),
        (true, false) => return Err(Misuse::new("name messages, or a filter such as --channel and --since").into()),
        (false, true) => return Err(Misuse::new("name either messages or a filter").into()),
    };
    selection.check(action).map_err(Misuse::new)?;
    Ok(selection)
}

/// The groups as a table. Nothing where there are none.
pub(crate) fn table_of(groups: &[MessageGroup]) -> Page {
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
