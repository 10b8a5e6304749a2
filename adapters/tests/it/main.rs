//! The destination adapters against real local servers.
#![allow(clippy::unwrap_used, missing_docs)]

mod http;
mod http2;
mod http_setup;
mod http_table;
mod stand_in;
