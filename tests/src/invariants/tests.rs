//! The checker convicts each breach, and acquits a sound run.

use std::time::{Duration, Instant, SystemTime};

use super::*;
use crate::fleet::Led;
use crate::receiver::Request;
use crate::tables::{AttemptRow, ClaimRow, MessageRow, Newest, TermRow};

/// Longer than a check takes.
const MOMENT: Duration = Duration::from_secs(30);

fn request(key: &str, status: Option<u16>) -> Request {
    let (key, path, arrived) = (key.to_owned(), "/".to_owned(), Instant::now());
    Request { key, path, replica: Some(0), arrived, wall_clock: SystemTime::now(), status, left: Some(arrived) }
}

fn message(id: i64, key: &str, status: &str, dead_reason: Option<&str>, attempts: i64) -> MessageRow {
    let (key, status) = (key.to_owned(), status.to_owned());
    let dead_reason = dead_reason.map(str::to_owned);
    MessageRow { id, idempotency_key: key, status, dead_reason, attempts, ordering_key: None }
}

fn term(epoch: i64) -> TermRow {
    let holder = format!("a.{epoch}");
    TermRow { epoch, holder, ended_because: None, claimed: None, delivered: None, failed: None }
}

fn in_doubt(message_id: i64, epoch: i64) -> AttemptRow {
    AttemptRow { message_id, epoch, holder: format!("a.{epoch}"), outcome: "in_doubt".to_owned(), settled: 1 }
}

/// One delivered, one delivered twice, one refused, one not yet sent.
fn sound() -> Accounts {
    Accounts {
        committed: ["once", "twice", "dead", "late"].map(str::to_owned).into(),
        rolled_back: ["undone".to_owned()].into(),
        requests: vec![
            request("once", Some(200)),
            request("twice", Some(200)),
            request("dead", Some(400)),
            request("twice", Some(200)),
        ],
        messages: vec![
            message(1, "once", "SUCCESS", None, 1),
            message(2, "twice", "SUCCESS", None, 2),
            message(3, "dead", "DEAD", Some("permanent"), 1),
            message(4, "late", "PENDING", None, 0),
        ],
        attempts: vec![in_doubt(2, 1)],
        terms: vec![term(1), term(2)],
        claims: vec![claim(1, &[1, 2]), claim(2, &[2, 3])],
        newest: Some(Newest { epoch: 2, holder: "a.2".to_owned() }),
        led: vec![led(1), led(2)],
        led_by_this_clock: true,
        limits: Limits::default(),
    }
}

/// Before any request.
fn claim(epoch: i64, message_ids: &[i64]) -> ClaimRow {
    let written = SystemTime::now() - MOMENT;
    ClaimRow { epoch, holder: format!("a.{epoch}"), message_ids: message_ids.to_vec(), written }
}

/// By replica 0, for a minute since half a minute.
fn led(epoch: i64) -> Led {
    let now = SystemTime::now();
    Led { place: 0, holder: format!("a.{epoch}"), began: now - MOMENT, ended: Some(now + MOMENT) }
}

/// Gives the messages 1 and 2 one ordering key; the first request of message 1 is answered when the first of 2 comes.
fn ordered(run: &mut Accounts) {
    for message in &mut run.messages[..2] {
        message.ordering_key = Some("shop".to_owned());
    }
    run.requests[1].arrived = run.requests[0].arrived + Duration::from_millis(5);
    run.requests[0].left = Some(run.requests[1].arrived);
}

#[test]
fn accounts_that_agree_pass_and_name_what_was_delivered_twice() {
    let report = check(&sound());
    assert_eq!(report.twice.keys().collect::<Vec<_>>(), ["twice"]);
    assert_eq!((report.messages["DEAD permanent"], report.repeats), (1, 1));
}

#[test]
fn messages_of_one_key_that_take_turns_pass() {
    let mut run = sound();
    ordered(&mut run);
    assert_eq!(breaches(&run), Vec::<String>::new());
}

#[test]
fn what_replicas_of_another_clock_claimed_is_asked_and_not_when_they_led() {
    let mut run = sound();
    run.led.iter_mut().for_each(|term| term.ended = Some(term.began));
    run.led_by_this_clock = false;
    assert_eq!(breaches(&run), Vec::<String>::new());
    run.claims.remove(0);
    assert!(!breaches(&run).is_empty());
}

