//! How the outside is reached: destinations (http, fcm) and leases (redis, table).

pub mod destination;
pub mod lease;

pub use destination::{Adapter, Answer, Delivery};
pub use lease::{Held, Lease, LeaseError, LeaseUrlError, RedisLease, TableLease};
