//! The longer sentences about why a message has not been sent.

use outbox_desk::COUNTED;
use outbox_schema::{MessageId, channel_name};

use super::Holder;
use super::words::{known, said};
use crate::text::{span, to_the_second};
use outbox_dispatcher::schedule::WhyNot;

/// The sentence behind that about a missing poller: which replicas could poll, and what keeps them from it.
pub(super) fn who_runs(running: usize, trouble: Option<&String>) -> String {
    let run = if running == 1 { "1 replica runs".to_owned() } else { format!("{running} replicas run") };
    match (running, trouble) {
        (0, _) => {
            "Is one running (`outbox run`)? `outbox status` says which replicas run, and what keeps them from polling."
                .to_owned()
        }
        (_, Some(trouble)) => format!("{run}; {}.", trouble.trim_end_matches('.')),
        (_, None) => {
            format!("{run}, and no trouble is told: where it stays so, see /readyz and the logs.")
        }
    }
}

pub(super) fn cancelled(by: Option<&str>, why: Option<&String>) -> String {
    format!("cancelled by {}{}", by.unwrap_or("somebody whom the audit does not name"), said(": ", why))
}

pub(super) fn died(reason: Option<&str>, attempts: i32, error: Option<&String>) -> String {
    let error = said(": ", error);
    match (reason, attempts) {
        (None, _) => format!("without a reason{error}"),
        (Some(reason), 0) => format!("`{reason}`, before any attempt{error}"),
        (Some(reason), 1) => format!("`{reason}`, after 1 attempt{error}"),
        (Some(reason), more) => format!("`{reason}`, after {more} attempts{error}"),
    }
}

/// What an operator can do about a dead letter.
pub(super) fn remedy(reason: Option<&str>, id: MessageId, edited_by: Option<&String>) -> String {
    let redrive = format!("`outbox dead-letters redrive {id}`");
    let edited = edited_by.filter(|_| reason == Some("permanent"));
    if let Some(by) = edited {
        return format!("It was edited since, by {by}. To send it again: {redrive}.");
    }
    match reason {
        Some("permanent") => format!(
            "Mend what was refused, the message (`outbox dead-letters edit {id}`) or its channel, and send it again: \
             {redrive}."
        ),
        Some("exhausted") => format!("Once the other side takes messages again: {redrive}."),
        Some("expired") => format!("To send it all the same, without the expiry that has passed: {redrive}."),
        Some("in_doubt") => format!(
            "Nobody knows whether it was delivered, and its channel sends at most once: ask the receiver for its \
             idempotency key. If it is not there: {redrive}; if it is: `outbox dead-letters purge {id}`."
        ),
        Some(_) | None => format!("To send it after all: {redrive}."),
    }
}

pub(super) fn unknown_status(status: &str) -> String {
    format!(
        "Its status is {status:?}, which no poller knows: it is PENDING, SUCCESS or DEAD. Whoever wrote it must set it \
         right."
    )
}

pub(super) fn accepted_unmarked(at: Option<&String>, holder: &Holder, epoch: i64, error: Option<&String>) -> String {
    format!(
        "It was sent: the receiver accepted it at {}, and {holder} could not record that in epoch {epoch}{}. Give the right, and it is \
         recorded; where that process has ended, its channel's in_doubt decides.",
        known(at),
        said(": ", error)
    )
}

pub(super) fn in_flight(since: &str, holder: &Holder, epoch: i64, gate_closed_at: Option<&String>) -> String {
    let ended = gate_closed_at.map_or_else(String::new, |at| {
        format!(", whose term ended at {}; what it had sent by then may still be answered", to_the_second(at))
    });
    format!("It is in flight since {}: claimed by {holder} in epoch {epoch}{ended}.", to_the_second(since))
}

pub(super) fn being_settled(since: &str, holder: &Holder, epoch: i64, until: Option<&String>) -> String {
    format!(
        "It is being settled until {}: {holder} claimed it at {} in epoch {epoch}, an earlier term, and it was not \
         marked since. Its answer may still come until then: the replica that sent it goes on after the hand-over, and marks \
         what comes. Unmarked then, it is in doubt, and goes by `in_doubt` of its channel.",
        known(until),
        to_the_second(since)
    )
}

pub(super) fn not_configured(
    channel: &str,
    put_off_until: Option<&String>,
    poller: Option<&String>,
    at_replicas: bool,
) -> String {
    let place = if at_replicas { "at the replicas" } else { "here" };
    let put_off = put_off_until.map_or_else(String::new, |until| {
        format!("; it is put off until {} and looked at again then", to_the_second(until))
    });
    if let Some(poller) = poller {
        return format!(
            "Its channel {channel:?} is not configured at the poller {poller}, and other replicas have it{put_off}. Add \
             [channels.{channel}] to the settings of that replica, and have it read them (SIGHUP)."
        );
    }
    match channel_name::check(channel) {
        Ok(()) => format!(
            "Its channel {channel:?} is not configured {place}{put_off}. Add [channels.{channel}] to the settings of the \
             replicas, and have them read it (SIGHUP)."
        ),
        Err(why) => format!(
            "Its channel {channel:?} is not configured {place}{put_off}. No channel can be called so: {why}; allowed is {}. \
             Cancel it (`outbox messages cancel`), and have it inserted for another channel.",
            channel_name::ALLOWED
        ),
    }
}

