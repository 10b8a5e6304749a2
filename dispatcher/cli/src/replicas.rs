//! `outbox replicas`: which replicas run, who polls, and whose settings differ.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;

use super::session::{OutboxAccess, Purpose};
use outbox_config::Config;
use outbox_console::health::replicas::ReplicaStatus;
use outbox_console::text::{Cell, Page, in_one_line, print_as, to_the_second};

#[derive(Debug, Args)]
pub(super) struct ReplicasArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn replicas(config: Config, url: Option<&str>, args: &ReplicasArgs) -> anyhow::Result<ExitCode> {
    let replicas = OutboxAccess::by(&config, url, Purpose::Look).await?.replicas().await?;
    print_as(args.json, replicas.all(), in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(replicas: &[ReplicaStatus]) -> Page {
    if replicas.is_empty() {
        return "no replica runs. (One that stops in good order leaves nothing here: `outbox status` has its terms. Those of 0.1.0 as released say \
                nothing of themselves)".into();
    }
    let mut page = Page::default();
    page.table(["INSTANCE", "ID", "ROLE", "VERSION", "SINCE", "SEEN", "SETTINGS"], replicas.iter().map(row));
    for (store, names) in lease_stores(replicas) {
        page.line(in_one_line(&format!("lease store: {store} ({})", names.join(", "))));
    }
    for replica in replicas.iter().filter(|replica| replica.runs) {
        let name = &replica.replica.row.name;
        if !replica.differs.is_empty() {
            let line = format!("{name} runs by other settings than the poller: {}", replica.differs.join("; "));
            page.line(in_one_line(&line));
        }
        if let Some(refused) = replica.refused() {
            page.line(in_one_line(&format!("{name}: {refused}")));
        }
        if let Some(trouble) = &replica.replica.trouble {
            page.line(in_one_line(&format!("{name}: {trouble}")));
        }
    }
    page
}

/// The lease store of the replicas that run, and where they have several, whose each is.
fn lease_stores(replicas: &[ReplicaStatus]) -> BTreeMap<&str, Vec<&str>> {
    let mut stores = BTreeMap::<_, Vec<_>>::new();
    for replica in replicas.iter().filter(|replica| replica.runs) {
        if let Some(store) = &replica.replica.lease_store {
            stores.entry(store.as_str()).or_default().push(replica.replica.row.name.as_str());
        }
    }
    stores
}

fn row(replica: &ReplicaStatus) -> [Cell; 7] {
    let row = &replica.replica.row;
    let hash = replica.replica.settings_hash.as_deref().unwrap_or("-");
    [
        Cell::name(row.name.clone()),
        Cell::whole(&row.id),
        // Whoever looks for a silent one sees a colour; the column is never clipped, so that names are.
        if replica.is_silent() { Cell::state(role(replica)) } else { Cell::whole(role(replica)) },
        Cell::whole(&row.version),
        Cell::time(to_the_second(&row.started_at)),
        Cell::whole(seen(row.seen_ms)),
        Cell::whole(if replica.differs.is_empty() || !replica.runs { hash.to_owned() } else { format!("{hash} ≠") }),
    ]
}

/// How long ago the replica was seen, in one unit.
fn seen(ms: i64) -> String {
    match ms / 1_000 {
        seconds @ i64::MIN..120 => format!("{seconds} s ago"),
        seconds @ 120..7_200 => format!("{} min ago", seconds / 60),
        seconds @ 7_200.. => format!("{} h ago", seconds / 3_600),
    }
}

/// What the replica does, in a word or two.
fn role(replica: &ReplicaStatus) -> String {
    match (replica.runs, &replica.polls[..]) {
        (false, _) => "gone".to_owned(),
        (true, _) if replica.is_silent() => "silent".to_owned(),
        (true, []) => "follows".to_owned(),
        (true, shards) => {
            let shards: Vec<_> = shards.iter().map(ToString::to_string).collect();
            format!("polls {}", shards.join(", "))
        }
    }
}
