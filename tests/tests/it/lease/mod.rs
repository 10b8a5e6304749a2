//! The lease, wherever it is kept.

mod cluster;
mod providers;
mod redis;
mod sentinel;
mod session;
mod sqlite;
