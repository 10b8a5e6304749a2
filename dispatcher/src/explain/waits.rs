//! What a due message waits for, as the schedule of the poller says it.

use outbox_schema::MessageId;
use outbox_schema::desk::MessageRecord;

use super::NotSent;
use crate::poller::schedule_now::ScheduleNow;
use crate::schedule::WhyNot;

/// What keeps the message at the poller. None where this process does not poll, has not read the message, or where the database says
/// as much: a claim names it, or its ordering key keeps it.
pub(super) async fn of(message: &MessageRecord, schedule: &ScheduleNow) -> Option<NotSent> {
    let id = MessageId(message.id);
    let why = schedule.ask(move |schedule| schedule.why_not(id)).await??;
    if matches!(why, WhyNot::InFlight | WhyNot::Held | WhyNot::Key) {
        return None;
    }
    let now = schedule.destination(&message.destination);
    Some(NotSent::Waits {
        why: why.as_str().to_owned(),
        destination: message.destination.clone(),
        tenant: message.tenant.as_ref().unwrap_or(&message.destination).clone(),
        in_flight: now.as_ref().map(|now| now.in_flight),
        window: now.as_ref().map(|now| now.window),
        standing: now.map(|now| now.standing),
    })
}

/// `of`: what the destination has in flight, and the most that it may have.
pub(super) fn sentence(
    why: &str,
    destination: &str,
    tenant: &str,
    of: Option<(usize, usize)>,
    standing: Option<&str>,
) -> String {
    let says = match WhyNot::ALL.into_iter().find(|known| known.as_str() == why) {
        Some(WhyNot::Full) => {
            let of = of.map_or_else(String::new, |(is, may)| format!(": {is} of {may}"));
            format!(
                "{destination} has as many messages in flight as it may have{of}. The message goes once one is answered."
            )
        }
        Some(WhyNot::Closed) => {
            let standing = standing.map_or_else(String::new, |standing| format!(": it {standing}"));
            format!("{destination} takes nothing for now{standing}.")
        }
        Some(WhyNot::Bytes) => "It is large, or behind a large one for the same destination. \
             It goes once enough of `dispatch.max_bytes` is free."
            .to_owned(),
        Some(WhyNot::Strangers) => format!(
            "{destination} has never answered. Such destinations share a part of the slots, and that part is taken. The message goes \
             once another has answered, or has not for a second."
        ),
        _ => format!("It waits its turn: other messages of tenant {tenant}, or other tenants, go before it."),
    };
    format!("The poller has read it. {says}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_schedule_name_what_the_message_waits_for() {
        let said = |why: WhyNot| sentence(why.as_str(), "https://shop", "acme", Some((8, 8)), Some("is paused"));
        assert!(said(WhyNot::Full).contains("in flight as it may have: 8 of 8."));
        assert!(said(WhyNot::Closed).contains("https://shop takes nothing for now: it is paused."));
        assert!(said(WhyNot::Bytes).contains("dispatch.max_bytes"));
        assert!(said(WhyNot::Strangers).contains("has never answered"));
        assert!(said(WhyNot::Turn).contains("tenant acme"));
    }
}
