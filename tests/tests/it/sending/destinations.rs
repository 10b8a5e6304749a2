//! Destinations that are down, slow or limited, with the real program and on each database: each delays its own messages only.

use std::time::{Duration, Instant};

use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_tests::eventually;
use outbox_tests::receiver::{Manner, Receiver};
use rustix::process::Signal;

use crate::outboxes::{self, Outbox};
use crate::program::{PATIENCE, Program};

/// A failed attempt is soon repeated where its destination is up.
const CHANNEL: &str = "kind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nbase = \"100ms\"";

fn program(outbox: &Outbox, more: &str) -> Program {
    Program::new(&outbox.test.url, &format!("[lease]\nttl = \"5s\"\n[channels.http]\n{CHANNEL}\n{more}\n"))
}

/// Enqueues so many messages to `url`.
async fn enqueue(outbox: &Outbox, count: usize, url: &str) {
    let messages: Vec<_> = (0..count).map(|_| NewMessage::http(url)).collect();
    outbox.enqueue(&messages).await;
}

async fn delivered(outbox: &Outbox, count: i64) {
    let all = async || {
        let done = outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await;
        (done == count).then_some(())
    };
    eventually("all are delivered", PATIENCE, all).await;
}

/// An origin at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/hook", listener.local_addr().unwrap())
}

/// Their attempts count, and the credential works for the others.
#[tokio::test]
async fn targets_that_a_receiver_refuses_do_not_keep_the_other_messages_of_their_channel_waiting() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/forbidden", Manner::Answer(vec![403]));
        let refused = NewMessage::http("/forbidden").priority(3).max_attempts(2);
        outbox.enqueue(&vec![refused; 64]).await;
        enqueue(&outbox, 50, "/ok").await;
        let channel = format!("auth = {{ bearer = \"key\" }}\nbase_url = \"{}\"", receiver.url());
        // Not until nothing is due: a second attempt may be due a moment later.
        let program = program(&outbox, &channel);
        let replica = program.start();
        delivered(&outbox, 50).await;
        let ended =
            async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await == 0).then_some(());
        eventually("each has ended", PATIENCE, ended).await;
        replica.stop(Signal::TERM).await;
        let dead = "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND dead_reason = 'exhausted' AND attempts = 2 \
                    AND last_status_code = 403 AND last_error LIKE '%answered 403%check the credential of the channel%'";
        assert_eq!(outbox.number(dead).await, 64);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_destination WHERE pause_kind = 'barred'").await, 0);
    }
}

/// No attempt is counted while the channel waits.
#[tokio::test]
async fn a_channel_whose_credential_is_refused_by_all_its_targets_waits_and_counts_no_attempt() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        let messages: Vec<_> = (0..40).map(|number| NewMessage::http(format!("/{number}"))).collect();
        for number in 0..40 {
            receiver.behave(&format!("/{number}"), Manner::Answer(vec![401]));
        }
        outbox.enqueue(&messages).await;
        let channel = format!("auth = {{ bearer = \"key\" }}\nbase_url = \"{}\"", receiver.url());
        let program = program(&outbox, &channel);
        let replica = program.start();
        let barred = async || {
            let barred = "SELECT count(*) FROM outbox_destination WHERE destination = 'http' AND pause_kind = 'barred'";
            (outbox.number(barred).await == 1).then_some(())
        };
        eventually("the channel waits", PATIENCE, barred).await;
        replica.stop(Signal::TERM).await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD' OR attempts > 1").await, 0);
        assert!(outbox.number("SELECT count(*) FROM outbox WHERE attempts = 1").await <= 4);
    }
}

/// A key that no receiver knows. They answer as the receivers of docs/http.md do.
const SIGNED: &str = "signing_keys = [\"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"]";

#[tokio::test]
async fn a_signed_channel_whose_every_message_is_refused_waits_and_says_that_its_key_may_be_wrong() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/hook", Manner::Answer(vec![400]));
        enqueue(&outbox, 40, &format!("{}/hook", receiver.url())).await;
        let program = program(&outbox, SIGNED);
        let mut replica = program.start();
        let said = replica.says("signature.refused").await;
        assert!(said.contains("signing_keys may be wrong") && said.contains("http"), "{said}");
        let tried = async || {
            let tried = "SELECT count(*) FROM outbox WHERE status = 'PENDING' AND last_status_code = 400 \
                         AND last_error LIKE '%or channels.http.signing_keys%'";
            (outbox.number(tried).await == 40).then_some(())
        };
        eventually("all were refused, and wait", PATIENCE, tried).await;
        let counted = "SELECT count(*) FROM outbox WHERE attempts > 0";
        assert!(outbox.number(counted).await <= 4, "attempts count before five messages were refused, and not after");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_destination WHERE pause_kind IS NOT NULL").await, 0);
        let spared = outbox.number("SELECT max(id) FROM outbox WHERE deferred_from IS NOT NULL").await.to_string();
        let explained = program.run(&["messages", "explain", &spared, "--json"]).await.json().to_string();
        assert!(explained.contains("or channels.http.signing_keys"), "{explained}");

        receiver.behave("/hook", Manner::Answer(vec![200]));
        enqueue(&outbox, 1, &format!("{}/hook", receiver.url())).await;
        delivered(&outbox, 41).await;
        replica.stop(Signal::TERM).await;
    }
}

