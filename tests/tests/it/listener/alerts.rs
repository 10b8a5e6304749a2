//! The alerts of docs/alerts: valid, tested, about metrics that exist, and each with its section in docs/runbook.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use outbox_dispatcher::metrics::Name;
use serde::Deserialize;

const RULES: &str = include_str!("../../../../docs/alerts/outbox.rules.yml");
const RUNBOOK: &str = include_str!("../../../../docs/runbook.md");

#[derive(Debug, Deserialize)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    alert: String,
    expr: String,
    #[serde(rename = "for")]
    _for: String,
    labels: Labels,
    annotations: Annotations,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    severity: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    summary: String,
    description: String,
    runbook_url: String,
}

fn rules() -> Vec<Rule> {
    let rules: Rules = yaml_serde::from_str(RULES).unwrap();
    rules.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// The program, or what to install.
fn promtool() -> PathBuf {
    if let Some(named) = std::env::var_os("OUTBOX_TEST_PROMTOOL") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("promtool")).find(|file| file.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "no `promtool` found. Install the Debian package `prometheus`, or run `tests/run`, which does; or name the \
             program in OUTBOX_TEST_PROMTOOL"
        )
    })
}

pub(crate) fn promtool_says_yes(arguments: &[&str]) {
    let alerts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/alerts");
    let output = Command::new(promtool()).args(arguments).current_dir(alerts).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "promtool {}: {out}{err}", arguments.join(" "));
}

#[test]
fn the_rules_are_valid() {
    promtool_says_yes(&["check", "rules", "outbox.rules.yml"]);
}

#[test]
fn each_alert_fires_when_it_should_and_not_when_it_should_not() {
    promtool_says_yes(&["test", "rules", "outbox.test.yml"]);
    let tests = include_str!("../../../../docs/alerts/outbox.test.yml");
    for rule in rules() {
        let of_this = format!("alertname: {}\n", rule.alert);
        let tested: Vec<_> = tests.split(&of_this).skip(1).map(str::trim_start).collect();
        let quiet = tested.iter().filter(|rest| rest.starts_with("exp_alerts: []")).count();
        assert!(quiet > 0, "no test shows when {} is quiet", rule.alert);
        assert!(quiet < tested.len(), "no test shows when {} fires", rule.alert);
    }
}

/// The words of an expression that are names of ours.
pub(crate) fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("outbox_")).map(str::to_owned).collect()
}

#[test]
fn the_alerts_are_about_metrics_that_exist() {
    let exist: BTreeSet<_> = Name::ALL.iter().map(|name| name.as_str().to_owned()).collect();
    for rule in rules() {
        let named = metrics_in(&rule.expr);
        assert!(!named.is_empty() && named.is_subset(&exist), "{}: {named:?}", rule.alert);
    }
    // Tables and functions are named there too.
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../outbox-schema");
    let migration = include_str!("../../../../outbox-schema/migrations/postgres/0001_outbox.sql");
    let in_the_database = |name: &str| {
        migration.contains(&format!("CREATE TABLE {name} "))
            || schema.join(format!("functions/postgres/{name}.sql")).is_file()
    };
    let unknown: Vec<_> =
        metrics_in(RUNBOOK).into_iter().filter(|name| !exist.contains(name) && !in_the_database(name)).collect();
    assert_eq!(unknown, Vec::<String>::new(), "docs/runbook.md");
}

#[test]
fn each_alert_says_whose_it_is_and_has_its_section_in_the_runbook() {
    let sections: Vec<_> = RUNBOOK.split("\n## ").skip(1).collect();
    let alerts: Vec<_> = rules().into_iter().map(|rule| rule.alert).collect();
    let titles: Vec<_> = sections.iter().map(|section| section.lines().next().unwrap_or_default()).collect();
    assert_eq!(titles, alerts, "one section for each alert, in their order");
    for (rule, section) in rules().iter().zip(sections) {
        let Annotations { summary, description, runbook_url } = &rule.annotations;
        assert!(runbook_url.ends_with(&format!("/docs/runbook.md#{}", rule.alert.to_lowercase())), "{runbook_url}");
        let severity = rule.labels.severity.as_str();
        assert!(["critical", "warning", "info"].contains(&severity), "{severity}");
        assert!(!summary.is_empty() && description.contains("{{ $labels.job }}"), "{}", rule.alert);
        for part in ["```sh\noutbox ", "**It can wait"] {
            assert!(section.contains(part), "{} has no {part:?}", rule.alert);
        }
    }
}
