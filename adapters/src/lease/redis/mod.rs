//! A lease in Redis 6.2 or later, or Valkey: a key that expires.

mod address;
mod connections;
mod hints;
mod primary;
mod redis;
mod releases;
mod rights;
mod turned_away;

pub use self::address::RedisLink;
pub use self::hints::RedisHints;
pub use redis::{REDIS_RIGHTS, REDIS_URL, RedisLease, RedisSetupError, check_redis_url};
use redis::{in_words, primary_of};
