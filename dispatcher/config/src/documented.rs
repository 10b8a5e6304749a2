//! Keeps docs/settings.md true: its tables are those of the table of settings.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::known::{KNOWN, Known, Row};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
const BEGIN: &str = "<!-- settings: begin -->\n";
const END: &str = "<!-- settings: end -->";

#[test]
fn every_setting_says_what_it_is() {
    let all = KNOWN.fixed().map(|(_, row)| row).chain(KNOWN.kinds().flat_map(|kind| KNOWN.own(kind)));
    for row in all.chain(&KNOWN.recurring) {
        assert!(row.description().len() > 20, "{} says too little: {:?}", row.name, row.description());
    }
}

/// A table for each section. Below that of a kind of channel stand the keys that are as of a kind before it.
pub(super) fn tables(known: &Known) -> String {
    let mut tables = Vec::new();
    for (section, rows) in &known.sections {
        tables.push(table(&format!("`[{section}]`"), rows.iter()));
    }
    let (mut earlier, of) = (Vec::new(), |row: &Row| (row.name, row.default.to_string(), row.description()));
    for kind in known.kinds() {
        let (same, own): (Vec<_>, Vec<_>) = known.own(kind).iter().partition(|row| earlier.contains(&of(row)));
        let title = format!("`[channels.NAME]` with `kind = \"{}\"`", kind.name);
        tables.push(table(&title, own.iter().copied()) + &as_of_earlier(&same));
        earlier.extend(own.into_iter().map(of));
    }
    tables.push(table("`[recurring.NAME]`", known.recurring.iter()));
    tables.join("\n")
}

fn table<'r>(title: &str, rows: impl Iterator<Item = &'r Row>) -> String {
    let mut table = format!("### {title}\n\n| key | default | what it is |\n|---|---|---|\n");
    for row in rows {
        let default = if row.default.as_str() == Some("") { "none".to_owned() } else { format!("`{}`", row.default) };
        let _ = writeln!(table, "| `{}` | {default} | {} |", row.name, row.description().replace('|', "\\|"));
    }
    table
}

fn as_of_earlier(rows: &[&Row]) -> String {
    let keys: Vec<_> = rows.iter().map(|row| row.name).collect();
    if keys.is_empty() { String::new() } else { format!("\nAs above: `{}`.\n", keys.join("`, `")) }
}

/// With `OUTBOX_TEST_UPDATE=1` the test writes the table instead.
#[test]
fn the_page_about_settings_has_every_key_with_its_default_and_its_comment() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let expected = format!("\n{}\n", tables(&KNOWN));
    if std::env::var_os("OUTBOX_TEST_UPDATE").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert!(
        written == expected,
        "docs/settings.md is not what the table of settings says: run this test with OUTBOX_TEST_UPDATE=1 in the environment"
    );
}
