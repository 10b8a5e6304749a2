//! The dashboard of docs/grafana: its queries are valid, about metrics and labels that a replica shows, and all of those are on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use outbox_dispatcher::metrics::Name;
use outbox_tests::eventually;
use serde_json::Value;

use crate::listener::alerts::{metrics_in, promtool_says_yes};
use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};
use crate::sink::Sink;

const DASHBOARD: &str = include_str!("../../../../docs/grafana/outbox.json");

/// The labels that Prometheus gives, and the one of a bucket.
const NOT_OURS: [&str; 3] = ["job", "instance", "le"];

/// Each query of the dashboard and its legend, with the variables of Grafana filled in.
fn queries() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    let queries = targets.map(|target| {
        let said = |name: &str| target[name].as_str().unwrap().to_owned();
        (said("expr").replace("$__rate_interval", "5m").replace("$job", ".*"), said("legendFormat"))
    });
    queries.collect()
}

/// The metric of a name as a scrape has it.
fn metric(name: &str) -> &str {
    ["_bucket", "_sum", "_count"].into_iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

#[test]
fn each_query_is_one_that_prometheus_understands() {
    let directory = tempfile::tempdir().unwrap();
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    for (place, (query, _)) in queries().iter().enumerate() {
        writeln!(rules, "      - record: query:{place}\n        expr: {}", serde_json::json!(query)).unwrap();
    }
    let file = directory.path().join("queries.yml");
    std::fs::write(&file, rules).unwrap();
    promtool_says_yes(&["check", "rules", file.to_str().unwrap()]);
}

#[test]
fn every_metric_is_on_the_dashboard_and_no_other() {
    let exist: BTreeSet<_> = Name::ALL.iter().map(|name| name.as_str().to_owned()).collect();
    let asked = queries().iter().flat_map(|(query, _)| metrics_in(query)).collect::<BTreeSet<_>>();
    let shown: BTreeSet<_> = asked.iter().map(|name| metric(name).to_owned()).collect();
    assert_eq!(shown, exist);
}

/// The labels of each metric of a scrape.
fn labels(scrape: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut labels = BTreeMap::<_, BTreeSet<_>>::new();
    for line in scrape.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).unwrap();
        let of = labels.entry(name).or_default();
        of.extend(
            rest.split("=\"").filter_map(|part| part.rsplit([',', '{', '"']).next()).filter(|name| !name.contains(' ')),
        );
    }
    labels
}

#[tokio::test]
async fn the_queries_ask_for_labels_that_a_replica_shows() {
    let [outbox, ..] = outboxes::migrated().await;
    let sink = Sink::start().await;
    let program = Program::new(&outbox.test.url, HTTP);
    let mut replica = program.start();
    let listener = replica.listener().await;
    for path in ["/", "/garbage"] {
        program.run(&["enqueue", "--channel", "http", "--target", &sink.url(path), "--payload", "{}"]).await.done();
    }
    let waiting = "SELECT count(*) FROM outbox WHERE status = 'PENDING'";
    eventually("all is settled", PATIENCE, async || (outbox.number(waiting).await == 0).then_some(())).await;
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let scrape = client.get(format!("{listener}/metrics")).send().await.unwrap().text().await.unwrap();
    let labels = labels(&scrape);
    let mut checked = 0;
    for (query, legend) in queries() {
        for (name, shown) in labels.iter().filter(|(name, _)| metrics_in(&query).contains(**name)) {
            let grouped =
                query.split("by (").skip(1).flat_map(|rest| rest.split(')').next().unwrap_or_default().split(", "));
            let in_legend = legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
            for label in grouped.chain(in_legend).filter(|label| !NOT_OURS.contains(label)) {
                assert!(shown.contains(label), "{name} has no {label}: {query}, {legend}; {shown:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}: {scrape}");
}
