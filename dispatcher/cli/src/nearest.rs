//! What a filter that finds nothing may have meant: the nearest channel, destination or fingerprint that there is.

use std::collections::BTreeSet;
use std::process::ExitCode;

use outbox_console::configured::nearest;
use outbox_console::text::warning;
use outbox_desk::{
    Change, DeadLetterFilter, Desk, DeskError, MessageFilter, MessageSelection, Moment, Selection, tag_names,
};
use outbox_schema::Tags;

use crate::session::OutboxAccess;

/// The exit status of a change whose filter found nothing.
pub(super) const NOTHING_MATCHED: u8 = 3;

/// What may stand before a device's token in a target: docs/fcm.md.
const TOKEN: &str = "token:";

/// The exit status of a change that found so many messages. Where its filter found none, says which of its names are unknown.
pub(super) async fn ended(
    outbox: &OutboxAccess,
    change: &Change,
    meant: u64,
    otherwise: ExitCode,
) -> anyhow::Result<ExitCode> {
    if meant > 0 {
        return Ok(otherwise);
    }
    let (unknown, is_filtered) = match change {
        Change::Redrive { selection, .. } | Change::Edit { selection, .. } | Change::Purge { selection } => {
            let unfiltered = Selection::Filter(DeadLetterFilter::default());
            let is_filtered = matches!(selection, Selection::Filter(_)) && *selection != unfiltered;
            (of_dead_letters(outbox, selection).await?, is_filtered)
        }
        Change::Replay { selection: MessageSelection::Filter(filter), .. }
        | Change::Cancel { selection: MessageSelection::Filter(filter) }
        | Change::Retry { selection: MessageSelection::Filter(filter) } => (of_messages(outbox, filter).await?, true),
        Change::Replay { .. }
        | Change::Cancel { .. }
        | Change::Retry { .. }
        | Change::Undo { .. }
        | Change::Prune { .. } => (Vec::new(), false),
    };
    for unknown in unknown {
        warning(&unknown);
    }
    Ok(if is_filtered { ExitCode::from(NOTHING_MATCHED) } else { otherwise })
}

/// Says about a filter of messages that found nothing which of its names are unknown.
pub(super) async fn of_messages(outbox: &OutboxAccess, filter: &MessageFilter) -> Result<Vec<String>, DeskError> {
    let names =
        Names { channel: filter.channel.as_deref(), destination: filter.destination.as_deref(), fingerprint: None };
    let mut said = names.unknown(outbox).await?;
    said.extend(turned_round(filter.since, filter.until));
    if let Some(target) = &filter.target {
        said.extend(other_spelling(outbox, filter, target).await?);
    }
    said.extend(unknown_tags(outbox, &filter.tags).await?);
    Ok(said)
}

/// The names of tags that none of the newest messages has.
async fn unknown_tags(outbox: &OutboxAccess, tags: &Tags) -> Result<Vec<String>, DeskError> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let known = tag_names(outbox.desk().as_ref()).await?;
    let mut said: Vec<_> = tags.iter().filter_map(|(name, _)| unknown("tag", name, &known)).collect();
    if !said.is_empty() && !known.is_empty() {
        said.push(format!("the newest messages have the tags {}", known.into_iter().collect::<Vec<_>>().join(", ")));
    }
    Ok(said)
}

/// A device of FCM is a target with `token:` before it, or without. What a filter finds under the other spelling is told.
async fn other_spelling(
    outbox: &OutboxAccess,
    filter: &MessageFilter,
    target: &str,
) -> Result<Option<String>, DeskError> {
    let other = match target.strip_prefix(TOKEN) {
        Some(bare) => bare.to_owned(),
        None => format!("{TOKEN}{target}"),
    };
    let meant = MessageFilter { target: Some(other.clone()), ..filter.clone() };
    let found = outbox.desk().messages(&meant, None, 1).await?;
    Ok((!found.messages.is_empty()).then(|| format!("no row has the target {target:?}; did you mean {other}?")))
}

/// The same about a selection of dead letters.
pub(super) async fn of_dead_letters(outbox: &OutboxAccess, selection: &Selection) -> Result<Vec<String>, DeskError> {
    let Selection::Filter(filter) = selection else { return Ok(Vec::new()) };
    let names = Names {
        channel: filter.channel.as_deref(),
        destination: filter.destination.as_deref(),
        fingerprint: filter.fingerprint.as_deref(),
    };
    let mut said = names.unknown(outbox).await?;
    said.extend(turned_round(filter.since, filter.until));
    said.extend(unknown_tags(outbox, &filter.tags).await?);
    Ok(said)
}

/// Says of a time whose end lies before its beginning that nothing lies between.
pub(super) fn turned_round(since: Option<Moment>, until: Option<Moment>) -> Option<String> {
    let (since, until) = (since?, until?);
    until.is_before(since).then(|| "nothing lies between: --until is earlier than --since".to_owned())
}

/// The same about the name of a channel.
pub(super) async fn of_channel(outbox: &OutboxAccess, name: &str) -> Result<Vec<String>, DeskError> {
    Names { channel: Some(name), destination: None, fingerprint: None }.unknown(outbox).await
}

/// The names in a filter that somebody may have misspelt.
struct Names<'a> {
    channel: Option<&'a str>,
    destination: Option<&'a str>,
    fingerprint: Option<&'a str>,
}

impl Names<'_> {
    async fn unknown(&self, outbox: &OutboxAccess) -> Result<Vec<String>, DeskError> {
        let mut said = Vec::new();
        let desk = outbox.desk();
        if self.channel.is_some() || self.fingerprint.is_some() {
            let groups = desk.dead_groups(&Selection::Filter(DeadLetterFilter::default())).await?;
            if let Some(name) = self.channel {
                let mut known: BTreeSet<_> = outbox.channels().into_iter().collect();
                known.extend(desk.vitals(&[]).await?.channels.into_iter().map(|channel| channel.channel));
                known.extend(groups.iter().map(|group| group.channel.clone()));
                said.extend(unknown("channel", name, &known));
            }
            if let Some(name) = self.fingerprint {
                said.extend(unknown("fingerprint", name, &groups.into_iter().map(|group| group.fingerprint).collect()));
            }
        }
        if let Some(name) = self.destination {
            said.extend(unknown("destination", name, &destinations(desk.as_ref()).await?));
        }
        Ok(said)
    }
}

/// The destinations that the outbox remembers, and those of its last dead letters.
async fn destinations(desk: &dyn Desk) -> Result<BTreeSet<String>, DeskError> {
    const LAST: u32 = 1_000;
    let remembered = desk.destinations(true).await?.into_iter().map(|entry| entry.destination);
    let dead = desk.dead_letters(&DeadLetterFilter::default(), &[], None, LAST).await?.letters;
    Ok(remembered.chain(dead.into_iter().map(|letter| letter.destination)).collect())
}

fn unknown(what: &str, name: &str, known: &BTreeSet<String>) -> Option<String> {
    if known.contains(name) {
        return None;
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    Some(format!("no {what} {name:?} is known here{meant}"))
}
