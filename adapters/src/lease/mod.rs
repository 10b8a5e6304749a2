//! The lease port: the expiring right to poll.

mod lease;
mod redis;
mod table;
mod words;

pub use self::redis::{REDIS_RIGHTS, REDIS_URL, RedisHints, RedisLease, RedisLink, RedisSetupError, check_redis_url};
pub use self::table::TableLease;
pub use lease::{Held, Lease, LeaseError};
