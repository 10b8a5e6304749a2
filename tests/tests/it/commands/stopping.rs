//! SIGTERM, and a database that does not answer any more.

use std::time::{Duration, Instant};

use outbox_tests::proxy::{Passage, Proxy};
use rustix::process::Signal;

use crate::outboxes;
use crate::program::Program;

/// What a process may take on top of its time to drain: its hand-over has 2 s at least, closing what is open as much.
const ENDED: Duration = Duration::from_secs(8);

const SETTINGS: &str = "[dispatch]\ndrain_timeout = \"1s\"\npoll_interval = \"10ms\"\n[lease]\nttl = \"3s\"\n";

#[tokio::test]
async fn a_database_that_hangs_keeps_no_replica_from_ending_in_time() {
    let [postgres, mariadb, _] = outboxes::migrated().await;
    for outbox in [postgres, mariadb] {
        let proxy = Proxy::to(url::Url::parse(&outbox.test.url).unwrap().port().unwrap());
        let mut replica = Program::new(&proxy.before(&outbox.test.url), SETTINGS).start_for_good();
        replica.says("term.began").await;
        proxy.set(Passage::Hole);
        // By then a claim waits for its answer as well.
        replica.says("lease.renew").await;
        let asked = Instant::now();
        let (code, log) = replica.stop(Signal::TERM).await;
        assert_eq!(code, Some(0), "{log}");
        assert!(asked.elapsed() < ENDED, "it ended {:?} after it was asked to:\n{log}", asked.elapsed());
    }
}
