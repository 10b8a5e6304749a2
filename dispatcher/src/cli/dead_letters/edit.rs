//! `outbox dead-letters edit`: shows what would be different, asks, and writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use outbox_schema::desk::{Edited, MessageRecord, Revised};
use outbox_schema::{ByHand, Desk, MessageId};

use crate::cli::diff::{difference, indented};
use crate::cli::messages::find;
use crate::cli::session::{AuthorArgs, Misuse, confirmed, read};
use crate::cli::text::{print, print_as};

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub(in crate::cli) struct EditArgs {
    /// The id of the row, or its idempotency key.
    message: String,
    /// The new payload: a file of JSON text (- for standard input, with --yes).
    #[arg(long, value_name = "FILE", group = "change")]
    payload: Option<PathBuf>,
    /// The new target.
    #[arg(long, group = "change")]
    target: Option<String>,
    /// A header to add or to set. May be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header, group = "change")]
    headers: Vec<(String, String)>,
    /// A header to take away. May be repeated.
    #[arg(long = "drop-header", value_name = "NAME", group = "change")]
    drop_headers: Vec<String>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON, without the difference.
    #[arg(long)]
    json: bool,
}

pub(super) async fn edit(desk: &dyn Desk, by_hand: &dyn ByHand, args: EditArgs) -> anyhow::Result<ExitCode> {
    if !args.yes && args.payload.as_deref() == Some(Path::new("-")) {
        return Err(
            Misuse::new("the payload comes from standard input, so nobody can be asked there: say --yes").into()
        );
    }
    let before = find(desk, &args.message).await?;
    if before.status != "DEAD" {
        bail!("message {} is {}: only dead letters are edited", before.id, before.status);
    }
    let target = args.target.as_deref().unwrap_or(&before.target);
    let payload = match &args.payload {
        Some(file) => read(file)?,
        None => before.payload.clone(),
    };
    let headers = headers(&before, &args.headers, &args.drop_headers)?;
    let changes =
        difference(&shown(&before.target, &before.payload, &headers_of(&before)?), &shown(target, &payload, &headers));
    let revised = Revised::new(&before.channel, target, payload.trim(), headers)?;
    if changes.is_empty() {
        bail!("nothing would be different");
    }
    if !args.json {
        print(&changes)?;
    }
    if !args.yes && !confirmed(&format!("write this to message {}, under a new idempotency key?", before.id))? {
        bail!("nothing was changed");
    }
    let edited = by_hand.edit(MessageId(before.id), before.revision, &revised, &args.author.into_author()).await?;
    match &edited {
        Edited::Done { .. } => print_as(args.json, &edited, in_words).map(|()| ExitCode::SUCCESS),
        Edited::Refused(refused) => bail!("message {} was not changed: {}", refused.id, refused.because),
    }
}

fn in_words(edited: &Edited) -> String {
    match edited {
        Edited::Done { id, old_key, new_key } => format!(
            "message {id} is changed; its idempotency key was {old_key} and is {new_key}\n\
             send it again:   outbox dead-letters redrive {id}"
        ),
        Edited::Refused(refused) => refused.because.to_string(),
    }
}

fn headers_of(message: &MessageRecord) -> anyhow::Result<BTreeMap<String, String>> {
    let text = message.headers.as_deref().unwrap_or("{}");
    let headers: Option<_> = serde_json::from_str(text).context("the headers of the row are not an object of texts")?;
    Ok(headers.unwrap_or_default())
}

fn headers(
    before: &MessageRecord,
    set: &[(String, String)],
    dropped: &[String],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut headers = headers_of(before)?;
    for name in dropped {
        let length = headers.len();
        headers.retain(|header, _| !header.eq_ignore_ascii_case(name));
        if headers.len() == length {
            bail!("the message has no header {name}");
        }
    }
    for (name, value) in set {
        // The name of a header is the same in letters large and small.
        headers.retain(|header, _| !header.eq_ignore_ascii_case(name));
        headers.insert(name.clone(), value.clone());
    }
    Ok(headers)
}

/// What of a message can be edited, as lines.
fn shown(target: &str, payload: &str, headers: &BTreeMap<String, String>) -> String {
    let mut text = format!("target {target}\n");
    for (name, value) in headers {
        let _ = writeln!(text, "header {name}: {value}");
    }
    text + "payload\n" + &indented(payload.trim()) + "\n"
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err("write it as NAME=VALUE".to_owned()),
    }
}
