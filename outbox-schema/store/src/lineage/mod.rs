//! Which copy of the outbox database answers. A failover makes another one of it, which may lack the last commits.

mod lineage;
mod lineages;
mod server;
mod standby;

pub use lineage::{Lineage, Seen};
pub(crate) use lineages::Takes;
pub use lineages::{Lineages, SameDatabase};
pub(crate) use server::{Server, ask_mysql, ask_mysql_after_all, begin_after_all, read_mysql, read_postgres};
