//! What a change of many messages tells of itself while it goes on.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

/// How far a change of many messages is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// The id of the change's entry in `outbox_audit`. It is there before the first message is changed.
    pub audit_id: i64,
    /// How many messages the change is about, where that is known.
    pub of: Option<u64>,
    /// How many of them it has come to, those that were left as they are among them.
    pub done: u64,
    /// How many of them it has changed.
    pub changed: u64,
    /// Whether the change has a row in `outbox_operation`, so that the poller can go on with it. A replica of an earlier release
    /// does not say.
    #[serde(default = "perhaps")]
    pub has_row: bool,
}

fn perhaps() -> bool {
    true
}

/// Whoever follows a change. It is asked before the first batch and after each, and may end the change there.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// Follows a change that nobody follows, to its end.
pub const UNWATCHED: Watch<'static> = &|_| ControlFlow::Continue(());
