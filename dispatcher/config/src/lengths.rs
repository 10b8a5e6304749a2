//! Lengths of time that several settings are held against.

use std::time::Duration;

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) const HOUR: Duration = Duration::from_hours(1);

pub(super) const DAY: Duration = Duration::from_hours(24);

pub(super) const TEN_YEARS: Duration = Duration::from_hours(3650 * 24);
