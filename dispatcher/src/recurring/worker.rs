//! Writes recurring messages, as long as this process leads. Only the database decides which: its clock says what is due, and its
//! rows say what was written. This process measures how long to sleep, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use outbox_config::Config;
use outbox_store::{APPLY_GRANTS, RecurringStore, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::plan::Plan;
use crate::poller::wake_ups::WakeUpListener;
use crate::reloadable::Reloadable;
use crate::term::Term;

/// How often the poller looks for what people paused, resumed or asked for.
const EACH: Duration = Duration::from_secs(1);

/// How long to wait after a failure.
const TROUBLE: Duration = Duration::from_secs(1);

/// The longest time for one look, or one step.
const LIMIT: Duration = Duration::from_secs(10);

/// Writes recurring messages while this process leads.
#[derive(Debug)]
pub struct RecurringWorker {
    /// The outbox database.
    pub store: Arc<dyn RecurringStore>,
    /// The settings in force.
    pub config: Reloadable<Config>,
    /// The terms that this process leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
    /// Woken once there is a message, where the database wakes nobody.
    pub listener: Arc<WakeUpListener>,
}

impl RecurringWorker {
    /// Writes recurring messages until `ended`.
    pub async fn write(mut self, ended: CancellationToken) {
        let writing = async {
            loop {
                let led = self.terms.borrow_and_update().clone();
                if let Some(term) = led.filter(|term| term.is_on()) {
                    tokio::select! {
                        () = self.write_during(&term) => {}
                        () = term.ended() => {}
                    }
                }
                if self.terms.changed().await.is_err() {
                    return;
                }
            }
        };
        ended.run_until_cancelled(writing).await;
    }

    async fn write_during(&self, term: &Term) {
        let mut replaced = self.config.replacements();
        let mut trouble = false;
        loop {
            let sleep = match self.turn(term).await {
                Ok(sleep) => {
                    trouble = false;
                    sleep
                }
                // The loop learns of a later term by itself.
                Err(StoreError::Fenced { .. }) => return,
                Err(error) => {
                    if !std::mem::replace(&mut trouble, true) {
                        let cure = if error.lacks_rights() { APPLY_GRANTS } else { "" };
                        tracing::warn!(
                            error = %format_args!("{error}{cure}"),
                            "recurring.failed: recurring messages wait"
                        );
                    }
                    Some(TROUBLE)
                }
            };
            let sleeping = async {
                match sleep {
                    Some(time) => tokio::time::sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleeping => {}
                _ = replaced.changed() => {}
            }
        }
    }

    /// Writes what is due. Returns how long to sleep. None: until there are other settings.
    async fn turn(&self, term: &Term) -> Result<Option<Duration>, StoreError> {
        let config = self.config.current();
        if config.recurring.is_empty() {
            return Ok(None);
        }
        let asked = Instant::now();
        let found = in_time(self.store.recurring_now()).await?;
        let now = Timestamp::from_microsecond(found.now_us).unwrap_or_default();
        let (mut sleep, mut failed) = (EACH, None);
        for recurring in config.recurring.values() {
            let state = found.states.iter().find(|state| state.name == recurring.name);
            let plan = Plan::of(recurring, state, now);
            if let Some(next) = plan.next {
                sleep = sleep.min(Duration::try_from(next.duration_since(now)).unwrap_or_default());
            }
            for step in &plan.steps {
                match in_time(self.store.take_step(&term.id, step)).await {
                    Ok(true) => {
                        tracing::debug!(name = recurring.name, "recurring.written");
                        self.listener.wake();
                    }
                    Ok(false) => {}
                    Err(error @ StoreError::Fenced { .. }) => return Err(error),
                    // One that the database refuses keeps no other waiting.
                    Err(error) => failed = Some(error),
                }
            }
        }
        failed.map_or_else(|| Ok(Some(sleep.saturating_sub(asked.elapsed()))), Err)
    }
}

async fn in_time<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let doing = "working on recurring messages";
    tokio::time::timeout(LIMIT, call).await.unwrap_or_else(|_| {
        Err(StoreError::Unavailable { doing, source: format!("nothing came within {LIMIT:?}").into() })
    })
}
