//! The values of the metrics, and that docs/metrics.md names each metric.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::fixtures::{SteppedClock, term_of};
use crate::term::Term;
use crate::term::clock::Clock;
use outbox_desk::{ChannelVitals, HaltedVitals, JobEnds, JobEntry, PausedDestination, TenantVitals};

const SHARD: Shard = Shard(0);

fn metrics() -> Metrics {
    Metrics::new(["http", "fcm"], &[SHARD], Resource::builder_empty().build(), None).unwrap()
}

fn lines(metrics: &Metrics, prefix: &str) -> Vec<String> {
    let text = metrics.render().unwrap();
    text.lines().filter(|line| line.starts_with(prefix)).map(str::to_owned).collect()
}

/// A term that is trusted for 9 seconds.
fn term(clock: &Arc<SteppedClock>) -> Arc<Term> {
    term_of(clock, clock.now().after(Duration::from_secs(9)))
}

fn touch_everything(metrics: &Metrics) {
    metrics.attempt("http", "delivered", Some(Duration::from_millis(3)));
    metrics.delivered("http", Duration::from_millis(20));
    metrics.misconfigured("fcm");
    metrics.in_flight(7);
    metrics.waiting(&[(WhyNot::Turn, 3)].into());
    metrics.fenced(2);
    metrics.in_doubt(InDoubtPolicy::Resend, 5);
    metrics.polled(Duration::from_millis(1));
    metrics.pruned(Pruned { success: 3, dead: 0 });
    metrics.retention_behind(Duration::from_hours(2));
    metrics.ready(true);
    metrics.pool("loop", || Connections { in_use: 3, idle: 1, unopened: 2 });
    metrics.runs_by(&RunsBy { lease_store: "redis://cache".to_owned(), ..RunsBy::default() });
    let rows =
        ChannelVitals { channel: "http".to_owned(), pending: 9, due: 4, deferred: 0, dead: 1, lag_ms: Some(2000) };
    let loaded = TenantVitals { channel: "http".to_owned(), tenant: "acme".to_owned(), due: 300, lag_ms: Some(1000) };
    metrics.vitals(Some(Arc::new(Vitals {
        channels: vec![rows],
        tenants: vec![loaded],
        paused: vec![paused()],
        jobs: vec![job()],
        halted: vec![HaltedVitals { channel: "http".to_owned(), keys: 2, ..HaltedVitals::default() }],
        ..Vitals::default()
    })));
}

fn job() -> JobEntry {
    JobEntry {
        name: "ward-status".to_owned(),
        state: "running".to_owned(),
        took_ms: Some(1_500),
        last_success_at: Some("2026-05-01T12:00:00.250Z".to_owned()),
        skips: 4,
        ends: JobEnds { timed_out: 2, ..JobEnds::default() },
        ..JobEntry::default()
    }
}

fn paused() -> PausedDestination {
    PausedDestination {
        destination: "https://down.example:443".to_owned(),
        paused_until: "2026-05-01T12:00:00Z".to_owned(),
        remaining_ms: Some(5_000),
        paused_by: None,
        pause_kind: None,
        reason: None,
        failures: 1,
    }
}

