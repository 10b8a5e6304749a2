//! The database or Redis is away: when a replica starts, or without a word.

use std::time::{Duration, Instant};

use outbox_store::{Epoch, Holder, Shard};
use outbox_tests::eventually;
use outbox_tests::faults::Machine;
use outbox_tests::proxy::Proxy;
use outbox_tests::servers::{self, Kind, MariaDb, Postgres, Redis, Server, TestDatabase};
use rustix::process::Signal;
use serde_json::Value;

use crate::listener::readiness::get;
use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};

/// A lease that is missed soon.
const SHORT: &str = "[lease]\nttl = \"1s\"\nterm = \"1s\"\n";

/// Within this a probe is answered, whatever hangs.
const PROBED: Duration = Duration::from_secs(2);

/// How long a caller waits. A connection that cannot be made fails before.
const ASKED: Duration = Duration::from_secs(10);

/// Waits until `/readyz` is as it should be: not ready for a cause with these words, or ready where there are none. Each probe
/// and scrape is answered in time meanwhile.
async fn probed_until(address: &str, words: Option<&str>) {
    let machine = Machine::watch();
    let in_time = async |path: &str| {
        let asked = Instant::now();
        let answer = get(address, path).await;
        let (took, allowed) = (asked.elapsed(), PROBED + machine.lateness());
        assert!(took <= allowed, "{path} took {took:?}; {allowed:?} is allowed");
        answer
    };
    let is_so = async || {
        assert_eq!(in_time("/healthz").await, (200, "ok".to_owned()), "a restart would not help");
        let (_, metrics) = in_time("/metrics").await;
        assert!(metrics.contains("\noutbox_ready "), "{metrics}");
        let (status, body) = in_time("/readyz").await;
        match words {
            None => (status == 200).then_some(()),
            Some(words) => {
                let answer: Value = serde_json::from_str(&body).unwrap();
                let named =
                    answer["causes"].as_array().unwrap().iter().any(|cause| cause.as_str().unwrap().contains(words));
                (status == 503 && named).then_some(())
            }
        }
    };
    eventually(&format!("/readyz names {words:?}"), PATIENCE, is_so).await;
}

async fn waits_for_its_database<K: Kind>(server: &Server<K>, test: TestDatabase) {
    outboxes::connect(&test.url, None).await.migrate("default").await.unwrap();
    let program = Program::new(&test.url, &format!("{HTTP}{SHORT}"));
    server.stop().await;
    let mut replica = program.start();
    let address = replica.listener().await;
    replica.says("run.waits").await;
    probed_until(&address, Some("database: the replica waits for it, and has not begun")).await;
    let (status, body) = get(&address, "/api/v1/status").await;
    assert_eq!(status, 503, "{body}");
    // A person at a browser sees a page, and its stylesheet.
    let browser = reqwest::Client::builder().no_proxy().build().unwrap();
    let shown = browser.get(format!("{address}/messages")).header("accept", "text/html").send().await.unwrap();
    assert_eq!(shown.status(), 503);
    assert!(shown.headers().contains_key("content-security-policy"));
    let shown = shown.text().await.unwrap();
    for said in ["This replica waits for its database", "the replica waits for it, and has not begun"] {
        assert!(shown.contains(said), "{shown}");
    }
    let (_, style) = shown.split_once("rel=\"stylesheet\" href=\"").unwrap();
    let style = style.split('"').next().unwrap();
    assert_eq!(browser.get(format!("{address}{style}")).send().await.unwrap().status(), 200);
    // A command that is run by hand, or by a job, has no use for waiting.
    for command in [&["check"][..], &["migrate"], &["run", "--until-empty"]] {
        let ran = program.run(command).await;
        assert_eq!(ran.code, Some(1), "{command:?}: {ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("cannot connect"), "{command:?}: {ran:?}");
    }

    server.restart().await;
    probed_until(&address, None).await;
    replica.says("term.began").await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn a_replica_waits_for_a_database_that_is_down_at_its_start_and_says_so() {
    let server = Postgres::start().await;
    waits_for_its_database(&server, server.database().await).await;
}

#[tokio::test]
async fn a_replica_waits_for_a_database_that_is_down_at_its_start_and_says_so_on_mariadb() {
    let server = MariaDb::start().await;
    waits_for_its_database(&server, server.database().await).await;
}

#[tokio::test]
async fn a_replica_that_waits_for_a_silent_database_answers_and_stops_when_asked_to() {
    let test = servers::postgres().await.database().await;
    outboxes::connect(&test.url, None).await.migrate("default").await.unwrap();
    let proxy = Proxy::to(url::Url::parse(&test.url).unwrap().port().unwrap());
    proxy.vanish();
    let program = Program::new(&proxy.before(&test.url), &format!("{HTTP}{SHORT}"));
    let mut replica = program.start();
    let address = replica.listener().await;
    replica.says("run.waits").await;
    probed_until(&address, Some("database: the replica waits for it")).await;
    let (code, log) = replica.stop(Signal::TERM).await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("run.stopped"), "{log}");
}

/// A replica makes three connections at its start: for its loop, its listener, and the lease in the database.
#[tokio::test]
async fn whichever_of_its_first_connections_a_silent_database_meets_a_replica_waits_for_it() {
    let test = servers::postgres().await.database().await;
    outboxes::connect(&test.url, None).await.migrate("default").await.unwrap();
    for nth in 1..=3 {
        let proxy = Proxy::to(url::Url::parse(&test.url).unwrap().port().unwrap());
        proxy.vanish_at(nth);
        let mut replica = Program::new(&proxy.before(&test.url), &format!("{HTTP}{SHORT}")).start_for_good();
        replica.says("run.waits").await;
        proxy.come_back();
        replica.says("term.began").await;
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0), "connection {nth}");
    }
}

