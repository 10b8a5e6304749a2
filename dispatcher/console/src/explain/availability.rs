//! What a destination may be sent now, in words.

use std::time::Duration;

use outbox_dispatcher::destinations::{Closed, DestinationNow, Standing};

use crate::text::span;

/// Whether the destination takes more messages, as its poller sees it.
pub fn availability(now: &DestinationNow) -> String {
    let length = |time: Duration| span(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    match &now.standing {
        Standing::Room(_) if now.is_tried => "is tried with a few messages".to_owned(),
        Standing::Room(room) => format!("takes {room} more"),
        Standing::Full => "takes more once it has answered".to_owned(),
        Standing::Closed(Closed::Paused { .. }) => "is paused".to_owned(),
        Standing::Closed(Closed::Broken { remaining }) => {
            format!("is tried again in {}: its breaker is open", length(*remaining))
        }
        Standing::Closed(Closed::Probing) => "is tried, and has not answered yet".to_owned(),
        Standing::Closed(Closed::OverRate { .. }) => "was sent what its rate allows".to_owned(),
        Standing::Closed(Closed::Slow { pace, share }) => {
            format!("answers slowly, in {}, and may have {share} in flight", length(*pace))
        }
    }
}
