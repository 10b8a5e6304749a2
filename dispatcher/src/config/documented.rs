//! Keeps what is written about settings true: the comments of the default file against the checks, and the
//! table of docs/settings.md against the default file.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::known::{KNOWN, Kind, TEMPLATES};
use super::{Config, DEFAULTS, Sources};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/settings.md");
const BEGIN: &str = "<!-- settings: begin -->\n";
const END: &str = "<!-- settings: end -->";

/// A key of the default file as it is written there.
struct Documented {
    section: String,
    name: String,
    default: String,
    comment: String,
}

/// The keys of the default file with the comments above them.
fn documented() -> Vec<Documented> {
    let (mut keys, mut section, mut comment) = (Vec::new(), String::new(), Vec::new());
    for line in DEFAULTS.lines() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push(text.trim());
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            comment.clear();
        } else if let Some((name, default)) = line.split_once(" = ") {
            let comment = std::mem::take(&mut comment).join(" ");
            keys.push(Documented { section: section.clone(), name: name.into(), default: default.into(), comment });
        } else {
            comment.clear();
        }
    }
    keys.retain(|key| key.section != "channels.http");
    keys
}

#[test]
fn every_setting_is_documented_in_the_default_file() {
    let templates: usize = Kind::ALL.into_iter().map(|kind| KNOWN.template(kind).len()).sum();
    let documented = documented();
    assert_eq!(documented.len(), KNOWN.fixed.len() + templates);
    for key in documented {
        assert!(key.comment.len() > 20, "{}.{} says too little: {:?}", key.section, key.name, key.comment);
    }
}

#[test]
fn what_the_default_file_says_is_allowed_is_what_the_checks_say() {
    let mut compared = 0;
    for key in documented() {
        let Some((_, allowed)) = key.comment.split_once("Allowed: ") else { continue };
        let allowed = allowed.split(';').next().unwrap().trim_end_matches('.');
        let (section, kind) = match key.section.strip_prefix(&format!("{TEMPLATES}.")) {
            Some(kind) => ("channels.x", Some(("channels.x.kind".to_owned(), kind.to_owned()))),
            None => (key.section.as_str(), None),
        };
        let wrong = (format!("{section}.{}", key.name), "\u{1}wrong".to_owned());
        let flags = kind.into_iter().chain([wrong.clone()]).collect();
        let error = Config::load(&Sources { flags, ..Sources::default() }).unwrap_err();
        let problem = error.problems.iter().find(|problem| problem.key == wrong.0).unwrap();
        assert!(problem.advice.contains(&format!("allowed is {allowed}")), "{allowed:?} and: {problem}");
        compared += 1;
    }
    assert!(compared > 20, "only {compared} comments say what is allowed");
}

fn table() -> String {
    let (mut table, mut section) = (String::new(), String::new());
    for key in documented() {
        if key.section != section {
            let title = match key.section.strip_prefix(&format!("{TEMPLATES}.")) {
                Some(kind) => format!("`[channels.NAME]` with `kind = \"{kind}\"`"),
                None => format!("`[{}]`", key.section),
            };
            let gap = if section.is_empty() { "" } else { "\n" };
            let _ = write!(table, "{gap}### {title}\n\n| key | default | what it is |\n|---|---|---|\n");
            section.clone_from(&key.section);
        }
        let default = if key.default == "\"\"" { "none".to_owned() } else { format!("`{}`", key.default) };
        let _ = writeln!(table, "| `{}` | {default} | {} |", key.name, key.comment.replace('|', "\\|"));
    }
    table
}

/// With `OUTBOX_TEST_UPDATE=1` it writes the table instead.
#[test]
fn the_page_about_settings_has_every_key_with_its_default_and_its_comment() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let expected = format!("\n{}\n", table());
    if std::env::var_os("OUTBOX_TEST_UPDATE").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert!(
        written == expected,
        "docs/settings.md is not what defaults.toml says: run this test with OUTBOX_TEST_UPDATE=1 in the environment"
    );
}
