//! Keeps the figures over time: writes what was counted, and makes hours of old minutes. It does so beside the loop, on connections
//! of the listener, and never on the way of a message.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use outbox_store::figures::Figures;
use outbox_store::{Database, Shard};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::health::presence::term_over;
use crate::health::vitals::VitalsCache;
use crate::in_time::in_time;
use outbox_config::Config;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::term::Term;

/// How often figures are written, beside the end of each term. A replica that is killed loses those of this time.
pub const EACH: Duration = Duration::from_secs(10);

/// How long the database has for one step.
const LIMIT: Duration = Duration::from_secs(5);

/// How long to wait after a failure. Figures that are older by then are lost.
const TROUBLE: Duration = Duration::from_mins(1);

/// A look at the lag reads all that is due, so the next one waits this many times as long as it took.
const REST_PER_LOOK: u32 = 100;

/// How often old figures are looked for.
const TIDY_EACH: Duration = Duration::from_mins(10);

/// Keeps the figures of this process, and tidies those of all while it leads.
pub struct FiguresKeeper {
    /// The outbox database.
    pub database: Database,
    /// The terms that this process leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
    /// Where attempts are counted.
    pub metrics: Arc<Metrics>,
    /// Where the lag comes from.
    pub vitals: Arc<VitalsCache>,
    /// The settings, for how long figures are kept.
    pub config: Reloadable<Config>,
}

/// The state of the writer between its steps.
struct Work {
    /// Counts that are not written yet, and since when they were counted.
    waiting: BTreeMap<String, Figures>,
    since: Instant,
    looks_at: Instant,
    tidies_at: Instant,
    /// Whether the log knows that figures cannot be written.
    told: bool,
}

impl FiguresKeeper {
    /// Keeps the figures until `ended`, and writes the last ones then. Messages go out even where figures cannot be written.
    pub async fn keep(self, ended: CancellationToken) {
        let now = Instant::now();
        let mut work = Work { waiting: BTreeMap::new(), since: now, looks_at: now, tidies_at: now, told: false };
        let mut pause = EACH;
        loop {
            let term = self.terms.borrow().clone();
            let rested = async {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = term_over(term) => {}
                }
            };
            let over = ended.run_until_cancelled(rested).await.is_none();
            // The terms of a process that ends are over, so this only writes.
            pause = match self.step(&mut work).await {
                Ok(()) => {
                    work.told = false;
                    EACH
                }
                Err(why) => {
                    if !std::mem::replace(&mut work.told, true) {
                        tracing::warn!(
                            why,
                            "figures.failed: figures over time cannot be kept in outbox_minute, and the page shows none. Messages go \
                             out all the same"
                        );
                    }
                    TROUBLE
                }
            };
            if over {
                return;
            }
        }
    }

    async fn step(&self, work: &mut Work) -> Result<(), String> {
        let term = self.terms.borrow().clone().filter(|term| term.is_on());
        if let Some(term) = &term {
            term.first_claim().await;
            self.look(work).await;
        }
        let shard = term.as_ref().map_or(Shard::default(), |term| term.id.shard);
        self.write(shard, work).await?;
        if term.is_some() && work.tidies_at <= Instant::now() {
            self.tidy().await?;
            work.tidies_at = Instant::now() + TIDY_EACH;
        }
        Ok(())
    }

    /// Notes the lag of each channel.
    async fn look(&self, work: &mut Work) {
        let began = Instant::now();
        if began < work.looks_at {
            return;
        }
        // Where the database does not answer, others say so.
        if let Ok(vitals) = self.vitals.get().await {
            for channel in &vitals.channels {
                self.metrics.counting.lag(&channel.channel, channel.lag());
            }
        }
        work.looks_at = Instant::now() + began.elapsed() * REST_PER_LOOK;
    }

    async fn write(&self, shard: Shard, work: &mut Work) -> Result<(), String> {
        let now = Instant::now();
        for (channel, figures) in self.metrics.counting.take() {
            work.waiting.entry(channel).or_default().add(&figures);
        }
        work.waiting.retain(|_, figures| figures.says_something());
        if work.waiting.is_empty() {
            work.since = now;
            return Ok(());
        }
        // They are of the minute in whose midst they were counted.
        let age = (now - work.since) / 2;
        let written = in_time(LIMIT, self.database.add_figures(shard, age, &work.waiting)).await;
        if written.is_ok() || now - work.since > TROUBLE {
            work.waiting.clear();
            work.since = now;
        }
        written
    }

    async fn tidy(&self) -> Result<(), String> {
        while in_time(LIMIT, self.database.roll_figures_up()).await? {}
        let kept = self.config.current().retention.figures;
        if let Some(kept) = kept {
            in_time(LIMIT, self.database.remove_figures(kept)).await?;
        }
        Ok(())
    }
}
