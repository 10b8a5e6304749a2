//! `outbox messages replay`: sends again what was delivered.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use outbox_dispatcher::text::{Cell, Page, print_as, warning};
use outbox_schema::desk::{
    DELIVERED_GROUPS, DeliveredGroup, DeliveredSelection, MessageFilter, Pace, ReplayManner, Replayed,
};

use super::filter::FilterArgs;
use super::ids_of;
use crate::nearest::{self, NOTHING_MATCHED};
use crate::pace::{Count, PaceArgs, changed_of, ended, go_on, left};
use crate::progress::LongChange;
use crate::session::{AuthorArgs, Misuse, OutboxAccess};

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The ids of the rows, or their idempotency keys; or a filter instead.
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    manner: MannerArgs,
    /// Say what would be replayed, and change nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pace: PaceArgs,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct MannerArgs {
    /// Send each under a new idempotency key: for a receiver that remembers the old one and would not look again.
    #[arg(long)]
    new_key: bool,
    /// Also those that were replayed before. Without it a command can be repeated, and sends nothing twice.
    #[arg(long)]
    again: bool,
}

pub(super) async fn replay(outbox: &OutboxAccess, args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let pace = Pace::from(args.pace);
    let selection = selection(outbox, &args.messages, args.filter).await?;
    if args.dry_run {
        let found = outbox.desk().delivered_groups(&selection).await?;
        print_as(args.json, &found[..], |found| would(found, pace))?;
        return over(outbox, &selection, found.len() as u64, ExitCode::SUCCESS).await;
    }
    let follow = LongChange::new("replay", "replayed", |id| format!("take back: outbox messages undo {id}"));
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let MannerArgs { new_key, again } = args.manner;
    let manner = ReplayManner { new_key, again, pace };
    let (done, stopped) = match follow.through(by_hand.replay_watched(&selection, manner, &author, &tell)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(args.json, &done, |done| replayed(done, stopped.is_some()))?;
    let otherwise = stopped.unwrap_or_else(|| ended(done.replayed, &done.skipped));
    over(outbox, &selection, done.meant, otherwise).await
}

/// What the operator selects: messages by name, or a filter.
async fn selection(
    outbox: &OutboxAccess,
    messages: &[String],
    filter: FilterArgs,
) -> anyhow::Result<DeliveredSelection> {
    let filter = filter.into_filter(outbox)?;
    let filtered = filter != MessageFilter::default();
    let selection = match (messages.is_empty(), filtered) {
        (false, false) => DeliveredSelection::Ids(ids_of(outbox.desk().as_ref(), messages).await?),
        (true, true) => DeliveredSelection::Filter(filter),
        (true, false) => return Err(Misuse::new("name messages, or a filter such as --channel and --since").into()),
        (false, true) => return Err(Misuse::new("name either messages or a filter").into()),
    };
    selection.check().map_err(Misuse::new)?;
    Ok(selection)
}

/// The exit status. Where a filter found nothing, says which of its names are unknown.
async fn over(
    outbox: &OutboxAccess,
    selection: &DeliveredSelection,
    meant: u64,
    otherwise: ExitCode,
) -> anyhow::Result<ExitCode> {
    match selection {
        DeliveredSelection::Filter(filter) if meant == 0 => {
            nearest::of_messages(outbox, filter).await?.iter().for_each(|unknown| warning(unknown));
            Ok(ExitCode::from(NOTHING_MATCHED))
        }
        DeliveredSelection::Filter(_) | DeliveredSelection::Ids(_) => Ok(otherwise),
    }
}

fn would(groups: &[DeliveredGroup], pace: Pace) -> Page {
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
    let counted = groups.iter().map(|group| group.count).sum();
    let count = Count { counted, more: groups.len() >= DELIVERED_GROUPS };
    text.line(format!("{}; nothing was changed", count.would_be("replayed", pace)));
    text
}

fn replayed(done: &Replayed, stopped: bool) -> String {
    let mut text = changed_of(done.replayed, done.meant, "replayed");
    if let Some(example) = done.replays.first() {
        let _ = write!(text, "\nlook at one:     outbox messages show {}", example.id);
    }
    text += &go_on(done.meant, done.replayed, &done.skipped, stopped);
    if let (Some(id), 1..) = (done.audit_id, done.replayed) {
        let _ = write!(text, "\ntake back:       outbox messages undo {id}");
    }
    text + &left(&done.skipped)
}
