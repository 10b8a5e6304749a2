//! How the outside is reached: destinations (http, fcm) and leases (redis, table).

mod connections;
pub mod destination;
mod exchange;
pub mod fcm;
pub mod http;
pub mod lease;
mod network;
mod retry_after;
pub mod setup;

pub use destination::{Adapter, Answer, Delivery, Permit};
pub use lease::{
    Held, Lease, LeaseError, REDIS_RIGHTS, REDIS_URL, RedisLease, RedisSetupError, TableLease, check_redis_url,
};
pub use setup::{BASE_URL, SetupError, base_url, ensure_crypto_provider};
