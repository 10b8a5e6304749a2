//! What an edit would change.

mod difference;
mod edit;

pub use difference::indented;
pub use edit::{Planned, Unplanned, Wanted, differs};
