//! What no row may do: whatever is written, and whatever receivers do, messages to a receiver that answers go out. Each test
//! writes one kind of hostile rows, waits until they do what they can, and then wants good messages delivered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_tests::eventually;
use outbox_tests::receiver::{Manner, Receiver};
use rustix::process::Signal;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, MySqlConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::outboxes::{self, Outbox};
use crate::program::{PATIENCE, Program, Replica};

/// Where hostile rows stop others, these wait for minutes: for the timeouts of hundreds of requests.
const SOON: Duration = Duration::from_secs(40);

const GOOD: i64 = 50;

const CHANNEL: &str = "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";

/// An outbox, a replica, and a receiver that has answered once.
struct Stage {
    outbox: Outbox,
    receiver: Receiver,
    replica: Replica,
}

impl Stage {
    async fn set(outbox: Outbox) -> Self {
        let receiver = Receiver::start(Duration::ZERO);
        let replica = Program::new(&outbox.test.url, CHANNEL).start_for_good();
        let stage = Self { outbox, receiver, replica };
        stage.good(1).await;
        stage.delivered(1, PATIENCE).await;
        stage
    }

    /// Enqueues good messages.
    async fn good(&self, count: i64) {
        self.good_in(&format!("{}/good", self.receiver.url()), count).await;
    }

    async fn good_in(&self, target: &str, count: i64) {
        let messages: Vec<_> = (0..count).map(|_| NewMessage::http(target).tenant("good")).collect();
        self.outbox.enqueue(&messages).await;
    }

    async fn delivered(&self, count: i64, patience: Duration) {
        let all = async || {
            let sql = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS' AND tenant = 'good'";
            (self.outbox.number(sql).await == count).then_some(())
        };
        eventually(&format!("the good messages are delivered on {:?}", self.outbox.dialect()), patience, all).await;
    }

    /// Inserts a row for each target.
    async fn rows(&self, payload: &str, more: &str, value: &str, targets: &[String]) {
        for some in targets.chunks(1_000) {
            let rows: Vec<_> = some.iter().map(|target| format!("('http', '{target}', {payload}{value})")).collect();
            self.outbox
                .sql(&format!("INSERT INTO outbox (channel, target, payload{more}) VALUES {}", rows.join(",")))
                .await;
        }
    }

    /// Waits until `count` is at least that much.
    async fn until(&self, what: &str, count: &str, at_least: i64) {
        let seen = async || (self.outbox.number(count).await >= at_least).then_some(());
        eventually(what, PATIENCE, seen).await;
    }

    /// Good messages that are written now go out soon.
    async fn good_messages_go(self) {
        let began = Instant::now();
        self.good(GOOD).await;
        self.delivered(1 + GOOD, SOON).await;
        eprintln!("{:?}: {GOOD} good messages in {:?}", self.outbox.dialect(), began.elapsed());
        assert_eq!(self.replica.stop(Signal::KILL).await.0, None);
    }
}

/// A port at which each of the machine's own addresses takes connections and says nothing, and how many it has taken.
pub(crate) async fn silence() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, taken)
}

/// A port at which each of the machine's own addresses asks to be left alone for an hour, and how often it did.
async fn busy() -> (u16, Arc<AtomicUsize>) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 3600\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                if stream.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                let _ = stream.write_all(ANSWER).await;
            });
        }
    });
    (port, asked)
}

/// A port at which nobody listens.
pub(crate) fn nobody() -> u16 {
    std::net::TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port()
}

/// So many hosts, all of them this machine.
fn hosts(count: usize, port: u16) -> Vec<String> {
    (0..count).map(|host| format!("http://127.1.{}.{}:{port}/", host / 250, 1 + host % 250)).collect()
}

