//! The HTTP listener of `admin.listen`: health, readiness, metrics, and the admin API.

mod connections;
mod guard;
mod listener;
mod routes;
mod waiting;

pub use super::access::Tokens;
pub use super::listen_error::ListenError;
pub use super::listener_sources::ListenerSources;
pub use listener::Listener;
pub use routes::{CHANGES_AT_ONCE, QUESTIONS_AT_ONCE};
