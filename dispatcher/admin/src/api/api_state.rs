//! What the handlers of the API need to answer.

use std::sync::Arc;

use axum::Json;
use outbox_adapters::Lease;
use outbox_store::{Database, Retention};

use super::checks::Checks;
use super::problem::Problem;
use crate::wake_endpoint::WakeEndpoint;
use outbox_config::Config;
use outbox_console::configured::Configured;
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_dispatcher::reloadable::Reloadable;

/// The path under which the whole API lies.
pub const PREFIX: &str = "/api/v1";

/// What the handlers of the API need to answer.
#[derive(Clone)]
pub struct ApiState {
    /// The outbox database: answers questions and makes changes.
    pub database: Database,
    /// The lease store: knows which replica polls.
    pub lease: Arc<dyn Lease>,
    /// The settings at the start of the process.
    pub started: Arc<Config>,
    /// The settings that were read last. What needs a restart is in force as it was at the start.
    pub config: Reloadable<Config>,
    /// The part of the settings that is about channels.
    pub configured: Reloadable<Configured>,
    /// How long the settings keep finished messages.
    pub retention: Reloadable<Retention>,
    /// The endpoint by which applications wake the poller.
    pub wake_endpoint: WakeEndpoint,
    /// The newest checks of this replica.
    pub checks: Checks,
    /// What the schedule says, while this replica polls.
    pub schedule: ScheduleNow,
}

pub(super) type Answer<T> = Result<Json<T>, Problem>;
