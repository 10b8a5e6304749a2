//! What a change of messages means that are no dead letters: one message, or all that the filter of the list means.

use maud::{Markup, html};
use outbox_schema::desk::{MESSAGE_GROUPS, MessageFilter, MessageGroup, MessageSelection};
use outbox_schema::{MessageId, Status};

use super::fields::Fields;
use super::messages::PATH;
use super::parts::{message, number, table, text, time};
use crate::admin::api::{Kind, Problem, checked};

/// The field that names one message in place of a filter.
const ID: &str = "id";

/// The messages in `status` that the fields mean.
pub(super) fn selection(meant: &Fields, status: Status) -> Result<MessageSelection, Problem> {
    let selection = match meant.get(ID) {
        Some(id) => {
            let id = id.parse().map_err(|_| Problem::new(Kind::BadRequest, format!("id = {id:?}: no row has it")))?;
            MessageSelection::Ids(vec![MessageId(id)])
        }
        None => MessageSelection::Filter(meant.read::<MessageFilter>()?),
    };
    checked(&selection, status)?;
    Ok(selection)
}

/// The number of messages in groups. There may be groups that were not counted.
pub(super) fn counted(groups: &[MessageGroup]) -> String {
    let at_least = if groups.len() >= MESSAGE_GROUPS { "at least " } else { "" };
    format!("{at_least}{}", number(groups.iter().map(|group| group.count).sum::<u64>()))
}

/// How many messages of a kind there are, with their noun, as in `1 delivered message`.
pub(super) fn counted_messages(groups: &[MessageGroup], kind: &str) -> String {
    let messages = if groups.iter().map(|group| group.count).sum::<u64>() == 1 { "message" } else { "messages" };
    format!("{} {kind} {messages}", counted(groups))
}

/// The groups as a table of this name.
pub(super) fn table_of(groups: &[MessageGroup], name: &str) -> Markup {
    let heading = ["Messages", "Channel", "Destination", "First created", "Last created", "Example"];
    table(name, heading, groups.iter().map(row))
}

fn row(group: &MessageGroup) -> Markup {
    html! {
        th.number scope="row" { (number(group.count)) }
        td { (text(&group.channel)) }
        td.long { (text(&group.destination)) }
        td { (time(&group.first_created)) }
        td { (time(&group.last_created)) }
        td.number { (message(group.example)) }
    }
}

/// Leads back to where the messages were chosen.
pub(super) fn back(meant: &Fields) -> Markup {
    let address = match meant.get(ID) {
        Some(id) => format!("{PATH}/{id}"),
        None => meant.at(PATH),
    };
    html! { p { a href=(address) { "Back" } } }
}
