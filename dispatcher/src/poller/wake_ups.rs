//! Wake-ups: where they come from, and how one wakes a poller that is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outbox_adapters::Hints;
use outbox_store::Store;
use outbox_store::store::{HintsLost, Wakeups};
use tokio::sync::{Notify, watch};

use crate::backoff::Backoff;

/// Where wake-ups come from.
#[derive(Debug, Clone)]
pub enum WakeUpSource {
    /// The database gives them.
    Database(Arc<dyn Store>),
    /// Applications give them where the lease is.
    Applications(Arc<dyn Hints>),
}

impl WakeUpSource {
    async fn open(&self) -> Result<Option<Box<dyn Wakeups>>, HintsLost> {
        match self {
            Self::Database(store) => Ok(store.wakeups().await?),
            Self::Applications(wake_ups) => Ok(Some(wake_ups.listen().await?)),
        }
    }
}

/// Takes wake-ups for the poller of this replica. The loop shares it with the wake endpoint and with the tasks that listen.
#[derive(Debug)]
pub struct WakeUpListener {
    /// Whether this replica polls.
    polls: AtomicBool,
    /// Whether the poller that listens is idle.
    idle: watch::Sender<bool>,
    wakeup: Arc<Notify>,
}

impl WakeUpListener {
    /// That of a poller who is woken by `wakeup`.
    pub fn new(wakeup: Arc<Notify>) -> Self {
        Self { polls: AtomicBool::default(), idle: watch::Sender::default(), wakeup }
    }

    /// Takes a wake-up, and says whether this replica polls. A poller that is active looks again by itself.
    pub fn wake(&self) -> bool {
        if self.is_idle() {
            self.wakeup.notify_one();
        }
        self.polls.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        *self.idle.borrow()
    }

    pub(super) fn set_polling(&self, polls: bool) {
        self.polls.store(polls, Ordering::Relaxed);
    }

    pub(super) fn set_idle(&self, idle: bool) {
        self.idle.send_if_modified(|present| std::mem::replace(present, idle) != idle);
    }

    /// Passes wake-ups on, for ever. A wake-up that is missed is made good by the next poll, so trouble is only logged.
    pub async fn listen(self: Arc<Self>, source: WakeUpSource) {
        let mut backoff = Backoff::new();
        loop {
            let error = match source.open().await {
                Ok(None) => return,
                Ok(Some(mut wakeups)) => {
                    backoff = Backoff::new();
                    self.hear(&mut *wakeups).await
                }
                Err(error) => error,
            };
            tracing::warn!(%error, "wakeup.lost");
            tokio::time::sleep(backoff.next()).await;
        }
    }

    /// Until an error. Whoever becomes idle is woken once as soon as wake-ups are sent: what was committed just before gave none.
    async fn hear(&self, wakeups: &mut dyn Wakeups) -> HintsLost {
        let mut idle = self.idle.subscribe();
        if *idle.borrow() {
            idle.mark_changed();
        }
        loop {
            let heard = tokio::select! {
                heard = wakeups.wait() => heard,
                _ = idle.changed() => {
                    let wanted = *idle.borrow_and_update();
                    wakeups.want(wanted).await
                }
            };
            match heard {
                Ok(()) => {
                    self.wake();
                }
                Err(error) => return error,
            }
        }
    }
}
