//! How a request reaches its server: the networks that are allowed, the connections that are kept, the exchange.

pub(crate) mod connections;
pub(crate) mod exchange;
pub(crate) mod network;
