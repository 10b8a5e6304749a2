//! Which rights the role of the connection lacks.

mod lacking;
mod rights;
mod shipped;

pub use lacking::{APPLY_GRANTS, lacks_rights};
pub use shipped::Role;