/// Receivers of one channel are strangers to each other.
#[tokio::test]
async fn messages_that_receivers_of_a_signed_channel_refuse_hold_up_no_others_and_die_once_others_are_delivered() {
    for outbox in outboxes::each().await {
        let (hostile, good) = (Receiver::start(Duration::ZERO), Receiver::start(Duration::ZERO));
        for number in 0..64 {
            hostile.behave(&format!("/{number}"), Manner::Answer(vec![if number % 2 == 0 { 400 } else { 401 }]));
        }
        let refused = |number| NewMessage::http(format!("{}/{number}", hostile.url())).priority(3);
        outbox.enqueue(&(0..64).map(refused).collect::<Vec<_>>()).await;
        let program = program(&outbox, SIGNED);
        let mut replica = program.start();
        replica.says("signature.refused").await;
        let began = Instant::now();
        enqueue(&outbox, 50, &format!("{}/ok", good.url())).await;
        delivered(&outbox, 50).await;
        assert!(began.elapsed() < Duration::from_secs(30), "a channel that waits does so for a minute");
        let dead = async || {
            // One that was first tried after the last delivery waits for the next one.
            enqueue(&outbox, 1, &format!("{}/ok", good.url())).await;
            let dead = "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND dead_reason = 'permanent'";
            (outbox.number(dead).await == 64).then_some(())
        };
        eventually("the others are dead letters", PATIENCE, dead).await;
        replica.stop(Signal::TERM).await;
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_know_its_own_path_for_a_while_is_waited_for_where_the_settings_say_so() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/hook", Manner::Answer(vec![404, 404, 200]));
        receiver.behave("/never", Manner::Answer(vec![501]));
        enqueue(&outbox, 3, &format!("{}/hook", receiver.url())).await;
        enqueue(&outbox, 1, &format!("{}/never", receiver.url())).await;
        let program = program(&outbox, "retry_statuses = [404]\ndead_statuses = [\"5xx\"]");
        let replica = program.start();
        delivered(&outbox, 3).await;
        let dead = "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND attempts = 1 AND last_status_code = 501";
        let died = async || (outbox.number(dead).await == 1).then_some(());
        eventually("what dead_statuses names is dead", PATIENCE, died).await;
        replica.stop(Signal::TERM).await;
    }
}

/// The failures that open the breaker count; after them only a few messages are sent to see whether it is up again.
#[tokio::test]
async fn a_destination_that_is_down_burns_no_attempt_of_its_messages() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/hook", Manner::Answer(vec![503]));
        enqueue(&outbox, 300, &format!("{}/hook", receiver.url())).await;
        let program = program(&outbox, "");
        let mut replica = program.start();
        replica.says("breaker.opened").await;
        if outbox.dialect() == Dialect::Postgres {
            // Once more, by those that it lets through.
            replica.says("breaker.opened").await;
        }
        let sent = receiver.count();
        assert!(sent <= 64, "{sent} requests to a destination that is down");

        receiver.behave("/hook", Manner::Answer(vec![200]));
        replica.says("breaker.closed").await;
        delivered(&outbox, 300).await;
        let integer = if outbox.dialect() == Dialect::MySql { "SIGNED" } else { "BIGINT" };
        let counted = outbox.number(&format!("SELECT CAST(sum(attempts) AS {integer}) FROM outbox")).await;
        assert_eq!(counted, 300 + 4, "those that opened the breaker, but for the last, and none after them");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE deferred_from IS NOT NULL").await, 0);
        replica.stop(Signal::TERM).await;
    }
}

