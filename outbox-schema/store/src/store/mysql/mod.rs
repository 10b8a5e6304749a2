//! The store on what MySQL 8.4 and MariaDB 10.6 share.

mod due;
pub(super) mod errors;
mod looks;
mod mark;
mod mysql;
mod trial;

pub use mysql::MySqlStore;
use mysql::Step;
