//! Which addresses a channel may reach.

pub(crate) mod allowance;
pub(crate) mod dial;
mod look_ups;
mod network;
mod own_authority;
mod ranges;
pub(crate) mod resolver;
pub(crate) mod tls;
mod wire;

pub(crate) use self::own_authority::OwnAuthority;
pub(crate) use network::{Forbidden, Guard, port_of};