pub(super) fn halted(ordering_key: &str, behind: MessageId, dead_reason: Option<&String>) -> String {
    format!(
        "It waits behind message {behind} of its ordering key {ordering_key:?}, a dead letter{}, and its channel halts \
         at those. Send that one (`outbox dead-letters redrive {behind}`) or delete it (`outbox dead-letters purge \
         {behind}`).",
        dead_reason.map_or_else(String::new, |reason| format!(" (`{reason}`)"))
    )
}

pub(super) fn waits_behind(ordering_key: &str, behind: MessageId, waiting: i64, because: Option<&str>) -> String {
    let place = match waiting {
        ..=1 => String::new(),
        COUNTED.. => format!(", the first of {COUNTED} or more before it"),
        some => format!(", the first of {some} before it"),
    };
    let because = because.map_or_else(String::new, |because| format!(" Of message {behind}: {because}"));
    format!("It waits behind message {behind} of its ordering key {ordering_key:?}{place}.{because}")
}

pub(super) fn key_in_flight(ordering_key: &str, message: MessageId) -> String {
    format!(
        "It waits for message {message} of its ordering key {ordering_key:?}, which comes after it and is in flight \
         already: they go out one at a time."
    )
}

pub(super) fn invalid_target(channel: &str, target: &str, since: &str, reason: Option<&String>) -> String {
    format!(
        "Its target is known to be gone since {}{}. If it is back, forget that: `outbox invalid-targets clear --channel {} \
         -- {}`.",
        to_the_second(since),
        said(": ", reason),
        shell_word(channel),
        shell_word(target)
    )
}

/// The text as one word of a shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

pub(super) fn paused(
    destination: &str,
    until: &str,
    remaining_ms: Option<i64>,
    by: Option<&String>,
    reason: Option<&String>,
) -> String {
    let (by, reason) = (said(", by ", by), said(": ", reason));
    match remaining_ms {
        None => format!(
            "{destination} is paused until somebody resumes it (`outbox destinations resume {destination}`){by}{reason}."
        ),
        Some(ms) => {
            format!("{destination} is paused until {} (another {}){by}{reason}.", to_the_second(until), span(ms))
        }
    }
}

pub(super) fn breaker_open(
    destination: &str,
    until: &str,
    remaining_ms: Option<i64>,
    failures: i32,
    reason: Option<&String>,
) -> String {
    let times = match failures {
        ..=1 => String::new(),
        2 => ", for the second time in a row".to_owned(),
        3 => ", for the third time in a row".to_owned(),
        more => format!(", {more} times in a row"),
    };
    format!(
        "The breaker of {destination} is open{times}: too many attempts failed{}. It is tried again at {}.",
        said(", the last with ", reason),
        later(until, remaining_ms)
    )
}

pub(super) fn put_aside(
    destination: &str,
    until: &str,
    in_ms: Option<i64>,
    since: &str,
    waiting: i64,
    reason: Option<&String>,
) -> String {
    let rows = if waiting == 1 { "1 row".to_owned() } else { format!("{waiting} rows") };
    format!(
        "{rows} of {destination} are put aside{}. Due from {} on, it is met again at {}.",
        said(": ", reason),
        to_the_second(since),
        later(until, in_ms)
    )
}

pub(super) fn put_off(since: &str, until: &str, error: Option<&str>) -> String {
    let (since, until) = (to_the_second(since), to_the_second(until));
    match error {
        Some(error) => {
            format!(
                "Due from {since} on, it was put off until {until}. Its last attempt was not counted, and failed: {error}."
            )
        }
        None => format!(
            "Due from {since} on, it was put off until {until}; the pause that did it is over, or its channel is configured \
             by now."
        ),
    }
}

/// A future time, and how far off it is.
pub(super) fn later(at: &str, in_ms: Option<i64>) -> String {
    let off = in_ms.map_or_else(String::new, |ms| format!(" (in {})", span(ms)));
    format!("{}{off}", to_the_second(at))
}

pub(super) fn expired(at: &str) -> String {
    format!(
        "It expired at {}: the next poll that meets it makes it a dead letter, `expired`, and does not send it.",
        to_the_second(at)
    )
}

pub(super) fn used_up(attempts: i32, of: i64) -> String {
    format!("It has had {attempts} of {of} attempts: the next poll that meets it makes it a dead letter, `exhausted`.")
}