#[tokio::test]
async fn a_dead_and_a_slow_destination_leave_the_slots_to_the_others() {
    for outbox in outboxes::each().await {
        let (slow, healthy) = (Receiver::start(Duration::ZERO), Receiver::start(Duration::ZERO));
        slow.behave("/hook", Manner::Hang);
        enqueue(&outbox, 2_000, &nobody()).await;
        enqueue(&outbox, 2_000, &format!("{}/hook", slow.url())).await;
        enqueue(&outbox, 1_000, &format!("{}/hook", healthy.url())).await;
        let program = program(&outbox, "timeout = \"5m\"");
        let replica = program.start();
        delivered(&outbox, 1_000).await;
        assert_eq!(healthy.count(), 1_000);
        assert!(slow.count() <= 32, "{} of the slots wait for one that never answers", slow.count());
        assert!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING' AND attempts > 0").await <= 4);

        // What would only be met again and again is moved out of the way.
        let aside = async || {
            let due = "SELECT count(*) FROM outbox WHERE status = 'PENDING' AND deferred_from IS NULL";
            (outbox.number(due).await <= 32).then_some(())
        };
        eventually("the others are put aside", PATIENCE, aside).await;
        drop(replica);
    }
}

#[tokio::test]
async fn a_breaker_stays_open_when_the_poller_is_killed() {
    for outbox in outboxes::each().await {
        let (down, up) = (Receiver::start(Duration::ZERO), Receiver::start(Duration::ZERO));
        down.behave("/hook", Manner::Answer(vec![503]));
        enqueue(&outbox, 50, &format!("{}/hook", down.url())).await;
        // What is in flight when it is killed waits for so long before it is sent again.
        let program = program(&outbox, "timeout = \"2s\"");
        let mut first = program.start();
        first.says("breaker.opened").await;
        // The pause is on record, and the rest put aside, as soon as their marks are in.
        let paused = async || {
            let sql =
                "SELECT count(*) FROM outbox_destination WHERE pause_kind = 'breaker' AND paused_until IS NOT NULL";
            (outbox.number(sql).await == 1).then_some(())
        };
        eventually("the pause is on record", PATIENCE, paused).await;
        first.stop(Signal::KILL).await;
        let sent = down.count();

        let mut second = program.start();
        second.says("term.began").await;
        enqueue(&outbox, 1, &format!("{}/hook", up.url())).await;
        delivered(&outbox, 1).await;
        // On a slow machine the pause may be over, and it is probed.
        assert!(down.count() <= sent + 3, "a new poller knows that it is down: {} after {sent}", down.count());
        down.behave("/hook", Manner::Answer(vec![200]));
        delivered(&outbox, 51).await;
        second.stop(Signal::TERM).await;
    }
}

/// Also where its messages wait in front of the others, and nothing is known of the host.
#[tokio::test]
async fn one_webhook_of_a_host_that_asks_to_be_left_alone_keeps_the_others_of_its_host_waiting_for_nothing() {
    for outbox in outboxes::each().await {
        let host = Receiver::start(Duration::ZERO);
        host.behave("/noisy", Manner::Busy(429, Duration::from_mins(1)));
        enqueue(&outbox, 10, &format!("{}/noisy", host.url())).await;
        let calm = |number: i64| NewMessage::http(format!("{}/calm/{}", host.url(), number % 4));
        outbox.enqueue(&(0..40).map(calm).collect::<Vec<_>>()).await;
        let program = program(&outbox, "");
        let replica = program.start();
        for round in 1..=3 {
            delivered(&outbox, 40 * round).await;
            enqueue(&outbox, 10, &format!("{}/noisy", host.url())).await;
            outbox.enqueue(&(0..40).map(calm).collect::<Vec<_>>()).await;
        }
        delivered(&outbox, 160).await;
        let requests = host.requests();
        let (calm, noisy): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.path.starts_with("/calm"));
        let took = calm[159].arrived - requests[0].arrived;
        assert!(took < Duration::from_secs(50), "{:?}: the calm ones took {took:?}", outbox.dialect());
        assert!(noisy.len() >= 30, "{} were sent", noisy.len());
        let waits = "SELECT count(*) FROM outbox WHERE status = 'PENDING' AND attempts > 0 AND last_status_code = 429";
        assert!(outbox.number(waits).await >= 30, "the attempts count");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_destination WHERE paused_until IS NOT NULL").await, 0);
        replica.stop(Signal::TERM).await;
    }
}

