//! The admin API, `/api/v1` on `admin.listen`: the questions and changes of the command line, over HTTP. OpenAPI
//! describes it at `/api/v1/openapi.json`. Problems have the form of RFC 9457.

mod api_state;
mod audit;
mod change;
mod change_body;
pub(crate) mod check;
mod checks;
pub(crate) mod dead_letters;
pub(crate) mod destinations;
pub(crate) mod extract;
mod figures;
mod followed;
mod invalid_targets;
pub(crate) mod jobs;
pub(crate) mod messages;
mod operations;
mod ordering_keys;
mod overview;
pub(crate) mod problem;
mod prune;
pub(crate) mod recurring;
mod redaction;
pub(crate) mod requests;
mod routes;
pub(crate) mod wake;
mod words;

use api_state::Answer;
pub use api_state::{ApiState, PREFIX};
pub use change::request_for;
pub use check::CheckQuery;
pub use checks::Checks;
pub use destinations::DestinationQuery;
pub(crate) use followed::Turn;
pub use followed::{LINES, Line};
pub use invalid_targets::InvalidTargetFilter;
pub use ordering_keys::OrderingKeyFilter;
pub(crate) use problem::checked;
pub use problem::{Kind, Problem};
pub(crate) use redaction::Redaction;
pub use requests::{
    Authored, ByKey, ClearBody, CountBody, EditBody, MessageCountBody, Page, PauseBody, PruneBody, kept_for,
    pause_length,
};
pub(crate) use routes::{changes, questions, retries, wake_ups};
