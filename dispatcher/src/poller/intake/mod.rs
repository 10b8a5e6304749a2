//! What next: the poller looks at due rows by their headers, lets the schedule choose from them, and claims
//! what it chose by ids.

mod intake;

pub(crate) use intake::{Intake, Polled, UnderWay};