#[tokio::test]
async fn what_waiting_does_not_mend_ends_a_replica_at_once() {
    let nowhere = |url: &str| {
        let mut url = url::Url::parse(url).unwrap();
        url.set_path("nowhere");
        url.to_string()
    };
    let nobody = |url: &str| {
        let mut url = url::Url::parse(url).unwrap();
        url.set_username("nobody").unwrap();
        url.set_password(Some("wrong")).unwrap();
        url.to_string()
    };
    for url in [servers::postgres().await.database().await.url, servers::mariadb().await.database().await.url] {
        for wrong in [nowhere(&url), nobody(&url)] {
            let said = Program::new(&wrong, HTTP).run(&["run"]).await.failed();
            assert!(said.contains("cannot connect to the outbox database") && !said.contains("run.waits"), "{said}");
        }
    }
}

async fn answers_probes_whatever_is_silent(test: TestDatabase) {
    outboxes::connect(&test.url, None).await.migrate("default").await.unwrap();
    let redis = Redis::start().await;
    let (database, lease) = (Proxy::to(url::Url::parse(&test.url).unwrap().port().unwrap()), Proxy::to(redis.port()));
    let settings = format!("{HTTP}{SHORT}url = \"{}\"\n", lease.before(&redis.url()));
    let program = Program::new(&database.before(&test.url), &settings);
    let mut replica = program.start();
    let address = replica.listener().await;
    probed_until(&address, None).await;
    for (gone, cause) in [(&database, "database: "), (&lease, "lease store: no answer for")] {
        gone.vanish();
        probed_until(&address, Some(cause)).await;
        gone.come_back();
        probed_until(&address, None).await;
    }
}

#[tokio::test]
async fn probes_are_answered_in_two_seconds_and_name_what_is_silent() {
    answers_probes_whatever_is_silent(servers::postgres().await.database().await).await;
}

#[tokio::test]
async fn probes_are_answered_in_two_seconds_and_name_what_is_silent_on_mariadb() {
    answers_probes_whatever_is_silent(servers::mariadb().await.database().await).await;
}

#[tokio::test]
async fn the_first_who_asks_after_the_database_went_silent_hears_that_it_is_the_database() {
    for test in [servers::postgres().await.database().await, servers::mariadb().await.database().await] {
        outboxes::connect(&test.url, None).await.migrate("default").await.unwrap();
        let proxy = Proxy::to(url::Url::parse(&test.url).unwrap().port().unwrap());
        let mut replica = Program::new(&proxy.before(&test.url), &format!("{HTTP}{SHORT}")).start_for_good();
        let address = replica.listener().await;
        replica.says("term.began").await;
        proxy.vanish();
        let (status, body) = get(&address, "/readyz").await;
        assert_eq!((status, body.as_str()), (503, r#"{"ready":false,"causes":["database: no answer within 1.5s"]}"#));
    }
}

/// A call finds that its connection is dead, and begins another one. While that one is being made, another server takes the place
/// of the one that is gone.
async fn is_not_kept_waiting_by_a_connection_that_was_begun_too_early(test: TestDatabase) {
    outboxes::connect(&test.url, None).await.migrate("default").await.unwrap();
    let proxy = Proxy::to(url::Url::parse(&test.url).unwrap().port().unwrap());
    let store = outboxes::connect(&proxy.before(&test.url), None).await.store();
    proxy.vanish();
    let before = proxy.connections();
    let begins = async || (proxy.connections() > before).then_some(());
    let comes_back = async {
        eventually("another connection is begun", PATIENCE, begins).await;
        proxy.come_back();
    };
    let holder = Holder::new("a", "1");
    let asks = async {
        loop {
            // What is asked at the moment of the fault may be answered, or get no answer for ever.
            let term = tokio::time::timeout(ASKED, store.begin_term(Shard(0), &holder, Epoch(0))).await;
            if begins().await.is_some() {
                return term;
            }
        }
    };
    let (term, ()) = tokio::join!(asks, comes_back);
    term.expect("it ends").expect("the next server answers");
}

#[tokio::test]
async fn a_connection_that_was_begun_to_a_server_that_is_gone_keeps_nobody_from_the_next_server() {
    is_not_kept_waiting_by_a_connection_that_was_begun_too_early(servers::postgres().await.database().await).await;
    is_not_kept_waiting_by_a_connection_that_was_begun_too_early(servers::mariadb().await.database().await).await;
}
