//! Which copy of the outbox database answers. A failover makes another one of it, which may lack the last commits.

mod lineage;
mod lineages;
mod server;

pub use lineage::{Lineage, Seen};
pub use lineages::{Lineages, SameDatabase};
pub(crate) use server::{Server, read_mysql, read_postgres};
