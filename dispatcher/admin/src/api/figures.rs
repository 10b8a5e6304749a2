//! Figures over time: the request about them.

use axum::Json;
use axum::extract::State;
use outbox_desk::{Desk, FiguresFilter, FiguresSeries};

use super::extract::Params;
use super::{Answer, ApiState, Problem};

/// Shows what was done over time, by channel.
///
/// The poller writes the figures every ten seconds. They are kept by minutes for two days, then by hours, as long as
/// `retention.figures` says.
#[utoipa::path(get, path = "/api/v1/figures", operation_id = "figures", tag = "status", params(FiguresFilter), responses(
    (status = 200, description = "A series for each channel", body = FiguresSeries),
    Problem,
))]
pub(super) async fn figures(
    State(api_state): State<ApiState>,
    Params(filter): Params<FiguresFilter>,
) -> Answer<FiguresSeries> {
    Ok(Json(api_state.database.figures(&filter).await?))
}
