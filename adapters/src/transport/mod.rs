//! How a request reaches its server: the allowed networks, the kept connections, the exchange.

pub(crate) mod connections;
pub(crate) mod exchange;
pub(crate) mod network;
pub(crate) mod no_answer;
