//! Whether this replica can use all that its settings name.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::extract::Params;
use super::{Answer, ApiState, Problem};
use outbox_console::check::{CheckReport, check_replica};

impl ApiState {
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
pub(super) async fn check(
    State(api_state): State<ApiState>,
    Params(query): Params<CheckQuery>,
) -> Answer<Arc<CheckReport>> {
    Ok(Json(api_state.check(query.strict).await))
}
