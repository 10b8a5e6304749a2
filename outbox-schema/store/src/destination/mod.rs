//! What the database keeps about destinations, so that it survives a change of poller: pauses, breakers, rising
//! rates and deferrals.

mod database;
mod destination;
mod statements;

pub use database::bring_back_some;
pub use destination::{
    Aside, BroughtBack, ByHandChange, DestinationState, DestinationStore, Look, MOST_TOLD, Pause, PauseKind, Ramp,
};
