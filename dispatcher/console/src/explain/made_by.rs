//! The recurring message that made a message, as its idempotency key tells.

use jiff::Timestamp;
use outbox_config::recurring::Timetable;
use outbox_desk::RecurringEntry;

/// The recurring message that made a message with this key, and for which time.
pub(super) fn made_by(recurring: &RecurringEntry, key: &str) -> Option<String> {
    let RecurringEntry { name, cron, timezone, .. } = recurring;
    let of_name = key.strip_prefix("recurring:")?.strip_prefix(name.as_str())?.strip_prefix(':')?;
    let (by_hand, time) = of_name.strip_prefix("by-hand:").map_or((false, of_name), |time| (true, time));
    let time: Timestamp = time.parse().ok()?;
    // The zone may be of a release that knows others.
    let shown = Timetable::parse(cron, timezone).map_or_else(|_| time.to_string(), |timetable| timetable.shown(time));
    let why = if by_hand { "by hand at" } else { "for" };
    Some(format!("made by recurring.{name} {why} {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_which_recurring_message_it_is_of_and_the_time_by_its_own_clocks() {
        let todo = RecurringEntry {
            name: "todo".to_owned(),
            cron: "0 21 * * *".to_owned(),
            timezone: "Europe/Berlin".to_owned(),
            fired_for: None,
            next_at: None,
            asked_at: None,
            paused_at: None,
            paused_by: None,
        };
        for (key, said) in [
            ("recurring:todo:2026-11-30T20:00:00Z", Some("made by recurring.todo for 2026-11-30 21:00 Europe/Berlin")),
            (
                "recurring:todo:by-hand:2026-06-30T10:00:07.25Z",
                Some("made by recurring.todo by hand at 2026-06-30 12:00:07 Europe/Berlin"),
            ),
            ("recurring:todo:soon", None),
            ("recurring:other:2026-11-30T20:00:00Z", None),
            ("order-17", None),
        ] {
            assert_eq!(made_by(&todo, key).as_deref(), said, "{key}");
        }
    }
}
