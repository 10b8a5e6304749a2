//! Whether everything that the settings name can be used, and what a crash costs with these settings: for `outbox check`, the
//! admin API and the page.

mod check;
mod recurring;
mod report;
mod rights;
mod strict;

pub use check::{check_replica, check_settings};
pub use report::{CheckReport, CrashCost, Finding, FindingVerdict};
