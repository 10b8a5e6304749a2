//! TLS of connections: verified beyond this machine, unless the URL says otherwise.

mod protection;
mod verified;

pub use protection::Tls;
pub use verified::is_this_machine;
pub(crate) use verified::{is_unverified, of_mysql, of_postgres};
