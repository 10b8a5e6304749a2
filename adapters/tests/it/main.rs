//! The destination adapters against real local servers.
#![allow(clippy::unwrap_used, missing_docs)]

mod fcm;
mod fcm_connections;
mod fcm_table;
mod floods;
mod http;
mod http2;
mod http_certificate;
mod http_guard;
mod http_setup;
mod http_signed;
mod http_table;
mod stand_in;
