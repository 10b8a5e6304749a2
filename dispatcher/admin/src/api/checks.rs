//! The newest checks of a replica, which are asked for again and again.

use std::sync::Arc;
use std::time::Duration;

use outbox_console::check::CheckReport;
use outbox_console::health::cached::Cached;

/// How long a report is reused: a check asks for access tokens, and tries the poller's work.
const MAX_AGE: Duration = Duration::from_secs(10);

/// The newest reports of a replica, without and with what a strict installation would not leave so.
#[derive(Debug, Clone)]
pub struct Checks(pub(super) [Arc<Cached<Arc<CheckReport>>>; 2]);

impl Default for Checks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Arc::new(Cached::new(MAX_AGE))))
    }
}