#[tokio::test]
async fn s1_a_payload_that_prints_a_hundred_times_its_size_is_dead_unread() {
    let [outbox, ..] = outboxes::migrated().await;
    assert_eq!(outbox.dialect(), Dialect::Postgres);
    let stage = Stage::set(outbox).await;
    // jsonb keeps each of these numbers in ten bytes and prints 131,072.
    let payload = "('[' || repeat('1e131071,', 200) || '1]')::jsonb";
    stage.rows(payload, ", priority", ", 3", &hosts(8, nobody())).await;
    let dead = "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND dead_reason = 'permanent' AND attempts = 0 \
                AND last_error LIKE 'it is too large: 262%'";
    stage.until("all are dead", dead, 8).await;
    let refused = "INSERT INTO outbox (channel, target, payload, headers) VALUES ('http', 'http://127.0.0.1/', '{}', \
                   ('[' || repeat('1e131071,', 10) || '1]')::jsonb)";
    let refused = stage.outbox.try_sql(refused).await.unwrap_err().to_string();
    assert!(refused.contains("outbox_headers_of_64_kib"), "{refused}");
    stage.good_messages_go().await;
}

/// Nobody can tell whether the credential of the channel is wrong or the targets are, until one of them takes a message.
#[tokio::test]
async fn s4_as_many_forbidden_targets_as_are_sent_at_once_bar_their_channel_for_seconds_only() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        let forbidden: Vec<_> = (0..64).map(|number| format!("/forbidden/{number}")).collect();
        for target in &forbidden {
            receiver.behave(target, Manner::Answer(vec![403]));
        }
        let messages: Vec<_> = forbidden.into_iter().map(|target| NewMessage::http(target).priority(3)).collect();
        outbox.enqueue(&messages).await;
        let channel = format!(
            "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nauth = {{ bearer = \"key\" }}\nbase_url = \"{}\"",
            receiver.url()
        );
        let replica = Program::new(&outbox.test.url, &channel).start_for_good();
        let stage = Stage { outbox, receiver, replica };
        let barred = "SELECT count(*) FROM outbox_destination WHERE pause_kind = 'barred'";
        stage.until("the channel is barred", barred, 1).await;
        stage.good_in("/ok", 1).await;
        stage.delivered(1, SOON).await;
        stage.good_in("/ok", GOOD).await;
        stage.delivered(1 + GOOD, PATIENCE).await;
        assert_eq!(stage.replica.stop(Signal::KILL).await.0, None);
    }
}

#[tokio::test]
async fn s8_hosts_that_answer_nothing_keep_nobody_waiting() {
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let (port, taken) = silence().await;
        stage.rows("'{}'", "", "", &hosts(5_000, port)).await;
        // An eighth of 512.
        let all = async || (taken.load(Ordering::SeqCst) >= 64).then_some(());
        eventually("they hold what they can", PATIENCE, all).await;
        stage.good_messages_go().await;
    }
}

/// As where an application writes the same tenant in each row. What is looked at are its oldest messages, and its newest.
#[tokio::test]
async fn s8_messages_amid_thousands_of_the_same_tenant_for_silent_hosts_are_found() {
    const WAVES: i64 = 2;
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let (port, _) = silence().await;
        let good: Vec<_> = (0..GOOD).map(|_| format!("{}/good", stage.receiver.url())).collect();
        for wave in 1..=WAVES {
            let hosts = hosts(6_000, port);
            let (before, behind) = hosts.split_at(3_000);
            let rows: Vec<_> = [before, &good, behind].concat();
            let rows: Vec<_> = rows.iter().map(|target| format!("('http', '{target}', '{{}}', 'good')")).collect();
            let insert = "INSERT INTO outbox (channel, target, payload, tenant) VALUES";
            stage.outbox.sql(&format!("{insert} {}", rows.join(","))).await;
            let began = Instant::now();
            stage.delivered(1 + wave * GOOD, SOON).await;
            eprintln!("{:?}: {GOOD} good messages in {:?}", stage.outbox.dialect(), began.elapsed());
        }
        assert_eq!(stage.replica.stop(Signal::KILL).await.0, None);
    }
}

/// Each of them may have dozens of messages in flight, and no receiver is slow before it has said nothing for a second.
#[tokio::test]
async fn s8_hosts_that_answered_and_fall_silent_together_leave_slots_to_those_that_answer() {
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let others = Receiver::on_every_address(Duration::ZERO);
        let hosts = hosts(100, others.port());
        let of_each = |messages| hosts.iter().cycle().take(hosts.len() * messages).cloned().collect::<Vec<_>>();
        stage.rows("'{}'", "", "", &of_each(10)).await;
        let answered = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS' AND tenant IS NULL";
        stage.until("they have answered", answered, 100 * 10).await;
        others.behave("/", Manner::Hang);
        stage.rows("'{}'", "", "", &of_each(40)).await;
        let taken = async || (others.open() >= 440).then_some(());
        eventually("they hold what they can", PATIENCE, taken).await;
        stage.good(GOOD).await;
        stage.delivered(1 + GOOD, SOON).await;
        assert!(others.open() >= 440, "{:?}: good messages waited for {}", stage.outbox.dialect(), others.open());
        stage.replica.stop(Signal::KILL).await;
    }
}

