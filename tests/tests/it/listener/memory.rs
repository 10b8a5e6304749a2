//! How much memory a poller takes, whatever the backlog.

use std::time::Duration;

use outbox_store::Dialect;
use outbox_tests::eventually;
use outbox_tests::receiver::Receiver;
use rustix::process::{Pid, Signal};

use crate::outboxes::{self, Outbox};
use crate::program::{PATIENCE, Program};

/// `dispatch.max_bytes`, in MiB.
const MAX_BYTES: usize = 8;

/// What a poller may take beside the bodies in flight and the pages of its program, in MiB.
const ROOM: usize = 64;

/// Bodies of 1 MB: more together than a poller may take.
const LARGE: usize = 120;

#[tokio::test]
async fn a_backlog_of_large_and_of_many_bodies_takes_no_more_memory_than_the_settings_allow() {
    for outbox in outboxes::each().await {
        // The same code for all three but for the store: one of them with a backlog worth the name suffices.
        let many = if outbox.dialect() == Dialect::Postgres { 10_000 } else { 1_000 };
        let receiver = Receiver::start(Duration::ZERO);
        insert(&outbox, &receiver, LARGE, 1_000_000).await;
        insert(&outbox, &receiver, many, 250).await;
        let settings = format!(
            "[dispatch]\nmax_bytes = \"{MAX_BYTES} MiB\"\n\
             [channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n"
        );
        let program = Program::new(&outbox.test.url, &settings);
        let replica = program.start();
        let delivered = async || {
            let left = outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await;
            (left == 0).then_some(())
        };
        eventually("all is delivered", PATIENCE, delivered).await;
        assert_eq!(receiver.count(), many + LARGE);

        let peak = peak_memory(replica.pid());
        let allowed = (ROOM + MAX_BYTES) << 10;
        eprintln!("{:?}: {} MiB at most", outbox.dialect(), peak >> 10);
        assert!(peak <= allowed, "{:?}: {peak} KiB, {allowed} are allowed", outbox.dialect());
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

/// So many messages, each with a body of so many bytes; 10 MB in one statement at most, for a slow disk to take in time.
/// Counted in digits: that is SQL in every dialect.
async fn insert(outbox: &Outbox, receiver: &Receiver, messages: usize, bytes: usize) {
    let digits =
        (1..10).fold("SELECT 0 AS digit".to_owned(), |digits, digit| format!("{digits} UNION ALL SELECT {digit}"));
    let (url, body) = (receiver.url(), outboxes::body(outbox.dialect(), bytes));
    let at_once = 10_000_000 / bytes;
    for from in (0..messages).step_by(at_once) {
        let count = at_once.min(messages - from);
        outbox
            .sql(&format!(
                "INSERT INTO outbox (channel, target, payload) WITH d AS ({digits}) SELECT 'http', '{url}', {body} \
                 FROM d a, d b, d c, d e, d f LIMIT {count}"
            ))
            .await;
    }
}

/// The most memory that a process has had at one time, in KiB, but for the pages of its program: those of a debug build are half of
/// it, and the system takes them back when it needs them.
pub(crate) fn peak_memory(process: Pid) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap();
    let of = |name: &str| -> usize {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    of("VmHWM:") - of("RssFile:")
}