/// A gateway says 503 also where it lost the connection to a receiver that has the message.
#[tokio::test]
async fn at_most_once_a_503_is_in_doubt_and_not_sent_again_but_where_it_says_when_or_is_listed() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/gateway", Manner::Answer(vec![503, 200]));
        receiver.behave("/later", Manner::Busy(503, Duration::from_secs(1)));
        let to = |channel, path| NewMessage::new(channel, format!("{}{path}", receiver.url()), "{}");
        outbox.enqueue(&[to("http", "/gateway"), to("http", "/later"), to("listed", "/gateway")]).await;
        let more = format!(
            "in_doubt = \"dead_letter\"\n\
             [channels.listed]\n{CHANNEL}\nretry_statuses = [503]\nin_doubt = \"dead_letter\""
        );
        let program = program(&outbox, &more);
        let replica = program.start();
        delivered(&outbox, 1).await;
        let again = async || (receiver.requests().iter().filter(|one| one.path == "/later").count() > 1).then_some(());
        eventually("what says when is sent again", PATIENCE, again).await;
        receiver.behave("/later", Manner::Answer(vec![200]));
        delivered(&outbox, 2).await;
        let ended = "SELECT concat(channel, ' ', status, ' ', coalesce(dead_reason, '-'), ' ', attempts) FROM outbox \
                     WHERE target LIKE '%/gateway' AND channel = ";
        assert_eq!(outbox.text(&format!("{ended}'http'")).await, "http DEAD in_doubt 1");
        assert_eq!(outbox.text(&format!("{ended}'listed'")).await, "listed SUCCESS - 2");
        assert_eq!(receiver.requests().iter().filter(|one| one.path == "/gateway").count(), 3);
        replica.stop(Signal::TERM).await;
    }
}

/// What names no URL goes there, and its destination bears the channel's name; the next poller knows that too.
#[tokio::test]
async fn a_server_behind_base_url_that_asks_to_be_left_alone_holds_up_nothing_that_goes_elsewhere() {
    for outbox in outboxes::each().await {
        let (busy, other) = (Receiver::start(Duration::ZERO), Receiver::start(Duration::ZERO));
        busy.behave("/hook", Manner::Busy(503, Duration::from_hours(1)));
        enqueue(&outbox, 3, "/hook").await;
        let program = program(&outbox, &format!("base_url = \"{}\"", busy.url()));
        for poller in 1..=2 {
            let mut replica = program.start();
            replica.says("term.began").await;
            let paused = async || {
                let sql =
                    "SELECT count(*) FROM outbox_destination WHERE destination = 'http' AND paused_until IS NOT NULL";
                (outbox.number(sql).await == 1).then_some(())
            };
            eventually("the pause is on record", PATIENCE, paused).await;
            enqueue(&outbox, 20, &format!("{}/hook", other.url())).await;
            delivered(&outbox, 20 * poller).await;
            replica.stop(Signal::TERM).await;
        }
        assert_eq!(busy.count(), 3, "it is left alone");
    }
}

#[tokio::test]
async fn no_more_are_in_flight_to_a_destination_than_its_channel_allows() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::from_millis(20));
        enqueue(&outbox, 60, &format!("{}/hook", receiver.url())).await;
        program(&outbox, "max_in_flight = 3").deliver().await;
        assert_eq!((receiver.count(), receiver.most_open()), (60, 3));
    }
}

#[tokio::test]
async fn no_more_are_sent_in_a_second_than_its_channel_allows() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        enqueue(&outbox, 100, &format!("{}/hook", receiver.url())).await;
        program(&outbox, "rate = 20").deliver().await;
        let arrived: Vec<Instant> = receiver.requests().iter().map(|request| request.arrived).collect();
        assert_eq!(arrived.len(), 100);
        // Twenty may have been saved up, and twenty are allowed.
        for (early, late) in arrived.iter().zip(&arrived[41..]) {
            assert!(*late - *early >= Duration::from_millis(950), "41 within {:?}", *late - *early);
        }
    }
}

/// One archived hook must not stop a whole provider.
#[tokio::test]
async fn a_url_that_is_gone_is_asked_no_more_and_its_neighbours_are() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/gone", Manner::Answer(vec![410]));
        let program = program(&outbox, "");
        for _ in 0..2 {
            enqueue(&outbox, 1, &format!("{}/gone", receiver.url())).await;
            enqueue(&outbox, 1, &format!("{}/hook", receiver.url())).await;
            program.deliver().await;
        }
        assert_eq!((receiver.count_at("/gone"), receiver.count_at("/hook")), (1, 2));
        let dead = "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND dead_reason = 'permanent' AND attempts =";
        assert_eq!((outbox.number(&format!("{dead} 1")).await, outbox.number(&format!("{dead} 0")).await), (1, 1));
        let said = outbox.text("SELECT last_error FROM outbox WHERE status = 'DEAD' AND attempts = 0").await;
        assert!(said.contains("outbox invalid-targets clear"), "{said}");

        receiver.behave("/gone", Manner::Answer(vec![200]));
        outbox.sql("DELETE FROM outbox_invalid_target").await;
        enqueue(&outbox, 1, &format!("{}/gone", receiver.url())).await;
        program.deliver().await;
        assert_eq!(receiver.count_at("/gone"), 2);
    }
}
