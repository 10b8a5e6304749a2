//! The versions of the tables, and the steps from each to the next.

use crate::statement::Statement;

/// The version of the tables that this program works with.
pub const SCHEMA_VERSION: i32 = 21;

/// Programs made for this version of the tables, or a later one, run on tables of [`SCHEMA_VERSION`]: a rolling upgrade
/// begins with the tables. The newest migration writes this version into `outbox_meta`.
pub const SERVES_FROM: i32 = 2;

/// The environment where none is set.
pub const DEFAULT_ENVIRONMENT: &str = "default";

/// One step from version to version. A step is never edited once released.
pub(super) struct Migration {
    pub(super) version: i32,
    pub(super) script: Statement,
}

pub(super) const MIGRATIONS: [Migration; 21] = [
    Migration { version: 1, script: dialects!("migrations", "0001_outbox") },
    Migration { version: 2, script: dialects!("migrations", "0002_writers") },
    Migration { version: 3, script: dialects!("migrations", "0003_replicas") },
    Migration { version: 4, script: dialects!("migrations", "0004_turns") },
    Migration { version: 5, script: dialects!("migrations", "0005_fleet") },
    Migration { version: 6, script: dialects!("migrations", "0006_replay") },
    Migration { version: 7, script: dialects!("migrations", "0007_figures") },
    Migration { version: 8, script: dialects!("migrations", "0008_tags") },
    Migration { version: 9, script: dialects!("migrations", "0009_alerts") },
    Migration { version: 10, script: dialects!("migrations", "0010_operations") },
    Migration { version: 11, script: dialects!("migrations", "0011_outcome_keys") },
    Migration { version: 12, script: dialects!("migrations", "0012_operation_place") },
    // On PostgreSQL the types of the columns have bounded it all along.
    Migration { version: 13, script: dialects!("migrations", "0013_born_in_bounds") },
    Migration { version: 14, script: dialects!("migrations", "0014_ids_by_the_table") },
    Migration { version: 15, script: dialects!("migrations", "0015_terms_in_doubt") },
    Migration { version: 16, script: dialects!("migrations", "0016_writers_not_hurt") },
    Migration { version: 17, script: dialects!("migrations", "0017_claims_bounded") },
    Migration { version: 18, script: dialects!("migrations", "0018_deadlines") },
    Migration { version: 19, script: dialects!("migrations", "0019_served_by") },
    Migration { version: 20, script: dialects!("migrations", "0020_recurring") },
    Migration { version: 21, script: dialects!("migrations", "0021_jobs") },
];
