//! `outbox dead-letters edit`: shows the difference, asks the operator, and writes the change.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use outbox_desk::{Author, ByHand, DeadLetterFilter, Edited, MoveTarget, Selection};

use super::edit_many;
use super::filter::FilterArgs;
use crate::enqueue::header;
use crate::messages::{find, ids_of};
use crate::session::{AuthorArgs, Misuse, OutboxAccess, confirmed, read};
use outbox_config::Config;
use outbox_console::edit::{Planned, Wanted};
use outbox_console::examine::refusal;
use outbox_console::text::{Page, print, print_as};

/// The error for a --move-target that can be split in several places.
const AMBIGUOUS: &str = "it is ambiguous: of several = exactly one must be directly before http://, https:// or /; \
     leave queries out, or edit the messages one by one with --target";

/// What stands below the reason for which an edit is not written.
const ADVICE: &str =
    "nothing was changed: it would be a dead letter again by the settings here. With --force it is written";

#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("change").required(true).multiple(true),
    override_usage = "outbox dead-letters edit <CHANGE>... [OPTIONS] [MESSAGE]...",
    after_long_help = "\
Examples:
  outbox dead-letters edit 4711 --payload body.json      another body, under a new key
  outbox dead-letters edit --channel http --move-target http://old.example=https://new.example
  outbox dead-letters edit --status-code 401 --header 'X-Version: 2' --keep-key

Nothing is sent: dead-letters redrive sends what was edited."
)]
pub(crate) struct EditArgs {
    /// The ids of the rows, or their idempotency keys; or a filter instead.
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Only those that have this target before the edit.
    #[arg(long, value_name = "TARGET")]
    old_target: Option<String>,
    /// The new payload of one message: a file of JSON text (- for standard input, with --yes).
    #[arg(long, value_name = "FILE", group = "change")]
    payload: Option<PathBuf>,
    /// The new target.
    #[arg(long, group = "change")]
    target: Option<String>,
    /// Where targets begin with FROM, let them begin with TO. Where there is more than one =, it is split at the one
    /// before http://, https:// or /.
    #[arg(long, value_name = "FROM=TO", value_parser = move_of_targets, group = "change", conflicts_with = "target")]
    move_target: Option<(String, String)>,
    /// A header to add or to set. May be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header, group = "change")]
    headers: Vec<(String, String)>,
    /// A header to take away. May be repeated.
    #[arg(long = "drop-header", value_name = "NAME", group = "change")]
    drop_headers: Vec<String>,
    /// Keep the idempotency key, so that receivers recognise the message. Only where the payload stays as it is.
    #[arg(long, conflicts_with = "payload")]
    keep_key: bool,
    #[command(flatten)]
    without: WithoutArgs,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON, without the difference.
    #[arg(long)]
    json: bool,
}

