//! Goes on with operations that nobody carries out: those that were ordered without waiting for their end, and those whose carrier
//! died. It does so while this process leads, beside the loop, on connections of the listener.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_desk::Operations;
use outbox_store::APPLY_GRANTS;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::term::Term;

/// How often the poller looks for operations.
const EACH: Duration = Duration::from_secs(1);

/// How long to wait after a failure.
const TROUBLE: Duration = Duration::from_secs(10);

/// Operations that are carried out at once. Others wait, so that a page still finds a connection.
const AT_ONCE: usize = 2;

/// Carries out operations while this process leads.
pub struct OperationsCarrier {
    /// The outbox database.
    pub operations: Arc<dyn Operations>,
    /// The terms that this process leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
}

impl OperationsCarrier {
    /// Carries operations out until `ended`. A batch that is under way is finished then.
    pub async fn carry(self, ended: CancellationToken) {
        let (mut tasks, carried) = (JoinSet::new(), Carried::default());
        let (mut pause, mut told) = (EACH, false);
        while ended.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            while tasks.try_join_next().is_some() {}
            let Some(term) = self.terms.borrow().clone().filter(|term| term.is_on()) else { continue };
            term.first_claim().await;
            pause = match self.operations.waiting(u32::try_from(AT_ONCE).unwrap_or(1)).await {
                Ok(waiting) => {
                    for id in waiting {
                        if let Some(taken) = carried.take(id) {
                            tasks.spawn(go_on(self.operations.clone(), term.clone(), ended.clone(), taken));
                        }
                    }
                    told = false;
                    EACH
                }
                Err(error) => {
                    if !std::mem::replace(&mut told, true) {
                        let cure = if error.lacks_rights() { APPLY_GRANTS } else { "" };
                        tracing::warn!(
                            error = %format_args!("{error}{cure}"),
                            "operations.failed: changes of many messages wait that nobody carries out"
                        );
                    }
                    TROUBLE
                }
            };
        }
        while tasks.join_next().await.is_some() {}
    }
}

async fn go_on(operations: Arc<dyn Operations>, term: Arc<Term>, ended: CancellationToken, taken: Taken) {
    let Taken { id, .. } = taken;
    tracing::info!(operation = id, "operation.taken");
    let goes_on = || term.is_on() && !ended.is_cancelled();
    match operations.go_on(id, &goes_on).await {
        Ok(()) => tracing::info!(operation = id, "operation.left"),
        Err(error) => tracing::warn!(operation = id, %error, "operation.failed"),
    }
}

/// The operations that this process carries out now.
#[derive(Default, Clone)]
struct Carried(Arc<Mutex<BTreeSet<i64>>>);

impl Carried {
    /// None where the operation is carried out already, or too many others are.
    fn take(&self, id: i64) -> Option<Taken> {
        let mut ids = self.0.lock();
        (ids.len() < AT_ONCE && ids.insert(id)).then(|| Taken { id, of: self.clone() })
    }
}

/// A guard: the operation is carried out while it lives.
struct Taken {
    id: i64,
    of: Carried,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.0.lock().remove(&self.id);
    }
}
