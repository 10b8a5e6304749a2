//! `outbox demo`: the whole path of a message on this machine, with nothing to install.
//!
//! A shop writes orders and messages, three replicas deliver them, and the poller is killed on the way. At the end the
//! demo compares three accounts: what the shop committed, what the tables say, and what the receiver counted.

mod audit;
mod crash;
pub mod fcm;
mod fleet;
mod ledger;
mod manner;
mod receiver;
mod report;
mod shop;
mod stage;
mod tables;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use outbox_store::{ConnectOptions, DEFAULT_ENVIRONMENT, Database};
use sqlx::Connection;

use self::audit::{Accounts, audit};
use self::fleet::Fleet;
use self::receiver::Receiver;
use self::report::seconds;
use self::stage::Stage;
use self::tables::Tables;
use outbox_console::text::{Page, print};
use outbox_dispatcher::signals::stopped;

/// The longest time for all deliveries once the fleet runs. They take about 15 s.
const LIMIT: Duration = Duration::from_secs(90);

/// How often the demo looks how many messages are pending.
const LOOK: Duration = Duration::from_millis(100);

/// How often the demo prints how many messages are pending.
const SAY: Duration = Duration::from_secs(2);

/// See it work: an outbox in SQLite, three replicas, a receiver and a kill -9, with nothing to install.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DemoArgs {
    /// Where the database, the settings and the logs are left behind [default: a new temporary directory].
    #[arg(long, value_name = "DIR")]
    keep_dir: Option<PathBuf>,
    /// Go on afterwards, with three new replicas whose page shows what happened, until Ctrl-C.
    #[arg(long)]
    stay: bool,
    #[command(subcommand)]
    command: Option<DemoCommand>,
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    /// Only a receiver: takes webhooks at any path, and shows at / what it counted.
    ///
    /// The first word of the path says how it answers: `busy` (503, then 200), `gone` (410), `refusing` (400),
    /// `broken` (500), anything else 200. It keeps every idempotency key in memory.
    Receiver {
        /// Address to listen on.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        /// Print each request, with its headers and the beginning of its body.
        #[arg(long)]
        show: bool,
    },
    /// Only a stand-in for FCM and for Google's token endpoint, as strict as they are. docs/fcm.md.
    ///
    /// It writes a key file and the certificate of its authority, and prints the channel that uses them.
    Fcm(fcm::FcmArgs),
}

/// Runs the demo, or its receiver. No process that it started outlives it, also after an error.
pub async fn demo(args: DemoArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(DemoCommand::Receiver { listen, show }) => {
            tokio::select! {
                served = receiver::serve(listen, show) => served?,
                stopped = stopped() => stopped?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(DemoCommand::Fcm(args)) => {
            let _stand_in = fcm::serve(args)?;
            stopped().await?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let stage = Stage::set(args.keep_dir)?;
            let left = || format!("the demo broke off; what there is of it: {}", stage.directory.display());
            let played = tokio::select! {
                played = play(&stage) => played.with_context(left)?,
                stopped = stopped() => { stopped?; bail!(left()) }
            };
            if args.stay {
                stay(&stage).await?;
            }
            Ok(played.code)
        }
    }
}

/// Prints each event of the demo, with the time since its beginning.
struct Progress(Instant);

impl Progress {
    fn say(&self, text: &str) -> io::Result<()> {
        print(format!("{:>6}  {text}", seconds(self.0.elapsed())))
    }
}

/// What is there after the demo.
struct Played {
    code: ExitCode,
    /// Takes what is redriven by hand.
    _receiver: Receiver,
}

/// Three new replicas show what happened, until the demo is stopped.
async fn stay(stage: &Stage) -> anyhow::Result<()> {
    let mut fleet = Fleet::start(&stage.config(), &stage.directory).await?;
    print(format!("\nThree replicas run on. Their page: {}\nCtrl-C ends them.", fleet.page().await?))?;
    stopped().await?;
    fleet.stop().await
}

async fn play(stage: &Stage) -> anyhow::Result<Played> {
    let (began, progress) = (SystemTime::now(), Progress(Instant::now()));
    migrate(stage).await?;
    let mut shop = shop::open(stage).await?;
    progress.say(&format!("a SQLite database with an outbox and a table of orders: {}", stage.database().display()))?;

    let receiver = Receiver::start(progress.0).await?;
    stage.write_settings(receiver.address)?;
    progress.say(&format!("a receiver on {} stands in for FCM and for a webhook", receiver.address))?;

    let sold = shop::sell(&mut shop).await?;
    progress.say(&format!(
        "{} orders committed, each with its messages in one transaction; {} rolled back",
        sold.orders, sold.orders_rolled_back
    ))?;

    let mut fleet = Fleet::start(&stage.config(), &stage.directory).await?;
    progress.say(&format!("three replicas started: {}", fleet.roll()))?;
    progress.say(&format!("a page of theirs, while they run: {}", fleet.page().await?))?;

    let tables = Tables::open(stage).await?;
    let crash = crash::kill_poller(&mut fleet, &tables, &receiver, sold.committed.len() / 3).await?;
    progress.say(&format!(
        "kill -9 of the poller, {} (pid {}, epoch {}), with {} requests on the wire",
        crash.name, crash.pid, crash.epoch, crash.open
    ))?;
    let (epoch, name) = crash::next_poller(&mut fleet, &tables, &crash).await?;
    progress.say(&format!("{name} polls, in epoch {epoch}, {} after the crash", seconds(crash.at.elapsed())))?;

    finish(&mut fleet, &tables, sold.committed.len(), &progress).await?;
    fleet.stop().await?;
    progress.say("nothing is pending; the fleet is stopped")?;

    let (messages, doubts, terms) = (tables.messages().await?, tables.doubts().await?, tables.terms().await?);
    tables.close().await;
    // The shop may write, so its connection is closed last: then SQLite leaves a single file behind.
    shop.close().await?;
    let arrived = receiver.ledger.messages();
    let audit = audit(&Accounts { sold: &sold, messages: &messages, doubts: &doubts, arrived: &arrived });
    for paragraph in [
        report::messages(&sold, &audit, &fleet),
        report::crash(&crash, &audit).into(),
        report::dead_letters(&audit),
        report::terms(&terms, began, &fleet, &crash),
        report::verdict(&audit).into(),
        report::look_further(stage, &audit)?,
    ] {
        let mut page = Page::from("");
        page.append(paragraph);
        print(page)?;
    }
    let code = if audit.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Ok(Played { code, _receiver: receiver })
}

async fn migrate(stage: &Stage) -> anyhow::Result<()> {
    let url = stage.database_url()?;
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 1 }).await?;
    database.migrate(DEFAULT_ENVIRONMENT).await?;
    database.close().await;
    Ok(())
}

/// Waits until no message is pending.
async fn finish(fleet: &mut Fleet, tables: &Tables, messages: usize, progress: &Progress) -> anyhow::Result<()> {
    let (began, mut said) = (Instant::now(), Instant::now());
    loop {
        let pending = tables.pending().await?;
        if pending == 0 {
            return Ok(());
        }
        fleet.check().await?;
        if began.elapsed() > LIMIT {
            bail!("{pending} messages are still pending after {LIMIT:?}");
        }
        if said.elapsed() >= SAY {
            said = Instant::now();
            let retried = tables.retried().await?;
            progress.say(&format!(
                "{pending} of {messages} messages pending: {retried} for their next attempt, {} in flight, or in doubt since the crash \
                 until they are settled",
                pending - retried
            ))?;
        }
        tokio::time::sleep(LOOK).await;
    }
}
