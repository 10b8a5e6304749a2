//! Asks the outbox, and shows what it answers.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::Args;
use outbox_config::Config;
use outbox_console::text::with_causes;
use outbox_desk::{DeadLetterFilter, Desk, FiguresFilter, MessageFilter};
use outbox_store::Status as MessageStatus;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::look::{Look, Seen};
use super::view;
use crate::session::{Misuse, OutboxAccess, Purpose};
use crate::status::interval;
use crate::status::source::Source;

/// How long the view waits for a key before it looks for news.
const LOOK: Duration = Duration::from_millis(200);

/// The messages of each kind that are asked for: more than a screen has lines.
const MESSAGES: u32 = 200;

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// How often the outbox is asked: 1s or more.
    #[arg(long, value_name = "INTERVAL", default_value = "2s", value_parser = interval)]
    every: Duration,
}

/// The places that are asked.
struct Outbox {
    source: Source,
    desk: Arc<dyn Desk>,
    halting: Vec<String>,
}

pub(crate) async fn top(config: Config, url: Option<&str>, args: &TopArgs) -> anyhow::Result<ExitCode> {
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        let problem = "top needs a terminal: for a file or a pipe use `outbox status`, or `outbox status --watch`";
        return Err(Misuse::new(problem).into());
    }
    let access = OutboxAccess::by(&config, url, Purpose::Look).await?;
    let (desk, halting) = (access.desk(), access.halting());
    let outbox = Outbox { source: Source::of(&config, access).await?, desk, halting };
    // What fails at once is said as by any other command.
    let first = Look { seen: Arc::new(outbox.ask().await?), trouble: None };
    let (looks, looked) = watch::channel(first);
    let stop = CancellationToken::new();
    let (mut terminate, stopped) = (signal(SignalKind::terminate())?, stop.clone());
    let asking = async {
        loop {
            tokio::time::sleep(args.every).await;
            match outbox.ask().await {
                Ok(seen) => looks.send_modify(|look| *look = Look { seen: Arc::new(seen), trouble: None }),
                Err(error) => looks.send_modify(|look| look.trouble = Some(with_causes(&error))),
            }
        }
    };
    let mut showing = tokio::task::spawn_blocking(move || show(&looked, &stopped));
    let shown = tokio::select! {
        shown = &mut showing => shown,
        () = asking => return Ok(ExitCode::SUCCESS),
        _ = terminate.recv() => {
            stop.cancel();
            showing.await
        }
    };
    shown.context("the view broke off")?.context("the terminal failed")?;
    Ok(ExitCode::SUCCESS)
}

impl Outbox {
    async fn ask(&self) -> anyhow::Result<Seen> {
        let status = self.source.status().await?;
        // A role or a replica of a release before does not have them.
        let figures = self.desk.figures(&FiguresFilter::default()).await.unwrap_or_default();
        let pending = MessageFilter { status: Some(MessageStatus::Pending), ..MessageFilter::default() };
        let mut retried = self.desk.messages(&pending, None, MESSAGES).await?.messages;
        retried.retain(|message| message.attempts > 0 && message.last_error.is_some());
        let dead = self.desk.dead_letters(&DeadLetterFilter::default(), &self.halting, None, MESSAGES).await?.letters;
        Ok(Seen { status, destinations: self.desk.destinations(false).await?, figures, retried, dead })
    }
}

/// Gives the terminal back as it was, also where the view ends by an error. A panic is met by ratatui's own hook.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = ratatui::try_restore();
    }
}

/// Shows what was seen last until the operator leaves or the process is told to stop.
fn show(looked: &watch::Receiver<Look>, stop: &CancellationToken) -> io::Result<()> {
    let _restored = Restored;
    let mut terminal = ratatui::try_init()?;
    while !stop.is_cancelled() {
        let look = looked.borrow().clone();
        terminal.draw(|frame| view::draw(frame, &look, SystemTime::now()))?;
        if event::poll(LOOK)? && leaves(&event::read()?) {
            break;
        }
    }
    Ok(())
}

/// Whether an event means that the operator leaves: q, Esc or Ctrl-C.
fn leaves(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let interrupts = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    key.kind == KeyEventKind::Press && (interrupts || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}