/// What an edit is made without.
#[derive(Debug, Args)]
struct WithoutArgs {
    /// Write also what would be a dead letter again by the settings here. A replica (`--url`) judges by its own, whatever this says.
    #[arg(long)]
    force: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

pub(super) async fn edit(config: &Config, outbox: &OutboxAccess, args: EditArgs) -> anyhow::Result<ExitCode> {
    let EditArgs { messages, filter, payload, target, move_target, headers, drop_headers, .. } = args;
    let EditArgs { old_target, keep_key, without: WithoutArgs { force, yes }, author, json, .. } = args;
    if !yes && payload.as_deref() == Some(Path::new("-")) {
        return Err(
            Misuse::new("the payload comes from standard input, so nobody can be asked there: say --yes").into()
        );
    }
    let filter = filter.into_filter(outbox, old_target)?;
    let filtered = filter != DeadLetterFilter::default();
    if messages.is_empty() != filtered {
        return Err(Misuse::new("name the messages, or a filter such as --fingerprint: one of the two").into());
    }
    if payload.is_some() && messages.len() != 1 {
        return Err(Misuse::new("a payload is that of one message: edit them one by one").into());
    }
    let payload = payload.as_deref().map(read).transpose()?;
    let move_target = move_target.map(|(from, to)| MoveTarget { from, to });
    let of_any = outbox_desk::ContentEdit {
        target,
        move_target,
        headers: headers.into_iter().collect(),
        drop_headers,
        keep_key,
    };
    let change = Wanted { payload, of_any };
    let author = author.into_author();
    // A replica that is asked judges by its own settings.
    let judge = match outbox {
        OutboxAccess::Database(..) if !force => Some(config),
        OutboxAccess::Database(..) | OutboxAccess::Replica(_) => None,
    };
    match &messages[..] {
        [message] => {
            let before = find(outbox.desk().as_ref(), message).await?;
            let planned = change.plan(&before)?;
            if let Some(config) = judge
                && let Some(why) = refusal(config, &before.channel, &planned.revised)
            {
                bail!("{why}\n{ADVICE}");
            }
            one(outbox.by_hand().as_ref(), planned, yes, json, &author).await
        }
        named => {
            let selection = if filtered {
                Selection::Filter(filter)
            } else {
                Selection::Ids(ids_of(outbox.desk().as_ref(), named).await?)
            };
            if let Some(config) = judge {
                let desk = outbox.desk();
                let groups = desk.dead_groups(&selection).await?;
                if let Some(why) = change.refusal(config, desk.as_ref(), &groups).await? {
                    bail!("{why}\n{ADVICE}");
                }
            }
            edit_many::edit(outbox, &change, &selection, (yes, json), &author).await
        }
    }
}

async fn one(
    by_hand: &dyn ByHand,
    planned: Planned,
    yes: bool,
    json: bool,
    author: &Author,
) -> anyhow::Result<ExitCode> {
    let Planned { id, revision, revised, difference } = planned;
    if difference.is_empty() {
        bail!("nothing would be different");
    }
    if !json {
        print(difference)?;
    }
    let key = if revised.keeps_key() { "its own" } else { "a new" };
    if !yes && !confirmed(Page::default(), &format!("write this to message {id}, under {key} idempotency key?"))? {
        bail!("nothing was changed");
    }
    let edited = by_hand.edit(id, revision, &revised, author).await?;
    match &edited {
        Edited::Done { .. } => print_as(json, &edited, in_words).map(|()| ExitCode::SUCCESS),
        Edited::Refused(refused) => bail!("message {} was not changed: {}", refused.id, refused.because),
    }
}

fn in_words(edited: &Edited) -> String {
    match edited {
        Edited::Done { id, old_key, new_key } if old_key == new_key => format!(
            "message {id} is changed, and keeps its idempotency key {new_key}\n\
             send it again:   outbox dead-letters redrive {id}"
        ),
        Edited::Done { id, old_key, new_key } => format!(
            "message {id} is changed; its idempotency key was {old_key} and is {new_key}\n\
             send it again:   outbox dead-letters redrive {id}"
        ),
        Edited::Refused(refused) => refused.because.to_string(),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err("it has no =".to_owned()),
    }
}

/// FROM and TO of a --move-target. A URL may hold a = in its query. So the right place to split is worked out, and an
/// ambiguous text is an error.
fn move_of_targets(text: &str) -> Result<(String, String), String> {
    let (from, to) = match text.matches('=').count() {
        0 | 1 => pair(text)?,
        _ => split_before_target(text)?,
    };
    if from.is_empty() {
        return Err("there is nothing before the =, and every target begins with nothing".to_owned());
    }
    Ok((from, to))
}

fn split_before_target(text: &str) -> Result<(String, String), String> {
    let begins = |rest: &str| ["http://", "https://", "/"].iter().any(|start| rest.starts_with(start));
    let splits = text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let splits: Vec<_> = splits.filter(|(_, rest)| begins(rest)).collect();
    match splits[..] {
        [(from, to)] => Ok((from.trim().to_owned(), to.trim().to_owned())),
        _ => Err(AMBIGUOUS.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_split_where_the_new_beginning_begins() {
        for (text, from, to) in [
            ("http://a/v1/=http://a/v2/", "http://a/v1/", "http://a/v2/"),
            ("token-1=token-2", "token-1", "token-2"),
            ("http://a/?shop=1=https://b/?shop=2", "http://a/?shop=1", "https://b/?shop=2"),
            ("/hook?shop=1=/other", "/hook?shop=1", "/other"),
        ] {
            assert_eq!(move_of_targets(text), Ok((from.to_owned(), to.to_owned())));
        }
    }

    #[test]
    fn a_move_that_is_ambiguous_is_refused() {
        for text in ["http://a/?next=/b=/c", "/a?b=1=c", "/a = /b?c=1", "http://a/?next=http://b/=http://c/"] {
            assert!(move_of_targets(text).is_err_and(|why| why.contains("ambiguous")), "{text}");
        }
    }

    #[test]
    fn a_move_from_nothing_or_without_an_equals_sign_is_refused() {
        for text in ["=http://a/", " =http://a/", "=/a?shop=1"] {
            assert!(move_of_targets(text).is_err_and(|why| why.contains("nothing before the =")), "{text}");
        }
        assert_eq!(move_of_targets("http://a/"), Err("it has no =".to_owned()));
    }
}
