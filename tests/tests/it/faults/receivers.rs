//! Receivers that answer late, not at all, or for ever.

use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::faults::{Machine, Run, repeat};
use outbox_tests::fleet::{Fleet, PATIENCE, Settings};
use outbox_tests::receiver::{ACCESS_TOKENS, Manner, Request, Trickle};
use outbox_tests::servers;
use outbox_tests::stage::Stage;

use super::postgres_and_redis;

/// Memory that a replica may have used at its peak, whatever it is answered.
const MEMORY: u64 = 100 << 20;

#[tokio::test]
async fn late_lost_and_endless_answers_are_in_doubt_and_cost_no_memory() {
    const BUDGET: usize = 3;
    repeat("answers late, lost and endless, PostgreSQL and Redis", async |_, figures| {
        let mut run = Run::begin(postgres_and_redis(16).await, |settings| Settings {
            term: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            max_attempts: BUDGET,
            more: "retry.base = \"10ms\"".to_owned(),
            ..settings
        })
        .await;
        let receiver = &run.stage.receiver;
        receiver.behave("/late", Manner::Slow(Duration::from_millis(1500)));
        receiver.behave("/dropped", Manner::Drop);
        receiver.behave("/endless-head", Manner::Trickle(Trickle::Head));
        receiver.behave("/endless-body", Manner::Trickle(Trickle::Body));
        for path in ["/late", "/dropped", "/endless-head", "/endless-body"] {
            run.stage.application.insert(7, path).await;
        }
        run.enough_hand_overs().await;
        let replicas = run.fleet.running();
        let peaks: Vec<u64> = replicas.iter().map(|place| run.fleet.peak_memory(*place)).collect();
        figures.count("peak memory of a replica, MiB", usize::try_from(peaks.iter().max().unwrap() >> 20).unwrap());
        assert!(peaks.iter().all(|peak| *peak < MEMORY), "{peaks:?}");
        let messages = run.stage.application.committed.len();

        run.stage.settled().await;
        let in_doubt: Vec<_> = run.stage.tables.attempts().await;
        assert!(in_doubt.iter().all(|attempt| attempt.outcome == "in_doubt"), "{in_doubt:?}");
        assert_eq!(
            in_doubt.len(),
            7 + 7 * BUDGET,
            "the first attempt at what is late, and each at what drops the connection"
        );
        let report = run.end(figures).await;
        // An answer whose status line said 200 was an acceptance, however long its head or its body goes on.
        assert_eq!(report.messages["SUCCESS"], messages - 7, "{:?}", report.messages);
        let late: Vec<_> = report.twice.values().collect();
        assert_eq!(late.len(), 7, "only what was accepted too late was accepted more than once");
    })
    .await;
}

/// What took FCM so long, and a lock of 30 s with it.
const FCM: Duration = Duration::from_secs(35);

/// What 200 messages of others may take beside it: little of that.
const BESIDE: Duration = Duration::from_secs(5);

/// Where pushes go.
const PUSHES: &str = "/v1/projects/shop/messages:send";

/// A service account that opens nothing, whose tokens come from the receiver.
fn service_account(receiver: &str) -> tempfile::NamedTempFile {
    let key = include_str!("../../../../adapters/tests/it/service_account.pem");
    let account = serde_json::json!({
        "type": "service_account",
        "project_id": "shop",
        "private_key_id": "1",
        "private_key": key,
        "client_email": "shop@example.com",
        "token_uri": format!("{receiver}{ACCESS_TOKENS}"),
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), account.to_string()).unwrap();
    file
}

#[tokio::test]
async fn fcm_that_takes_35_seconds_delivers_once_and_delays_nobody() {
    repeat("FCM takes 35 s with the default settings, PostgreSQL and Redis", async |_, figures| {
        let database = servers::postgres().await.database().await;
        let redis = servers::redis().await.url();
        let mut stage = Stage::set(database, Duration::from_millis(20)).await;
        stage.receiver.behave(PUSHES, Manner::Slow(FCM));
        let (url, account) = (stage.receiver.url(), service_account(&stage.receiver.url()));
        let settings = Settings {
            ttl: Duration::from_secs(10),
            term: Duration::from_secs(20),
            max_in_flight: 512,
            more: format!(
                "channels.fcm.kind = \"fcm\"\nchannels.fcm.credentials = \"{}\"\n\
                 channels.fcm.base_url = \"{url}\"\nchannels.fcm.allow_networks = [\"127.0.0.0/8\"]",
                account.path().display()
            ),
            ..stage.settings(Some(redis))
        };
        let (mut fleet, machine) = (Fleet::start(&settings, 3), Machine::watch());
        stage.application.push(5).await;
        let open = async || (stage.receiver.open() == 5).then_some(());
        eventually("FCM has them", PATIENCE, open).await;
        let asked = stage.receiver.requests()[0].arrived;
        loop {
            let (began, before) = (Instant::now(), stage.receiver.count());
            stage.application.insert(200, "/hook").await;
            let arrived = async || (stage.receiver.count() == before + 200).then_some(());
            eventually("the messages of others are delivered", PATIENCE, arrived).await;
            let what =
                format!("200 messages of another channel, from before their insert to their last (bound {BESIDE:?})");
            figures.bounded(&what, began.elapsed(), BESIDE, machine.lateness());
            let open = |request: &Request| request.path == PUSHES && request.left.is_none();
            let pushes = stage.receiver.requests().into_iter().filter(open).count();
            assert_eq!(pushes, 5, "FCM answered before the messages of others had arrived");
            // Not so late that FCM may answer before the next are there.
            if asked.elapsed() + BESIDE + machine.lateness() >= FCM {
                break;
            }
        }
        assert_eq!(stage.receiver.count_at(PUSHES), 5);
        stage.settled().await;
        fleet.stop_all().await;
        let report = stage.check(&fleet).await;
        figures.stood_still(machine.stood_still());
        report.assert_all_delivered(stage.application.committed.len());
        figures.assert_nothing_in_doubt(&report);
        let ends = report.terms.iter().filter_map(|term| term.ended_because.as_deref());
        let ends: Vec<_> = ends.collect();
        assert!(ends.iter().all(|end| ["interval", "shutdown"].contains(end)), "a poller lost its lease: {ends:?}");
    })
    .await;
}
