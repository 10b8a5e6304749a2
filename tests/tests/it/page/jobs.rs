//! The list of jobs, and of the runs of one.

use outbox_store::jobs::{JobStore, RunEnd, RunEnded};

use super::{OPERATES, READS, Stage, TOKENS, words};
use crate::jobs::store::{JOB, begin, ended};
use crate::outboxes;

#[tokio::test]
async fn the_page_lists_jobs_and_their_runs_and_pauses_one() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, &format!("{TOKENS}read_payloads = false\n")).await;
        let run = begin(&outbox).await;
        let told = RunEnded { exit_code: Some(3), tail: Some("<b>no bed</b>".to_owned()), ..ended(RunEnd::TimedOut) };
        outbox.database.end_run(JOB, &run, &told).await.unwrap();
        let ada = stage.person(OPERATES).await;
        let list = words(&ada.page("/jobs").await);
        assert!(list.contains("timed_out") && list.contains("web-1"), "{list}");
        let runs = words(&ada.page(&format!("/jobs/{JOB}")).await);
        assert!(runs.contains("exit code 3") && runs.contains("/bin/ward-status --all"), "{runs}");
        let path = format!("/jobs/{JOB}/{}", run.token);
        let shown = ada.page(&path).await;
        assert!(shown.contains("&lt;b&gt;no bed"), "{shown}");
        let reader = stage.person(READS).await;
        assert!(!reader.page(&path).await.contains("no bed"), "a job may write what messages contain");

        for (action, said) in [("pause", "paused"), ("resume", "timed_out")] {
            let sent = ada.send("/jobs", "/jobs", &[("name", JOB), ("action", action)]).await;
            assert_eq!(sent.status, 303, "{}", words(&sent.text));
            let list = words(&ada.page("/jobs").await);
            assert!(list.contains(said), "{action}: {list}");
        }
        let audit = words(&ada.page("/audit").await);
        assert!(audit.contains(&format!("job {JOB}")), "{audit}");
        for missing in ["/jobs/nobody", &format!("/jobs/{JOB}/99")] {
            assert_eq!(ada.look(missing).await.status, 404, "{missing}");
        }
    }
}
