//! The names of the tags in use: what somebody may filter by.

use std::collections::BTreeSet;

use outbox_schema::Tags;

use super::error::DeskError;
use super::messages::MessageFilter;
use super::port::Desk;

/// So many of the newest messages show which tags there are.
const NEWEST: u32 = 500;

/// The names of the tags of the newest messages.
///
/// # Errors
/// The messages cannot be read.
pub async fn tag_names(desk: &dyn Desk) -> Result<BTreeSet<String>, DeskError> {
    let newest = desk.messages(&MessageFilter::default(), None, NEWEST).await?;
    let columns = newest.messages.iter().filter_map(|message| message.tags.as_deref());
    let tags = columns.filter_map(|column| serde_json::from_str::<Tags>(column).ok());
    Ok(tags.flat_map(|tags| tags.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()).collect())
}
