//! A client of a replica, which answers for its outbox over the admin API.

mod by_hand;
mod desk;
mod filtered;
mod follow;
mod replica;

use replica::{CHANGE_LIMIT, ReplicaError, if_there, in_json, segment};
pub(crate) use replica::{Replica, ReplicaSetupError, base};
