//! Keeps the texts about settings true: checks the comments of the default file against the checks, and the table of
//! docs/settings.md against the default file.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::described::described;
use super::known::{KNOWN, Kind, TEMPLATES};
use super::{Config, Sources};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
const BEGIN: &str = "<!-- settings: begin -->\n";
const END: &str = "<!-- settings: end -->";

#[test]
fn every_setting_is_documented_in_the_default_file() {
    let templates: usize = Kind::ALL.into_iter().map(|kind| KNOWN.template(kind).len()).sum();
    let described = described();
    assert_eq!(described.len(), KNOWN.fixed.len() + templates);
    for key in described {
        assert!(key.comment.len() > 20, "{}.{} says too little: {:?}", key.section, key.name, key.comment);
    }
}

#[test]
fn what_the_default_file_says_is_allowed_is_what_the_checks_say() {
    let mut compared = 0;
    for key in described() {
        let Some(allowed) = key.allowed() else { continue };
        let (section, kind) = match key.section.strip_prefix(&format!("{TEMPLATES}.")) {
            Some(kind) => ("channels.x", Some(("channels.x.kind".to_owned(), kind.to_owned()))),
            None => (key.section, None),
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

/// A table for each section. Below that of a kind of channel stand the keys that are as of a kind before it.
fn table() -> String {
    let described = described();
    let (mut table, mut section) = (String::new(), "");
    let (mut earlier, mut same) = (Vec::new(), Vec::new());
    for key in &described {
        let kind = key.section.strip_prefix(&format!("{TEMPLATES}."));
        if key.section != section {
            table += &as_of_earlier(&std::mem::take(&mut same));
            let title = match kind {
                Some(kind) => format!("`[channels.NAME]` with `kind = \"{kind}\"`"),
                None => format!("`[{}]`", key.section),
            };
            let gap = if section.is_empty() { "" } else { "\n" };
            let _ = write!(table, "{gap}### {title}\n\n| key | default | what it is |\n|---|---|---|\n");
            section = key.section;
        }
        if kind.is_some() {
            if earlier.contains(&(key.name, key.default, &key.comment)) {
                same.push(key.name);
                continue;
            }
            earlier.push((key.name, key.default, &key.comment));
        }
        let default = if key.default == "\"\"" { "none".to_owned() } else { format!("`{}`", key.default) };
        let _ = writeln!(table, "| `{}` | {default} | {} |", key.name, key.comment.replace('|', "\\|"));
    }
    table + &as_of_earlier(&same)
}

fn as_of_earlier(keys: &[&str]) -> String {
    if keys.is_empty() { String::new() } else { format!("\nAs above: `{}`.\n", keys.join("`, `")) }
}

/// With `OUTBOX_TEST_UPDATE=1` the test writes the table instead.
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