#[test]
fn a_poller_that_was_struck_counts_once_and_where_another_followed() {
    let ended = |(epoch, in_flight): (i64, Option<i64>)| TermRow {
        claimed: in_flight.map(|in_flight| in_flight + 100),
        delivered: in_flight.map(|_| 100),
        ..term(epoch)
    };
    let terms: Vec<_> = [(1, None), (2, Some(7)), (3, Some(0)), (4, Some(7)), (5, Some(7))].map(ended).into();
    assert_eq!(hand_overs_under_load(&terms), 2);
    let changes = |struck: &[i64]| changes_under_load(&terms, &struck.iter().copied().collect());
    assert_eq!((changes(&[]), changes(&[1]), changes(&[2, 4]), changes(&[5])), (2, 3, 2, 2));
}

#[test]
fn each_breach_is_convicted() {
    type Breach = fn(&mut Accounts);
    let convicted: [(Breach, &str); 25] = [
        (|run| drop(run.messages.pop()), "late was committed, and the outbox does not have it"),
        (|run| run.committed.retain(|key| key != "late"), "late is in the outbox, and was not committed"),
        (|run| run.requests.push(request("undone", Some(200))), "\"undone\" was rolled back, and was sent"),
        (|run| run.requests.push(request("other", None)), "\"other\" is nobody's, and was sent"),
        (|run| run.terms[0].epoch = 2, "epoch 2 was followed by epoch 2"),
        (|run| drop(run.terms.pop()), "outbox_term says Some((2, \"a.2\")), and outbox_term_log Some((1, \"a.1\"))"),
        (|run| run.requests[0].status = Some(500), "once is SUCCESS, and was never accepted"),
        (|run| run.messages[2].dead_reason = None, "dead is DEAD for the reason None"),
        (|run| run.messages[3].status = "LOST".to_owned(), "late is LOST for the reason None"),
        (|run| run.messages[1].attempts = 1, "twice was sent 2 times, and 1 attempts were counted"),
        (|run| run.attempts.clear(), "twice was accepted 2 times, and 0 attempts were in doubt"),
        (
            |run| run.attempts[0].holder = "b.1".to_owned(),
            "an attempt of message 2 names epoch 1 of b.1, which never was",
        ),
        (|run| run.attempts[0] = in_doubt(2, 2), "message 2 was settled as in doubt of epoch 2, which is the newest"),
        (
            |run| {
                run.requests.push(request("dead", Some(400)));
                run.messages[2].attempts = 2;
            },
            "dead was sent 2 times, and 0 attempts on record explain it",
        ),
        (
            |run| run.attempts[0].outcome = "delivered_fenced".to_owned(),
            "twice was sent 2 times, and 0 attempts on record explain it",
        ),
        (
            |run| run.claims[1].message_ids = vec![3],
            "twice was sent 2 times by replica 0, which had claimed it 1 times",
        ),
        (|run| run.claims[0].written += 2 * MOMENT, "once was sent 1 times by replica 0, which had claimed it 0 times"),
        (
            |run| run.claims[1].written += 2 * MOMENT,
            "twice was sent 2 times by replica 0, which had claimed it 1 times",
        ),
        (|run| run.limits.max_attempts = 1, "twice has 2 attempts, and a budget of 1"),
        (|run| run.limits.max_in_flight = 0, "epoch 1 left 1 messages in doubt, and 0 may be in flight"),
        (|run| run.limits.at_most_once = true, "twice was accepted 2 times, and its channel sends at most once"),
        (|run| run.requests[0].replica = Some(1), "once was sent by replica 1, which did not lead then"),
        (
            |run| run.led.iter_mut().for_each(|term| term.ended = Some(term.began)),
            "once was sent by replica 0, which did not lead then",
        ),
        (
            |run| {
                ordered(run);
                run.requests[0].arrived = run.requests[1].arrived + Duration::from_millis(1);
            },
            "twice overtook once, both of the ordering key shop",
        ),
        (
            |run| {
                ordered(run);
                run.requests[0].left = None;
            },
            "twice overlapped once, both of the ordering key shop",
        ),
    ];
    for (breach, said) in convicted {
        let mut run = sound();
        breach(&mut run);
        let breaches = breaches(&run);
        assert!(breaches.iter().any(|breach| breach == said), "{said:?} in {breaches:?}");
    }
}
