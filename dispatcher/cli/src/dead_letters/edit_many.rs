//! `outbox dead-letters edit` of many messages: each gets the same change, and the operator sees the difference of the
//! first.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use outbox_schema::desk::{Author, Edited};
use outbox_schema::{ByHand, DeadLetterFilter, Desk, MessageId};
use serde::Serialize;

use super::edit::{Change, Planned};
use crate::messages::find;
use crate::session::confirmed;
use outbox_dispatcher::text::{Page, print, print_as};

/// The dead letters of one page.
const PAGE: u32 = 1_000;

/// The most messages that are named where many were left as they are.
const NAMED: usize = 20;

/// The result for all messages.
#[derive(Debug, Default, Serialize)]
struct Done {
    edited: u64,
    /// The messages that the change would not have altered.
    unchanged: u64,
    left: Vec<Unchanged>,
    #[serde(skip)]
    keeps_keys: bool,
}

/// A message that was left as it is.
#[derive(Debug, Serialize)]
struct Unchanged {
    id: MessageId,
    because: String,
}

/// The ids of the dead letters that a filter finds. They are collected before the first edit, since an edit must not
/// change what the filter finds.
pub(super) async fn found(desk: &dyn Desk, filter: &DeadLetterFilter) -> anyhow::Result<Vec<MessageId>> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = desk.dead_letters(filter, after, PAGE).await?;
        ids.extend(page.letters.iter().map(|letter| MessageId(letter.id)));
        after = page.next;
        if after.is_none() {
            ids.sort_unstable();
            return Ok(ids);
        }
    }
}

/// The ids of the messages that the operator names, each by its id or its key.
pub(super) async fn named(desk: &dyn Desk, messages: &[String]) -> anyhow::Result<Vec<MessageId>> {
    let mut ids = Vec::new();
    for message in messages {
        ids.push(MessageId(find(desk, message).await?.id));
    }
    Ok(ids)
}

/// Makes the change to each of `ids`. A message that cannot be changed is left as it is, and the result names it.
pub(super) async fn edit(
    desk: &dyn Desk,
    by_hand: &dyn ByHand,
    change: &Change,
    ids: &[MessageId],
    (yes, json): (bool, bool),
    author: &Author,
) -> anyhow::Result<ExitCode> {
    let mut done = Done { keeps_keys: change.keeps_keys(), ..Done::default() };
    let mut asked = yes && json;
    for id in ids.iter().copied() {
        let planned = match planned(desk, change, id).await? {
            Ok(Planned { difference, .. }) if difference.is_empty() => {
                done.unchanged += 1;
                continue;
            }
            Ok(planned) => planned,
            Err(because) => {
                done.left.push(Unchanged { id, because });
                continue;
            }
        };
        if !asked {
            if !json {
                print(planned.difference.as_str())?;
            }
            let question = format!("write this to message {id}, and the like to the others of {}?", ids.len());
            if !yes && !confirmed(Page::default(), &question)? {
                bail!("nothing was changed");
            }
            asked = true;
        }
        match by_hand.edit(id, planned.revision, &planned.revised, author).await? {
            Edited::Done { .. } => done.edited += 1,
            Edited::Refused(refused) => done.left.push(Unchanged { id, because: refused.because.to_string() }),
        }
    }
    print_as(json, &done, in_words)?;
    Ok(if done.edited == 0 && !done.left.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The plan for a message, or the reason why it cannot be changed.
async fn planned(desk: &dyn Desk, change: &Change, id: MessageId) -> anyhow::Result<Result<Planned, String>> {
    Ok(match desk.message(id).await? {
        Some(before) => change.plan(&before).map_err(|error| error.to_string()),
        None => Err("there is no such message".to_owned()),
    })
}

fn in_words(done: &Done) -> String {
    let key = if done.keeps_keys { "its own" } else { "a new" };
    let mut text = format!("{} edited, each under {key} idempotency key", done.edited);
    if done.unchanged > 0 {
        let _ = write!(text, "\n{} are like that already", done.unchanged);
    }
    for left in done.left.iter().take(NAMED) {
        let _ = write!(text, "\nleft as it is:   {}: {}", left.id, left.because);
    }
    if done.left.len() > NAMED {
        let _ = write!(text, "\nand {} others", done.left.len() - NAMED);
    }
    text
}
