//! How the program reaches other systems: destinations (http, fcm), leases (redis, table) and hints (redis).

pub mod adapter;
mod common;
pub mod fcm;
mod hints;
pub mod http;
mod kind;
mod kinds;
mod lease;
mod recorder;
mod retry_after;
mod setup;
pub mod shape;
mod transport;
pub mod values;

pub use adapter::{About, Adapter, Answer, Delivery, Permit};
pub use common::HEADER_NAME;
pub use hints::Hints;
pub use kind::{ChannelSettings, ChannelSetup, Kind};
pub use kinds::KINDS;
pub use lease::{
    Held, Lease, LeaseError, REDIS_RIGHTS, REDIS_URL, RedisHints, RedisLease, RedisLink, RedisSetupError, SessionLease,
    SessionSetupError, TableLease, check_redis_url,
};
pub use recorder::{HIDDEN, Recorder, SeenAnswer, SeenRequest};
pub use setup::{BASE_URL, SetupError, TlsRoots, base_url, ensure_crypto_provider};