/// None of these is slow, as a destination is called that takes a second to answer. A slot of theirs serves one message in that time,
/// and hundreds where the answer comes at once.
#[tokio::test]
async fn s8_hosts_that_answer_late_leave_one_that_answers_at_once_its_share_of_the_slots() {
    const MANY: i64 = 2_000;
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let late = Receiver::on_every_address(Duration::ZERO);
        let hosts = hosts(6, late.port());
        let of_each = |messages| hosts.iter().cycle().take(hosts.len() * messages).cloned().collect::<Vec<_>>();
        stage.rows("'{}'", "", "", &of_each(500)).await;
        stage.good(MANY).await;
        let all = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS'";
        stage.until("all have answered so often that their windows are open", all, 1 + 6 * 500 + MANY).await;
        late.set_latency(Duration::from_millis(800));
        stage.rows("'{}'", "", "", &of_each(3_000)).await;
        let taken = async || (late.open() >= 440).then_some(());
        eventually("they have all slots that they may have", PATIENCE, taken).await;
        let before = late.count();
        stage.good(MANY).await;
        stage.delivered(1 + 2 * MANY, PATIENCE).await;
        let meanwhile = late.count() - before;
        eprintln!("{:?}: {MANY} messages, and meanwhile {meanwhile} for others", stage.outbox.dialect());
        assert!(meanwhile < 4_000, "{:?}: {meanwhile} for others", stage.outbox.dialect());
        stage.replica.stop(Signal::KILL).await;
    }
}

#[tokio::test]
async fn s9_bodies_of_ten_megabytes_for_silent_hosts_keep_nobody_waiting() {
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let body = outboxes::body(stage.outbox.dialect(), 10_000_000);
        for target in hosts(6, silence().await.0) {
            stage.rows(&body, ", priority", ", 3", &[target]).await;
        }
        stage.until("all are dead", "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND attempts = 0", 6).await;
        stage.good_messages_go().await;
    }
}

#[tokio::test]
async fn s12_tens_of_thousands_of_hosts_at_which_nobody_listens_slow_no_claim_down() {
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        stage.rows("'{}'", "", "", &hosts(20_000, nobody())).await;
        stage.until("some were tried", "SELECT count(*) FROM outbox WHERE first_attempt_at IS NOT NULL", 1_000).await;
        stage.good_messages_go().await;
    }
}

/// No step along the ordering keys takes many, also right after they were written.
#[tokio::test]
async fn s19_tens_of_thousands_of_new_ordering_keys_slow_no_claim_down() {
    const KEYS: usize = 30_000;
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let port = nobody();
        for some in (0..KEYS).collect::<Vec<_>>().chunks(1_000) {
            let row = |key: &usize| format!("('http', 'http://127.0.0.1:{port}/', '{{}}', 'k{key}')");
            let rows: Vec<_> = some.iter().map(row).collect();
            let columns = "channel, target, payload, ordering_key";
            stage.outbox.sql(&format!("INSERT INTO outbox ({columns}) VALUES {}", rows.join(","))).await;
        }
        let tried = "SELECT count(*) FROM outbox WHERE first_attempt_at IS NOT NULL AND ordering_key IS NOT NULL";
        stage.until("some were tried", tried, 1).await;
        let target = format!("{}/good", stage.receiver.url());
        let mut took = Vec::new();
        for round in 0..3 {
            let own = NewMessage::http(&target).tenant("good").ordering_key(format!("own-{round}"));
            let began = Instant::now();
            stage.outbox.enqueue(&[NewMessage::http(&target).tenant("good"), own]).await;
            stage.delivered(3 + 2 * round, PATIENCE).await;
            took.push(began.elapsed());
        }
        eprintln!("{:?}: with a key and without, in {took:?}", stage.outbox.dialect());
        // Where each look is at all keys, each time is longer than this. Alone, the two go in less than a second.
        let fastest = took.iter().min().expect("three");
        assert!(*fastest < Duration::from_secs(5), "{:?}: {took:?}", stage.outbox.dialect());
        assert_eq!(stage.replica.stop(Signal::KILL).await.0, None);
    }
}