pub(super) fn too_old(tried_for_ms: i64, max_age_ms: i64) -> String {
    format!(
        "Its first attempt is {} ago, and its channel retries for {} (max_age): the next poll that meets it makes it a dead \
         letter, `exhausted`.",
        span(tried_for_ms),
        span(max_age_ms)
    )
}

pub(super) fn wrong_max_attempts(max_attempts: i32) -> String {
    format!(
        "Its max_attempts is {max_attempts}, and must be 1 or more: the next poll that meets it makes it a dead letter, \
         `permanent`."
    )
}

/// A sentence about a term that its poller ended in order.
pub(super) fn ended(shard: i32, epoch: i64, holder: &Holder, at: &str, because: Option<&String>) -> String {
    let because = because.map_or_else(String::new, |because| format!(" ({because})"));
    format!(
        "Nobody polls shard {shard} since {}: the term of {holder}, epoch {epoch}, ended then{because}",
        to_the_second(at)
    )
}

/// A sentence about a term that has no recorded end, and is too old to last still.
pub(super) fn silent(shard: i32, epoch: i64, holder: &Holder, began: &str, began_ms: i64) -> String {
    format!(
        "Nobody seems to poll shard {shard}: the last term, epoch {epoch} of {holder}, began at {}, {} ago, which is \
         longer than a term lasts",
        to_the_second(began),
        span(began_ms)
    )
}

pub(super) fn suspect(attempt: i32, epoch: i64, holder: &Holder) -> String {
    format!(
        "It may be held back for a moment: attempt {attempt} was in flight when its poller died, epoch {epoch} on \
         {holder}, and such messages go out one by one for each destination, in case one of them is why. Whose turn it \
         is, only the poller knows."
    )
}

pub(super) fn backlog(ahead: i64, oldest_ms: Option<i64>, tenant: Option<&str>, of_tenant: i64) -> String {
    let more = |count: i64| if count >= COUNTED { " or more" } else { "" };
    let oldest = oldest_ms.map_or_else(String::new, |ms| format!("; the first of them has been due for {}", span(ms)));
    let turn = tenant.map_or_else(String::new, |tenant| {
        format!(
            " It waits its turn: tenant {tenant} has {of_tenant}{} of these, and takes turns with the others.",
            more(of_tenant)
        )
    });
    format!(
        "It is due, and {ahead}{} due messages without an ordering key are before it, those in flight among them{oldest}.{turn}",
        more(ahead)
    )
}

/// `of`: what the destination has in flight, and the most that it may have.
pub(super) fn waits_at_poller(
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
        Some(WhyNot::SlowStart) => format!(
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
    fn a_channel_is_not_configured_at_the_replicas_where_their_settings_were_read() {
        assert!(not_configured("late", None, None, true).contains("is not configured at the replicas."));
        assert!(not_configured("late", None, None, false).contains("is not configured here."));
    }

    #[test]
    fn nobody_is_asked_to_start_a_replica_where_one_runs() {
        assert!(who_runs(0, None).starts_with("Is one running"));
        assert!(who_runs(1, None).starts_with("1 replica runs, and no trouble is told"));
        assert_eq!(who_runs(3, Some(&"r1 says: no Redis".to_owned())), "3 replicas run; r1 says: no Redis.");
    }

    #[test]
    fn a_breaker_counts_as_people_do() {
        let sentences = [1, 2, 3, 4, 11, 21].map(|failures| breaker_open("d", "t", None, failures, None));
        let times = sentences.map(|said| said.split(':').next().unwrap_or_default().to_owned());
        assert_eq!(times[0], "The breaker of d is open");
        assert_eq!(times[1], "The breaker of d is open, for the second time in a row");
        assert_eq!(times[2], "The breaker of d is open, for the third time in a row");
        assert_eq!(times[3], "The breaker of d is open, 4 times in a row");
        assert_eq!(times[5], "The breaker of d is open, 21 times in a row");
    }

    #[test]
    fn a_channel_that_no_settings_can_have_is_not_asked_for() {
        assert!(not_configured("hooks", None, None, false).contains("Add [channels.hooks] to the settings"));
        for name in ["HTTP", "a.b", ""] {
            let sentence = not_configured(name, None, None, false);
            assert!(sentence.contains("No channel can be called so") && !sentence.contains("[channels."), "{sentence}");
        }
    }

    #[test]
    fn the_words_of_the_schedule_name_what_the_message_waits_for() {
        let said = |why: WhyNot| waits_at_poller(why.as_str(), "https://shop", "acme", Some((8, 8)), Some("is paused"));
        assert!(said(WhyNot::Full).contains("in flight as it may have: 8 of 8."));
        assert!(said(WhyNot::Closed).contains("https://shop takes nothing for now: it is paused."));
        assert!(said(WhyNot::Bytes).contains("dispatch.max_bytes"));
        assert!(said(WhyNot::SlowStart).contains("has never answered"));
        assert!(said(WhyNot::Turn).contains("tenant acme"));
    }
}
