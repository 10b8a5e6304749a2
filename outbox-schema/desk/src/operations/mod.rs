//! Operations: changes of many messages, each a row of `outbox_operation`. Whoever is asked for one carries it out while he
//! lives. Then the poller goes on with it, from where the row says that it stands.

mod action;
mod by_action;
mod carry;
mod change;
#[cfg(feature = "openapi")]
mod described;
mod entry;
mod fields;
mod operations;
mod outcome;
mod record;
mod remaining;
mod said;
mod state;
mod work;

pub use action::Action;
pub(super) use carry::carry;
pub use change::Change;
pub use entry::{OperationEntry, OperationPage, OperationStatus, Ordered, Stopped};
pub(super) use operations::stop;
pub use operations::{Operations, begin, operation, operations};
pub use outcome::{Because, Left, Outcome, Sent};
use remaining::Remaining;
pub(super) use state::State;
