//! When a recurring message is due: a pattern of cron, by the clocks of a time zone.

use std::collections::VecDeque;

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp, Zoned};

/// A first look back for times that have passed. It is doubled until it shows enough.
const LOOK_BACK: SignedDuration = SignedDuration::from_mins(1);

/// A pattern of cron, by the clocks of a time zone. A time that does not exist there, since clocks are put forward over it, comes at
/// that moment; a time that exists twice comes the first time. A pattern of every hour has the hours that are there: none is made
/// up for, and of two both count.
#[derive(Debug, Clone)]
pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
    /// The pattern as it was written.
    pattern: String,
    zone_name: String,
}

impl Timetable {
    /// Reads a pattern of five or six fields, or a word such as `@daily`.
    ///
    /// # Errors
    /// What is wrong with the pattern, or that its time never comes.
    pub fn parse(pattern: &str, zone: &str) -> Result<Self, String> {
        let timetable = Self {
            cron: cron(pattern)?,
            zone: time_zone(zone)?,
            pattern: pattern.to_owned(),
            zone_name: zone.to_owned(),
        };
        // Every combination of day and weekday comes within 40 years.
        timetable.after(Timestamp::UNIX_EPOCH).map(|_| timetable.clone()).ok_or_else(|| NEVER.to_owned())
    }

    /// The pattern, as it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The name of the time zone.
    pub fn zone(&self) -> &str {
        &self.zone_name
    }

    /// The first time after this one. None beyond the end of the calendar.
    pub fn after(&self, time: Timestamp) -> Option<Timestamp> {
        if self.is_of_every_hour() {
            let next = self.cron.find_next_occurrence(&time.to_zoned(self.zone.clone()), false).ok()?;
            return Some(next.timestamp());
        }
        let mut civil = time.to_zoned(self.zone.clone()).datetime();
        loop {
            civil = self.cron.find_next_occurrence(&civil, false).ok()?;
            // Where an hour comes again, the times of its first pass are over.
            if let Some(next) = self.first_at(civil).filter(|next| *next > time) {
                return Some(next);
            }
        }
    }

    /// The last times, `most` at most, after `after` and up to `until`, the earliest first.
    pub(super) fn last(&self, most: usize, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let mut back = LOOK_BACK;
        loop {
            let from = until.checked_sub(back).unwrap_or(after).max(after);
            let mut found = VecDeque::new();
            let mut next = self.after(from);
            while let Some(time) = next.filter(|time| *time <= until) {
                found.push_back(time);
                if found.len() > most {
                    found.pop_front();
                }
                next = self.after(time);
            }
            if found.len() >= most || from <= after {
                return found.into();
            }
            back *= 2;
        }
    }

    /// A time as the clocks of the zone show it, with its name: `2026-11-30 21:00 Europe/Berlin`.
    pub fn shown(&self, time: Timestamp) -> String {
        shown(&time.to_zoned(self.zone.clone()), &self.zone_name)
    }

    fn is_of_every_hour(&self) -> bool {
        self.cron.pattern.hours.values().len() == 24
    }

    /// When clocks show this time first, or would have shown it.
    fn first_at(&self, civil: DateTime) -> Option<Timestamp> {
        let at = |offset: Offset| offset.to_timestamp(civil).ok();
        match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => at(offset),
            AmbiguousOffset::Fold { before, .. } => at(before),
            AmbiguousOffset::Gap { before, .. } => {
                // By the clocks of before, this is the moment at which they are put forward, or a little later.
                let within = at(before)?.checked_add(SignedDuration::from_secs(1)).ok()?;
                self.zone.preceding(within).next().map(|transition| transition.timestamp())
            }
        }
    }
}

const NEVER: &str = "this time never comes: no such day is in the calendar";

fn cron(pattern: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    parser.parse(pattern).map_err(|error| match error {
        CronError::TimeSearchLimitExceeded => NEVER.to_owned(),
        CronError::InvalidPattern(why) | CronError::IllegalCharacters(why) | CronError::ComponentError(why) => {
            format!("this is no pattern of cron ({})", why.trim_end_matches('.'))
        }
        CronError::EmptyPattern | CronError::InvalidDate | CronError::InvalidTime => {
            "this is no pattern of cron".to_owned()
        }
    })
}

/// The zone of this name. A machine may lack the zones, or those that have another name by now.
fn time_zone(name: &str) -> Result<TimeZone, String> {
    let found = TimeZone::get(name).or_else(|_| TimeZoneDatabase::bundled().get(name));
    found.map_err(|_| "there is no time zone of this name".to_owned())
}

fn shown(time: &Zoned, zone: &str) -> String {
    let seconds = if time.second() == 0 { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d %H:%M:%S" };
    format!("{} {zone}", time.strftime(seconds))
}
