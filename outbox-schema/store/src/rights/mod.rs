//! Which rights the role of the connection lacks.

mod lacking;
mod rights;
mod shipped;

pub use lacking::lacks_rights;
pub use shipped::Role;
