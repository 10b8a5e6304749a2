//! Makes the tables, and refuses tables of another program, another version or another environment.
//!
//! `outbox_meta` says which outbox this is. Where the database commits each DDL statement at once (MySQL), its row is
//! the last thing that a migration writes. So tables without that row show a migration that broke off. It is then taken
//! up again.

mod error;
mod functions;
mod index_build;
mod print;
mod split;
mod state;
mod tables;
mod versions;

pub use error::{MigrateError, SchemaError};
pub use functions::FUNCTIONS_VERSION;
pub use index_build::IndexBuild;
pub use print::{migration_statements, migrations_sql};
pub use state::{Meta, Migrated, SchemaState};
pub use tables::read_meta;
pub use versions::{DEFAULT_ENVIRONMENT, SCHEMA_VERSION, SERVES_FROM};
use versions::{MIGRATIONS, Migration};