/// The poller moves what is of no known channel out of the way, and shares its slots among many that have not answered yet.
#[tokio::test]
async fn s12_rows_of_channels_that_nobody_knows_among_those_of_many_hosts_keep_nobody_waiting() {
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let of = |channel: &str, targets: Vec<String>| {
            targets.iter().map(|target| format!("('{channel}', '{target}', '{{}}')")).collect::<Vec<_>>()
        };
        let unknown = of("unknown", vec!["http://unknown.example/".to_owned(); 50]);
        let rows = [unknown, of("http", hosts(400, nobody()))].concat().join(",");
        stage.outbox.sql(&format!("INSERT INTO outbox (channel, target, payload) VALUES {rows}")).await;
        stage.until("all were tried", "SELECT count(*) FROM outbox WHERE first_attempt_at IS NOT NULL", 1 + 400).await;
        stage.until("the others wait", "SELECT count(*) FROM outbox WHERE deferred_from IS NOT NULL", 50).await;
        stage.good_messages_go().await;
    }
}

/// Of so many neither a poller nor the one after it knows all.
#[tokio::test]
async fn s12_more_hosts_than_a_poller_knows_that_ask_to_be_left_alone_are_and_keep_nobody_waiting() {
    const HOSTS: i64 = 1_500;
    for outbox in outboxes::each().await {
        let mut stage = Stage::set(outbox).await;
        let (port, asked) = busy().await;
        let hosts = hosts(1_500, port);
        stage.rows("'{}'", "", "", &hosts).await;
        let paused = "SELECT count(*) FROM outbox_destination WHERE paused_until IS NOT NULL";
        stage.until("all are paused", paused, HOSTS).await;
        for tenant in ["again", "later"] {
            stage.rows("'{}'", ", tenant", &format!(", '{tenant}'"), &hosts).await;
            let aside = format!("SELECT count(*) FROM outbox WHERE tenant = '{tenant}' AND deferred_from IS NOT NULL");
            stage.until("their rows are put aside", &aside, HOSTS).await;
            let (code, log) = stage.replica.stop(Signal::KILL).await;
            assert_eq!(code, None);
            let named = log.matches("destination.put_aside destination=").count();
            assert!(named < 500 && log.contains("destination.put_aside others="), "{named} lines for {HOSTS} hosts");
            stage.replica = Program::new(&stage.outbox.test.url, CHANNEL).start_for_good();
        }
        let asked = asked.load(Ordering::SeqCst);
        stage.good_messages_go().await;
        assert_eq!(asked, hosts.len(), "each was asked once");
    }
}

/// Only the database knows that they take nothing, and each claim meets hundreds of their messages.
#[tokio::test]
async fn s12_messages_for_more_hosts_than_a_poller_knows_that_ask_to_be_left_alone_are_passed_over() {
    const HOSTS: i64 = 4_000;
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let (port, _) = busy().await;
        let hosts = hosts(4_000, port);
        stage.rows("'{}'", "", "", &hosts).await;
        let paused = "SELECT count(*) FROM outbox_destination WHERE paused_until IS NOT NULL";
        stage.until("all are paused", paused, HOSTS).await;
        stage.rows("'{}'", "", "", &hosts).await;
        stage.good(GOOD).await;
        stage.delivered(1 + GOOD, SOON).await;
        let aside = "SELECT count(*) FROM outbox WHERE deferred_from IS NOT NULL";
        let aside = stage.outbox.number(aside).await;
        eprintln!("{:?}: {aside} of {HOSTS} were put aside meanwhile", stage.outbox.dialect());
        assert!(aside < HOSTS / 2, "{:?}: good messages waited until {aside} were put aside", stage.outbox.dialect());
        assert_eq!(stage.replica.stop(Signal::KILL).await.0, None);
    }
}

