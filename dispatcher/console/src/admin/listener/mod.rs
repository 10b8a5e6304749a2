//! The HTTP listener of `admin.listen`: health, readiness, metrics, and the admin API.

mod connections;
mod error;
mod guard;
mod listener;
mod routes;
mod sources;
mod waiting;

pub use super::access::Tokens;
pub use error::ListenError;
pub use listener::Listener;
pub use routes::{CHANGES_AT_ONCE, QUESTIONS_AT_ONCE};
pub use sources::ListenerSources;
