//! Databases that look like PostgreSQL or MySQL, and in which no outbox works.

mod server_check;
mod unsupported_server;

pub(crate) use server_check::ServerCheck;
pub use unsupported_server::{Dropped, Product, UnsupportedServer};
