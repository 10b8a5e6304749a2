//! Whether this replica can use all that its settings name.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::extract::Params;
use super::{Answer, Office, Problem};
use crate::check::{CheckReport, check_replica};
use crate::health::cached::Cached;

/// How long a report is reused: a check asks for access tokens, and tries the poller's work.
const MAX_AGE: Duration = Duration::from_secs(10);

/// The newest reports of a replica, without and with what a strict installation would not leave so.
#[derive(Debug, Clone)]
pub struct Checks([Arc<Cached<Arc<CheckReport>>>; 2]);

impl Default for Checks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Arc::new(Cached::new(MAX_AGE))))
    }
}

impl Office {
    /// The newest report of this replica.
    pub(crate) async fn check(&self, strict: bool) -> Arc<CheckReport> {
        let ask = || async {
            let settings = (self.started.clone(), self.config.current());
            Arc::new(check_replica(settings, self.database.clone(), self.lease.clone(), strict).await)
        };
        self.checks.0[usize::from(strict)].get(ask).await
    }
}

/// What a client asks of a check.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CheckQuery {
    /// Names also what a strict installation would not leave so.
    #[serde(default)]
    pub strict: bool,
}

/// Checks whether this replica can use its database, its lease store and its channels, as `outbox check` does. Sends nothing. What was
/// found within ten seconds is shown again.
#[utoipa::path(get, path = "/api/v1/check", operation_id = "check", tag = "status", params(CheckQuery), responses(
    (status = 200, description = "The findings, also where something cannot be used", body = CheckReport),
    Problem,
))]
pub(super) async fn check(State(office): State<Office>, Params(query): Params<CheckQuery>) -> Answer<Arc<CheckReport>> {
    Ok(Json(office.check(query.strict).await))
}
