//! Which rights the role of the connection lacks.

mod lacking;
mod rights;
mod shipped;

pub(crate) use lacking::lacks_rights;
pub use shipped::Role;
