//! What each destination may be sent. A destination that is down, slow or over its rate must delay only its own
//! messages.
//!
//! A destination (an HTTP origin, an FCM channel) has a window of messages in flight, a breaker, and a rate where its
//! channel sets one. What must survive a change of poller is in the database: pauses and breakers are written with the
//! marks that bring them, and `deferral_worker` does the rest beside the loop. The schedule passes over destinations on hold, and
//! takes for each of the others no more messages than there is room for.

mod answers;
mod breaker;
mod credentials;
mod deferral_worker;
mod destination;
mod destination_decision;
mod destinations;
mod evicted;
mod holds;
mod limits;
mod memory;
mod rate;
mod refusals;
mod rooms;
mod shown;
mod slow_start;
mod stirred;
#[cfg(test)]
mod tests;
mod window;

pub use crate::channels::{Limits, RateLimit};
pub use deferral_worker::{DeferralWorker, LISTEN};
pub use destination::{Closed, Standing};
pub use destination_decision::DestinationDecision;
pub use destinations::Destinations;
use destinations::State;
use memory::{ANSWERS_EVICTED_AFTER, EVICTED_AFTER, FAILURES_EVICTED_AFTER, FAR, IDLE_AFTER};
pub use rooms::RoomsNow;
pub use shown::{DestinationNow, DestinationsNow};
pub use stirred::Stirred;