/// MariaDB alone lets a session do without the checks, and asks for no right.
#[tokio::test]
async fn s5_rows_that_no_check_of_mariadb_has_seen_keep_nobody_waiting() {
    let [_, outbox, _] = outboxes::migrated().await;
    assert_eq!(outbox.dialect(), Dialect::MySql);
    let stage = Stage::set(outbox).await;
    let url = format!("{}/unchecked", stage.receiver.url());
    let six_hundred =
        "(WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 600) SELECT i FROM n) n";
    for rows in [
        "(channel, target, payload) VALUES ('nobody', 'http://x/', 'no json')".to_owned(),
        format!("(channel, target, payload) SELECT 'http', '{url}', 'no json' FROM {six_hundred}"),
        format!("(channel, target, payload, headers) SELECT 'http', '{url}', '{{}}', 'no json' FROM {six_hundred}"),
        format!(
            "(channel, target, payload, ordering_key, priority) SELECT 'http', '{url}', '{{}}', concat('k', i), 9 FROM {six_hundred}"
        ),
        format!(
            "(channel, target, payload, priority) SELECT 'http', '{url}', '{{}}', i - 300 FROM {six_hundred} WHERE i > 200"
        ),
        format!("(channel, target, payload, max_attempts) SELECT 'http', '{url}', '{{}}', -1 FROM {six_hundred}"),
    ] {
        stage.outbox.run_client(&format!("SET check_constraint_checks = 0; INSERT INTO outbox {rows};"));
    }
    let settled = "SELECT count(*) FROM outbox WHERE status <> 'PENDING'";
    stage.until("the unchecked rows come to an end", settled, 1 + 4 * 600 + 400).await;
    stage
        .until("the row of no channel is deferred", "SELECT count(*) FROM outbox WHERE deferred_from IS NOT NULL", 1)
        .await;
    stage.good_messages_go().await;
}

/// MySQL and MariaDB let everybody lock a row who may read its id.
#[tokio::test]
async fn a_message_on_the_wire_that_an_application_has_locked_keeps_no_other_mark_waiting() {
    let [_, outbox, _] = outboxes::migrated().await;
    assert_eq!(outbox.dialect(), Dialect::MySql);
    let stage = Stage::set(outbox).await;
    stage.receiver.behave("/slow", Manner::Slow(Duration::from_secs(1)));
    stage.rows("'{}'", "", "", &[format!("{}/slow", stage.receiver.url())]).await;
    stage.until("it is on the wire", "SELECT count(*) FROM outbox_claim", 1).await;
    let mut application = MySqlConnection::connect(&stage.outbox.test.url).await.unwrap();
    application.execute("START TRANSACTION").await.unwrap();
    let id = stage.outbox.number("SELECT id FROM outbox WHERE status = 'PENDING'").await;
    let lock = AssertSqlSafe(format!("SELECT id FROM outbox WHERE id = {id} LOCK IN SHARE MODE"));
    application.execute(lock).await.unwrap();
    stage.until("its delivery is recorded beside it", "SELECT count(*) FROM outbox_attempt", 1).await;
    stage.good(GOOD).await;
    stage.delivered(1 + GOOD, SOON).await;
    let delivered = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS'";
    assert_eq!(stage.outbox.number(delivered).await, 1 + GOOD);
    application.execute("COMMIT").await.unwrap();
    stage.until("it is marked as well", delivered, 2 + GOOD).await;
    assert_eq!(stage.receiver.count(), 2 + usize::try_from(GOOD).unwrap());
    stage.replica.stop(Signal::KILL).await;
}

#[tokio::test]
async fn s27_the_highest_priority_of_one_tenant_keeps_no_other_waiting() {
    for outbox in outboxes::each().await {
        let stage = Stage::set(outbox).await;
        let target = format!("{}/noisy", stage.receiver.url());
        stage.rows("'{}'", ", priority, tenant", ", 3, 'noisy'", &vec![target; 20_000]).await;
        let sent = "SELECT count(*) FROM outbox WHERE tenant = 'noisy' AND status = 'SUCCESS'";
        stage.until("it has its share", sent, 100).await;
        stage.good(GOOD).await;
        stage.delivered(1 + GOOD, PATIENCE).await;
        assert!(stage.outbox.number(sent).await < 20_000, "they went last");
        stage.replica.stop(Signal::KILL).await;
    }
}
