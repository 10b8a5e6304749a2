//! What every lease provider must do, each behaviour a function over the fresh lease of one outbox.

pub mod campaigns;
pub mod holding;
mod leases;
pub mod neighbours;
pub mod releases;

use std::time::Duration;

use outbox_store::{Holder, Seat, Shard};
use uuid::Uuid;

pub use leases::{Leases, Provider};

/// Longer than any test.
pub const LONG: Duration = Duration::from_mins(10);

/// Far longer than anything takes that is awaited: the machine may be busy with other tests.
pub const SOON: Duration = Duration::from_secs(30);

/// What is led.
pub static SEAT: Seat = Seat::Shard(Shard(0));

/// A holder that nobody else is.
pub fn holder() -> Holder {
    Holder::new(&Uuid::new_v4().to_string(), "1")
}
