//! The lease port: the expiring right to poll.

mod calls;
mod lease;
mod redis;
mod session;
mod table;
mod words;

pub use self::redis::{REDIS_RIGHTS, REDIS_URL, RedisHints, RedisLease, RedisLink, RedisSetupError, check_redis_url};
pub use self::session::{SessionLease, SessionSetupError};
pub use self::table::TableLease;
pub use lease::{Held, Lease, LeaseError};
