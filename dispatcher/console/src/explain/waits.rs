//! What a due message waits for, as the schedule of the poller says it.

use outbox_desk::MessageRecord;
use outbox_schema::MessageId;

use super::NotSent;
use super::availability::availability;
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_dispatcher::schedule::WhyNot;

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
        standing: now.as_ref().map(availability),
    })
}
