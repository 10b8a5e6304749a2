//! `outbox messages list`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use outbox_desk::{MessageFilter, MessagePage, MessageSummary};
use outbox_schema::MessageId;
use outbox_store::Status;

use super::filter::FilterArgs;
use crate::nearest;
use crate::session::OutboxAccess;
use outbox_console::text::{Cell, Page, print_as, shortened, to_the_second, warning};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox messages list --tag order=4711
  outbox messages list --status pending --attempts 2..   what has failed before and is tried again
  outbox messages list --in-doubt --since 1h             what may have been delivered twice")]
pub(crate) struct ListArgs {
    /// Only in this state: `pending`, `success` or `dead`.
    #[arg(long, ignore_case = true, value_parser = statuses())]
    status: Option<Status>,
    #[command(flatten)]
    filter: FilterArgs,
    /// At most this many. No more than 100,000 rows are looked at for one page.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// From where the last page ended: only of lower ids.
    #[arg(long, value_name = "ID")]
    after: Option<i64>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn list(outbox: &OutboxAccess, args: ListArgs) -> anyhow::Result<()> {
    let ListArgs { status, filter, limit, after, json } = args;
    let filter = MessageFilter { status, ..filter.into_filter(outbox)? };
    let page = outbox.desk().messages(&filter, after.map(MessageId), limit).await?;
    if page.messages.is_empty() && !json {
        for unknown in nearest::of_messages(outbox, &filter).await? {
            warning(&unknown);
        }
    }
    print_as(json, &page, |page| in_words(page, limit))
}

const HEADING: [&str; 11] =
    ["ID", "STATUS", "CHANNEL", "KEY", "TARGET", "TAGS", "TENANT", "ATTEMPTS", "CREATED", "DUE OR DONE", "ERROR"];

/// What a narrow terminal leaves out.
const SPARE: [&str; 4] = ["DUE OR DONE", "CHANNEL", "ATTEMPTS", "CREATED"];

fn in_words(found: &MessagePage, limit: u32) -> Page {
    let mut page = Page::default();
    if found.messages.is_empty() {
        page.line("no such messages");
    } else {
        page.filled(HEADING, found.messages.iter().map(row).collect(), &SPARE);
    }
    match found.next {
        Some(next) if found.messages.len() < limit as usize => {
            page.line(format!("{} rows were looked at; more with --after {next}", found.looked_at));
        }
        Some(next) => page.line(format!("more with --after {next}")),
        None => {}
    }
    page
}

fn row(message: &MessageSummary) -> [Cell; 11] {
    let more = match (&message.dead_reason, message.replay_of) {
        (Some(reason), _) => format!(" ({reason})"),
        (None, Some(original)) => format!(" (replay of {original})"),
        (None, None) => String::new(),
    };
    [
        Cell::whole(message.id),
        Cell::state(format!("{}{more}", message.status)),
        message.channel.clone().into(),
        Cell::name(&message.idempotency_key),
        shortened(&message.target, 40).into(),
        Cell::tags(message.tags.as_deref()),
        message.tenant.clone().unwrap_or_default().into(),
        Cell::whole(message.attempts),
        Cell::time(to_the_second(&message.created_at)),
        Cell::time(to_the_second(message.finished_at.as_ref().unwrap_or(&message.available_at))),
        shortened(message.last_error.as_deref().unwrap_or(""), 200).into(),
    ]
}

/// The states by name, in letters large or small. Named so that a shell can complete them.
fn statuses() -> impl TypedValueParser<Value = Status> {
    PossibleValuesParser::new(["pending", "success", "dead"]).try_map(|word| {
        let found = Status::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(&word));
        found.ok_or("no state is called so")
    })
}
