//! The outbox database: its tables, rights, plans and absence.

mod away;
mod durability;
mod frozen_transactions;
pub(crate) mod grants;
mod late_commits;
mod lineage;
mod look_plans;
pub(crate) mod migrate;
mod plans;
mod round_trips;
mod servers;
mod store;
mod tls;
mod trial;
mod unsupported;
