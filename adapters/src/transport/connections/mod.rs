//! The connections of a channel. They are kept and used again. An origin has as many as its requests in flight need,
//! and no more.
//!
//! [`Connections`] knows the origins. `pool` decides which connection of an origin is lent next. `origin` sends over
//! it, `body` knows whether the sending has begun, `heard` whether an answer has, and `streams` how much a connection
//! takes. A request that a connection refused unread goes over another one, within the same attempt. Nothing else is
//! sent twice, no redirect is followed, and no proxy is used.

mod body;
mod connections;
mod heard;
mod kept;
mod origin;
mod pool;
mod request;
mod streams;

pub(crate) use connections::Connections;
pub(crate) use kept::Kept;
pub(crate) use request::Request;
