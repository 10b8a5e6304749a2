//! Operations: changes of many messages, each a row of `outbox_operation`. Whoever is asked for one carries it out while he
//! lives. Then the poller goes on with it, from where the row says that it stands.

mod carry;
mod entry;
mod operations;
mod order;
mod record;
mod remaining;
mod said;
mod work;

pub(super) use carry::carry;
pub use entry::{OperationEntry, OperationPage, OperationResult, OperationStatus, Ordered, Stopped};
pub use operations::Operations;
pub(super) use operations::stop;
pub use order::Order;
pub(super) use record::State;
pub(super) use remaining::Remaining;
pub(super) use work::{Batch, Work};