#[tokio::test(start_paused = true)]
async fn every_metric_of_the_contract_is_shown_once_under_its_name_and_no_other_is() {
    let metrics = metrics();
    touch_everything(&metrics);
    metrics.term_began(term(&SteppedClock::new()));
    let text = metrics.render().unwrap();
    let mut shown: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let mut names = Name::ALL.map(Name::as_str);
    shown.sort_unstable();
    names.sort_unstable();
    assert_eq!(shown, names);
    assert!(!text.contains("otel_scope"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn the_labels_are_those_of_the_contract() {
    let metrics = metrics();
    touch_everything(&metrics);
    let term = term(&SteppedClock::new());
    metrics.term_began(term.clone());
    term.end(TermEnd::Interval);
    metrics.term_ended(SHARD, TermEnd::Interval);
    let text = metrics.render().unwrap();
    for line in [
        r#"outbox_attempts_total{channel="http",outcome="delivered"} 1"#,
        r#"outbox_attempts_total{channel="fcm",outcome="in_doubt"} 0"#,
        r#"outbox_attempt_duration_seconds_bucket{channel="http",le="0.0025"} 0"#,
        r#"outbox_attempt_duration_seconds_bucket{channel="http",le="0.005"} 1"#,
        r#"outbox_attempt_duration_seconds_bucket{channel="http",le="+Inf"} 1"#,
        r#"outbox_delivery_latency_seconds_count{channel="http"} 1"#,
        r#"outbox_messages{channel="http",status="PENDING"} 9"#,
        r#"outbox_messages{channel="http",status="DEAD"} 1"#,
        r#"outbox_messages{channel="fcm",status="DEAD"} 0"#,
        r#"outbox_misconfigured_total{channel="fcm"} 1"#,
        r#"outbox_misconfigured_total{channel="http"} 0"#,
        r#"outbox_lag_seconds{channel="http"} 2"#,
        r#"outbox_tenant_due{channel="http",tenant="acme"} 300"#,
        r#"outbox_tenant_lag_seconds{channel="http",tenant="acme"} 1"#,
        r#"outbox_halted_keys{channel="http"} 2"#,
        "outbox_in_flight 7",
        r#"outbox_waiting{why="turn"} 3"#,
        r#"outbox_waiting{why="closed"} 0"#,
        r#"outbox_lease_held{shard="0"} 0"#,
        r#"outbox_terms_total{end="interval",shard="0"} 1"#,
        r#"outbox_terms_total{end="lost",shard="0"} 0"#,
        r#"outbox_epoch{shard="0"} 1"#,
        r#"outbox_trusted_seconds{shard="0"} 0"#,
        "outbox_fenced_marks_total 2",
        r#"outbox_in_doubt_total{policy="resend"} 5"#,
        r#"outbox_in_doubt_total{policy="dead_letter"} 0"#,
        "outbox_poll_duration_seconds_count 1",
        r#"outbox_destination_paused{destination="https://down.example:443"} 1"#,
        r#"outbox_pruned_total{status="SUCCESS"} 3"#,
        r#"outbox_pruned_total{status="DEAD"} 0"#,
        r#"outbox_job_running{name="ward-status"} 1"#,
        r#"outbox_job_late{name="ward-status"} 0"#,
        r#"outbox_job_last_success_timestamp_seconds{name="ward-status"} 1777636800.25"#,
        r#"outbox_job_last_duration_seconds{name="ward-status"} 1.5"#,
        r#"outbox_job_runs_total{end="timed_out",name="ward-status"} 2"#,
        r#"outbox_job_runs_total{end="finished",name="ward-status"} 0"#,
        r#"outbox_job_skips_total{name="ward-status"} 4"#,
        "outbox_ready 1",
        r#"outbox_database_connections{pool="loop",state="in_use"} 3"#,
        r#"outbox_database_connections{pool="loop",state="idle"} 1"#,
        r#"outbox_database_connections{pool="loop",state="unopened"} 2"#,
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_follower_shows_that_it_holds_no_lease() {
    assert_eq!(lines(&metrics(), "outbox_lease_held"), [r#"outbox_lease_held{shard="0"} 0"#]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_shows_how_long_it_may_still_send_when_somebody_looks_and_nothing_once_its_term_has_ended() {
    let (metrics, clock) = (metrics(), SteppedClock::new());
    let term = term(&clock);
    metrics.term_began(term.clone());
    let shown =
        || (lines(&metrics, "outbox_lease_held").remove(0), lines(&metrics, "outbox_trusted_seconds").remove(0));
    let expected = |held: u8, seconds: u8| {
        (
            format!(r#"outbox_lease_held{{shard="0"}} {held}"#),
            format!(r#"outbox_trusted_seconds{{shard="0"}} {seconds}"#),
        )
    };
    assert_eq!(shown(), expected(1, 9));
    clock.step(Duration::from_secs(7));
    assert_eq!(shown(), expected(1, 2));
    term.gate.trust_until(clock.now().after(Duration::from_secs(8)));
    assert_eq!(shown(), expected(1, 8));
    term.end(TermEnd::Lost);
    assert_eq!(shown(), expected(0, 0));
}

#[tokio::test(start_paused = true)]
async fn only_a_leader_says_how_far_retention_is_behind_and_what_it_said_grows() {
    let metrics = metrics();
    metrics.retention_behind(Duration::from_hours(2));
    assert_eq!(lines(&metrics, "outbox_retention_lag"), Vec::<String>::new());
    let term = term(&SteppedClock::new());
    metrics.term_began(term.clone());
    let [line] = &lines(&metrics, "outbox_retention_lag")[..] else { panic!("one line") };
    let seconds: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((7200.0..7260.0).contains(&seconds), "{line}");
    term.end(TermEnd::Interval);
    assert_eq!(lines(&metrics, "outbox_retention_lag"), Vec::<String>::new());
}

#[test]
fn a_destination_that_is_resumed_is_no_longer_shown() {
    let metrics = metrics();
    metrics.vitals(Some(Arc::new(Vitals { paused: vec![paused()], ..Vitals::default() })));
    assert_eq!(lines(&metrics, "outbox_destination_paused").len(), 1);
    metrics.vitals(Some(Arc::default()));
    assert_eq!(lines(&metrics, "outbox_destination_paused"), Vec::<String>::new());
}

#[test]
fn what_the_database_no_longer_says_is_not_repeated() {
    let metrics = metrics();
    touch_everything(&metrics);
    metrics.vitals(None);
    assert_eq!(lines(&metrics, "outbox_messages"), Vec::<String>::new());
    assert_eq!(lines(&metrics, "outbox_lag_seconds"), Vec::<String>::new());
}

#[test]
fn a_channel_that_is_not_configured_is_counted_too() {
    let metrics = metrics();
    metrics.attempt("added later", "retry", Some(Duration::from_millis(1)));
    let counted = r#"outbox_attempts_total{channel="added later",outcome="retry"} 1"#;
    assert!(lines(&metrics, "outbox_attempts_total").iter().any(|line| line == counted));
}

#[test]
fn channels_that_strangers_wrote_into_rows_leave_all_series_of_the_configured_ones() {
    let metrics = metrics();
    let channel = |name: String| ChannelVitals { channel: name, pending: 1, lag_ms: Some(3000), ..Default::default() };
    let mut channels: Vec<_> = (0..3_000).map(|number| channel(format!("a{number:04}"))).collect();
    channels.push(channel("http".to_owned()));
    metrics.vitals(Some(Arc::new(Vitals { channels, ..Vitals::default() })));
    let messages = lines(&metrics, "outbox_messages");
    for line in [
        r#"outbox_messages{channel="http",status="PENDING"} 1"#,
        r#"outbox_messages{channel="fcm",status="PENDING"} 0"#,
        r#"outbox_messages{channel="a0019",status="PENDING"} 1"#,
        r#"outbox_messages{channel="(not configured)",status="PENDING"} 2980"#,
    ] {
        assert!(messages.iter().any(|shown| shown == line), "{line} is not in\n{messages:#?}");
    }
    assert_eq!(messages.len(), 2 * (2 + 20 + 1));
    let lags = lines(&metrics, "outbox_lag_seconds");
    assert!(lags.contains(&r#"outbox_lag_seconds{channel="(not configured)"} 3"#.to_owned()), "{lags:#?}");
    assert_eq!(lags.len(), 2 + 20 + 1);
}

#[test]
fn every_metric_is_on_its_page_in_the_words_of_its_help() {
    let page = include_str!("../../../docs/metrics.md");
    for name in Name::ALL {
        let line = page.lines().find(|line| line.starts_with(&format!("| `{}` |", name.as_str())));
        assert!(line.is_some_and(|line| line.ends_with(&format!("| {} |", name.help()))), "{name:?}: {line:?}");
    }
}

#[test]
fn a_process_shows_its_version_and_the_hash_of_its_settings() {
    let version = env!("CARGO_PKG_VERSION");
    for (store, lease) in [("redis://cache", "redis"), ("session", "session"), ("table", "table")] {
        let metrics = metrics();
        let by = RunsBy { lease_store: store.to_owned(), ..RunsBy::default() };
        metrics.runs_by(&by);
        assert_eq!(lines(&metrics, "outbox_build_info"), [format!("outbox_build_info{{version=\"{version}\"}} 1")]);
        let hash = by.settings_hash();
        let shown = format!("outbox_settings_info{{hash=\"{hash}\",lease=\"{lease}\"}} 1");
        assert_eq!(lines(&metrics, "outbox_settings_info"), [shown]);
    }
}
