//! What health, readiness and metrics are read from.

use std::sync::Arc;

use outbox_console::health::readiness::Readiness;
use outbox_console::health::vitals::VitalsCache;
use outbox_dispatcher::destinations::DestinationsNow;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::term::liveness::Liveness;

/// What health, readiness and metrics are read from.
#[derive(Clone)]
pub struct ListenerSources {
    /// The numbers of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// The numbers that the database adds to `/metrics`.
    pub vitals: Arc<VitalsCache>,
    /// The liveness of the loop: decides whether `/healthz` is well.
    pub liveness: Arc<Liveness>,
    /// The source of the causes in `/readyz`.
    pub readiness: Arc<dyn Readiness>,
    /// What the poller knows of its destinations.
    pub destinations: DestinationsNow,
}
