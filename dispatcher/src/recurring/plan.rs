//! What is to be done for recurring messages at a moment. The moment is one of the database's clock.

use jiff::Timestamp;
use outbox_config::recurring::RecurringConfig;
use outbox_store::recurring::{RecurringState, RecurringStep};

/// What is to be done for a recurring message, and when it is next due.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<RecurringStep>,
    /// None while nothing is due by itself: it is paused, or its zone's calendar ends.
    pub(super) next: Option<Timestamp>,
}

impl Plan {
    /// The plan for a message of the settings, of which the database keeps `state`.
    pub(super) fn of(recurring: &RecurringConfig, state: Option<&RecurringState>, now: Timestamp) -> Self {
        let timetable = &recurring.timetable;
        let mut plan = Self { steps: Vec::new(), next: timetable.after(now) };
        let next_ms = plan.next.map(Timestamp::as_millisecond);
        let know = |next_ms| RecurringStep::Know {
            name: recurring.name.clone(),
            cron: timetable.pattern().to_owned(),
            timezone: timetable.zone().to_owned(),
            next_ms,
        };
        let is_known =
            |state: &&RecurringState| (&*state.cron, &*state.timezone) == (timetable.pattern(), timetable.zone());
        let Some(state) = state.filter(is_known) else {
            plan.steps.push(know(next_ms));
            return plan;
        };
        if let Some((asked_ms, asked)) = state.asked_ms.and_then(|ms| Some((ms, moment(ms)?))) {
            let message = Box::new(recurring.message_by_hand(asked));
            plan.steps.push(RecurringStep::FireAsked { name: recurring.name.clone(), asked_ms, message });
        }
        if state.paused {
            plan.next = None;
            return plan;
        }
        let done = moment(state.since_ms.max(state.fired_ms.unwrap_or(i64::MIN))).unwrap_or(now);
        let due = recurring.due(done, now);
        if let [first, .., last] | [first @ last] = &due[..] {
            plan.steps.push(RecurringStep::Fire {
                name: recurring.name.clone(),
                times_ms: (first.as_millisecond(), last.as_millisecond()),
                next_ms,
                messages: due.iter().map(|time| recurring.message_of(*time)).collect(),
            });
        } else if state.next_ms != next_ms {
            plan.steps.push(know(next_ms));
        }
        plan
    }
}

fn moment(ms: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(ms).ok()
}

#[cfg(test)]
mod tests {
    use outbox_config::recurring::{Missed, Timetable};
    use outbox_schema::NewMessage;

    use super::*;

    const NOW: &str = "2026-03-01T12:00:00.250Z";

    fn recurring(missed: Missed) -> RecurringConfig {
        let timetable = Timetable::parse("@hourly", "UTC").unwrap_or_else(|why| panic!("{why}"));
        RecurringConfig { name: "todo".to_owned(), timetable, missed, message: NewMessage::new("http", "/", "{}") }
    }

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().map_or(0, Timestamp::as_millisecond)
    }

    fn state(since: &str, fired: Option<&str>) -> RecurringState {
        RecurringState {
            name: "todo".to_owned(),
            cron: "@hourly".to_owned(),
            timezone: "UTC".to_owned(),
            since_ms: ms(since),
            fired_ms: fired.map(ms),
            next_ms: Some(ms("2026-03-01T13:00:00Z")),
            asked_ms: None,
            paused: false,
        }
    }

    /// The times for which messages are written, in words of the settings.
    fn fired(missed: Missed, state: &RecurringState) -> Vec<String> {
        let plan = Plan::of(&recurring(missed), Some(state), moment(ms(NOW)).unwrap_or_default());
        let keys = plan.steps.iter().flat_map(|step| match step {
            RecurringStep::Know { .. } => &[],
            RecurringStep::Fire { messages, .. } => &messages[..],
            RecurringStep::FireAsked { message, .. } => std::slice::from_ref(message.as_ref()),
        });
        let key = |message: &NewMessage| message.content().ok()?.idempotency_key.map(str::to_owned);
        keys.map(|message| key(message).unwrap_or_default()).collect()
    }

    #[test]
    fn a_time_is_due_once() {
        let before = state("2026-02-01T00:00:00Z", Some("2026-03-01T11:00:00Z"));
        assert_eq!(fired(Missed::One, &before), ["recurring:todo:2026-03-01T12:00:00Z"]);
        let done = state("2026-02-01T00:00:00Z", Some("2026-03-01T12:00:00Z"));
        assert!(fired(Missed::One, &done).is_empty());
    }

    #[test]
    fn nothing_before_a_message_was_new_or_resumed_is_made_up_for() {
        assert!(fired(Missed::All, &state("2026-03-01T12:00:00.100Z", None)).is_empty());
        let resumed = state("2026-03-01T10:30:00Z", Some("2026-03-01T08:00:00Z"));
        let expected = ["recurring:todo:2026-03-01T11:00:00Z", "recurring:todo:2026-03-01T12:00:00Z"];
        assert_eq!(fired(Missed::All, &resumed), expected);
    }

    #[test]
    fn a_new_name_and_another_pattern_are_kept_before_anything_is_due() {
        let other = RecurringState { cron: "@daily".to_owned(), ..state("2026-02-01T00:00:00Z", None) };
        for state in [None, Some(&other)] {
            let plan = Plan::of(&recurring(Missed::All), state, moment(ms(NOW)).unwrap_or_default());
            assert!(matches!(&plan.steps[..], [RecurringStep::Know { .. }]), "{plan:?}");
        }
    }

    #[test]
    fn while_it_is_paused_only_what_somebody_asks_for_is_written() {
        let paused = RecurringState {
            paused: true,
            asked_ms: Some(ms("2026-03-01T11:59:00Z")),
            ..state("2026-02-01T00:00:00Z", None)
        };
        assert_eq!(fired(Missed::All, &paused), ["recurring:todo:by-hand:2026-03-01T11:59:00Z"]);
    }
}
