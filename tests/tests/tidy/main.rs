//! The conventions of the source tree, as far as a program can read them. It needs no server, and asks nothing of the network.
#![allow(clippy::unwrap_used, missing_docs)]

mod rings;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use outbox_tests::queries::{FOLDERS, statements};

/// Columns of a line of prose or code; a table's row, a link or a long string may have more.
const WIDTH: usize = 135;

/// The packages, each after those that it may name.
const PACKAGES: [(&str, &[&str]); 11] = [
    ("outbox-schema", &[]),
    ("outbox-schema/store", &["outbox_schema"]),
    ("outbox-schema/desk", &["outbox_schema", "outbox_store"]),
    ("adapters", &["outbox_schema", "outbox_store"]),
    ("dispatcher/config", &["outbox_schema", "outbox_store", "outbox_adapters"]),
    ("dispatcher", &["outbox_schema", "outbox_store", "outbox_desk", "outbox_adapters", "outbox_config"]),
    (
        "dispatcher/console",
        &["outbox_schema", "outbox_store", "outbox_desk", "outbox_adapters", "outbox_config", "outbox_dispatcher"],
    ),
    (
        "dispatcher/admin",
        &[
            "outbox_schema",
            "outbox_store",
            "outbox_desk",
            "outbox_adapters",
            "outbox_config",
            "outbox_dispatcher",
            "outbox_console",
        ],
    ),
    (
        "dispatcher/bench",
        &["outbox_schema", "outbox_store", "outbox_adapters", "outbox_config", "outbox_dispatcher", "outbox_console"],
    ),
    ("dispatcher/demo", &["outbox_schema", "outbox_store", "outbox_config", "outbox_dispatcher", "outbox_console"]),
    ("dispatcher/cli", &ALL),
];

/// All packages of the program but that of its command line.
const ALL: [&str; 10] = [
    "outbox_schema",
    "outbox_store",
    "outbox_desk",
    "outbox_adapters",
    "outbox_config",
    "outbox_dispatcher",
    "outbox_console",
    "outbox_admin",
    "outbox_bench",
    "outbox_demo",
];

/// What stands behind a port, and who puts it there.
const CONCRETE: [&str; 8] = [
    "PostgresStore",
    "MySqlStore",
    "SqliteStore",
    "RedisLease",
    "TableLease",
    "SessionLease",
    "HttpChannel",
    "FcmChannel",
];
const WIRING: &str = "dispatcher/src/wiring.rs";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files that git keeps, or would keep, with this ending: what lies about in folders of builds is not the project's.
fn files(ending: &str) -> Vec<String> {
    fn walk(directory: &Path, root: &Path, ending: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let made = ["target", "node_modules", ".git", "vendor", "venv", "__pycache__"].contains(&name.as_str());
            if entry.file_type().unwrap().is_dir() && !made {
                walk(&entry.path(), root, ending, found);
            } else if name.ends_with(ending) {
                found.push(entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &root(), ending, &mut found);
    found.sort();
    found
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// Fails with all that was found, one a line.
fn none(found: &[String], what: &str) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// A page's lines outside its blocks of code.
fn prose(page: &str) -> Vec<&str> {
    let mut code = false;
    let outside = |line: &&str| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    };
    page.lines().filter(outside).collect()
}

/// The anchors that GitHub gives a page's headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let said = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = said.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    headings.map(anchor).collect()
}

/// The addresses of a page's links, `[text](address)`.
fn links(page: &str) -> Vec<String> {
    let whole = prose(page).join("\n");
    let after = whole.split("](").skip(1);
    after.filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

#[test]
fn each_link_of_the_documents_leads_to_a_file_and_a_heading_that_are_there() {
    let mut broken = Vec::new();
    for page in files(".md") {
        let whole = text(&page);
        for link in links(&whole) {
            if link.contains("://") || link.starts_with("mailto:") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, anchor) = link.split_once('#').map_or((&*link, None), |(file, anchor)| (file, Some(anchor)));
            let target = root().join(&page).parent().unwrap().join(file);
            let target = if file.is_empty() { root().join(&page) } else { target };
            if !target.exists() {
                broken.push(format!("{page}: there is no {link}"));
            } else if let Some(anchor) = anchor
                && target.extension().is_some_and(|ending| ending == "md")
                && !anchors(&fs::read_to_string(&target).unwrap()).contains(anchor)
            {
                broken.push(format!("{page}: {link} has no such heading"));
            }
        }
    }
    none(&broken, "links that lead nowhere");
}

#[test]
fn each_file_of_the_code_that_a_document_names_is_there() {
    let there: Vec<_> = files("").into_iter().map(|file| format!("/{file}")).collect();
    let mut missing = Vec::new();
    for page in [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/internals/decisions.md",
        "docs/internals/measurements.md",
        "README.md",
    ] {
        let whole = prose(&text(page)).join("\n");
        for name in whole.split('`').skip(1).step_by(2) {
            let is_folder = name.ends_with('/') && name.len() > 1;
            let is_path = is_folder || Path::new(name).extension().is_some_and(|ending| ending == "rs");
            let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/_-.".contains(c));
            let end = format!("/{name}");
            let is_there = |file: &String| if is_folder { file.contains(&end) } else { file.ends_with(&end) };
            if is_path && is_name && !there.iter().any(is_there) {
                missing.push(format!("{page}: {name}"));
            }
        }
    }
    none(&missing, "files that documents name and nobody has");
}

#[test]
fn each_module_says_what_it_is_for_in_one_file_of_one_kind() {
    let mut wrong = Vec::new();
    for file in files(".rs") {
        if !text(&file).starts_with("//!") {
            wrong.push(format!("{file} does not begin with `//!`"));
        }
        if root().join(file.trim_end_matches(".rs")).is_dir() {
            wrong.push(format!("{file} lies beside its folder; it is called mod.rs there"));
        }
    }
    none(&wrong, "modules");
}

/// rustfmt sees to the code, and leaves comments as they are.
#[test]
fn a_comment_fits_its_screen() {
    let mut long = Vec::new();
    for file in files(".rs") {
        for (number, line) in text(&file).lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if is_comment && line.chars().count() > WIDTH && !line.contains("://") {
                long.push(format!("{file}:{}", number + 1));
            }
        }
    }
    none(&long, "comments that are too long");
}

#[test]
fn a_package_names_only_those_below_it() {
    let all: BTreeSet<_> = ALL.into_iter().chain(["outbox_cli"]).collect();
    let mut wrong = Vec::new();
    for (package, below) in PACKAGES {
        let manifest = text(&format!("{package}/Cargo.toml"));
        let depends = manifest.split("[dev-dependencies]").next().unwrap();
        for other in &all {
            let named = depends.contains(&format!("\n{}", other.replace('_', "-")));
            if named && !below.contains(other) {
                wrong.push(format!("{package} depends on {other}"));
            }
        }
    }
    none(&wrong, "packages that point upwards");
}

/// Whoever reads one file of a ring has to read them all, and none of them can become a package.
#[test]
fn no_files_of_a_crate_need_each_other() {
    let there = |file: &str| fs::read_to_string(root().join(file)).ok();
    let mut found = Vec::new();
    for root in files(".rs").iter().filter(|file| file.ends_with("/lib.rs") || file.ends_with("/main.rs")) {
        found.extend(rings::Crate::read(root, &there).rings(&str::to_owned));
    }
    none(&found, "files that need each other: move what both need into a file below them");
}

#[test]
fn no_modules_of_the_dispatcher_need_each_other() {
    let there = |file: &str| fs::read_to_string(root().join(file)).ok();
    let mut found = Vec::new();
    for package in ["dispatcher", "dispatcher/config", "dispatcher/console", "dispatcher/admin"] {
        let module = |file: &str| {
            let below = file.trim_start_matches(package).trim_start_matches("/src/");
            below.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
        };
        found.extend(rings::Crate::read(&format!("{package}/src/lib.rs"), &there).rings(&module));
    }
    none(&found, "modules that need each other: move what both need into one below them");
}

/// So the contents of a folder are found by the names of its files.
#[test]
fn a_mod_rs_of_the_program_declares_and_re_exports_only() {
    let mut found = Vec::new();
    for file in files("/mod.rs").iter().filter(|file| file.contains("/src/") && !file.starts_with("tests/")) {
        let is_said = |line: &&str| !(line.trim_start().starts_with("//") || line.trim_start().starts_with("#["));
        let code: String = text(file).lines().filter(is_said).collect::<Vec<_>>().join(" ");
        for statement in code.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            let words: Vec<_> = statement.split_whitespace().skip_while(|word| word.starts_with("pub")).collect();
            let is_path = words.first().is_some_and(|word| word.ends_with(')'));
            if !matches!(words.get(usize::from(is_path)), Some(&"mod" | &"use")) {
                found.push(format!("{file}: {}", statement.chars().take(60).collect::<String>()));
            }
        }
    }
    let is_of_tests = |file: &String| file.contains("/fixtures/") || file.contains("/tests/");
    found.retain(|file| !is_of_tests(file));
    none(&found, "code in a mod.rs: it belongs into a file of its name");
}

#[test]
fn a_ring_is_found_behind_a_re_export_and_a_parent_that_only_declares_is_in_none() {
    let rings = |texts: &[(&str, &str)]| {
        let there = |file: &str| texts.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_owned());
        rings::Crate::read("a/lib.rs", &there).rings(&str::to_owned)
    };
    let above = ("a/lib.rs", "mod b; mod c; pub use b::Bee; #[cfg(test)] mod tests { use crate::c::see; }");
    let see = ("a/c.rs", "pub(crate) fn see(bee: &crate::Bee) {}");
    assert_eq!(rings(&[above, see, ("a/b.rs", "pub struct Bee; // crate::c::see")]), [""; 0]);
    let found = rings(&[above, see, ("a/b.rs", "pub struct Bee; fn go() { super::c::see(&Bee) }")]);
    assert_eq!(found, ["a/b.rs -> a/c.rs: super::c::see", "a/c.rs -> a/b.rs: crate::Bee"]);
}

/// Tests of a module make what they need.
#[test]
fn the_loop_is_given_its_stores_leases_and_adapters_by_the_wiring_alone() {
    let mut wrong = Vec::new();
    for file in files(".rs") {
        let is_of_the_loop = file.starts_with("dispatcher/src/") && file != WIRING;
        if !is_of_the_loop || file.contains("fixtures") || file.ends_with("tests.rs") {
            continue;
        }
        let whole = text(&file);
        let code = whole.split("#[cfg(test)]\nmod tests").next().unwrap();
        wrong.extend(CONCRETE.iter().filter(|name| code.contains(**name)).map(|name| format!("{file}: {name}")));
    }
    none(&wrong, "concrete types outside of wiring.rs");
}

/// The files of statements, with what each is of: `DIALECT/SUBJECT`.
fn files_of_statements() -> Vec<(String, String)> {
    let files = files(".sql").into_iter();
    files
        .filter_map(|file| {
            let of = FOLDERS.iter().find_map(|folder| file.strip_prefix(folder)?.strip_prefix('/'))?;
            let of = of.trim_end_matches(".sql").to_owned();
            Some((file, of))
        })
        .collect()
}

#[test]
fn a_file_of_statements_has_each_name_once_in_the_order_of_the_alphabet() {
    let (mut found, mut subjects) = (Vec::new(), BTreeSet::new());
    for (file, of) in files_of_statements() {
        let whole = text(&file);
        let statements = statements(&whole);
        found.extend((of.split('/').count() != 2).then(|| format!("{file}: is not queries/DIALECT/SUBJECT.sql")));
        found.extend((!subjects.insert(of)).then(|| format!("{file}: another package has a file of this subject")));
        found.extend((!whole.starts_with("-- name: ")).then(|| format!("{file}: begins before its first statement")));
        let pairs = statements.windows(2).filter(|pair| pair[0].0 >= pair[1].0);
        found.extend(pairs.map(|pair| format!("{file}: {} after {}", pair[1].0, pair[0].0)));
        let ends = |text: &str| text.ends_with('\n') && !text.ends_with("\n\n");
        let others = statements.iter().filter(|(_, text)| !ends(text));
        found.extend(others.map(|(name, _)| format!("{file}: not one empty line behind {name}")));
    }
    none(&found, "files of statements: -- name: NAME");
}

/// The statements of one name in each dialect are one statement, but for those that only one dialect needs.
#[test]
fn each_statement_is_run_by_somebody() {
    let code: String =
        files(".rs").iter().filter(|file| file.starts_with("outbox-schema/")).map(|file| text(file)).collect();
    // What is run may be made of two statements.
    let named = |macro_name: &str| -> BTreeSet<&str> {
        let made = code.split(macro_name).skip(1).filter_map(|rest| rest.split_once(')'));
        made.flat_map(|(names, _)| names.split('"').skip(1).step_by(2)).collect()
    };
    let (of_one, of_three, of_two) = (named("query!("), named("statement!("), named("step!("));
    let mut idle = Vec::new();
    for (file, of) in files_of_statements() {
        for (name, _) in statements(&text(&file)) {
            let path = format!("{of}/{name}");
            let (dialect, shared) = path.split_once('/').unwrap();
            let is_step = dialect != "postgres" && of_two.contains(shared);
            if !of_one.contains(&*path) && !of_three.contains(shared) && !is_step {
                idle.push(path);
            }
        }
    }
    none(&idle, "SQL that nothing runs");
}

/// Where a table is small, MySQL and MariaDB would sooner read all of it than look its rows up by their ids. A statement that locks
/// then waits for rows that it has nothing to do with.
#[test]
fn a_join_by_id_on_mysql_names_the_index() {
    let mut found = Vec::new();
    let of_mysql = files_of_statements().into_iter().filter(|(_, of)| of.starts_with("mysql/"));
    let all = of_mysql.flat_map(|(file, of)| {
        statements(&text(&file)).into_iter().map(move |(name, text)| (format!("{of}/{name}"), text))
    });
    for (path, text) in all {
        let words: Vec<_> =
            text.lines().filter(|line| !line.starts_with("--")).flat_map(str::split_whitespace).collect();
        let joins = words.windows(5).filter(|join| join[0] == "JOIN" || join[0] == "STRAIGHT_JOIN");
        for join in joins.filter(|join| join[1].starts_with("outbox") && join[3] == "ON") {
            if join[4] == format!("{}.id", join[2]) {
                found.push(format!("{path}: {}", join.join(" ")));
            }
        }
        // The list of ids goes first.
        found.extend(text.contains("\nJOIN JSON_TABLE").then(|| format!("{path}: JOIN JSON_TABLE")));
    }
    none(&found, "joins that an optimizer may read a whole table for: FORCE INDEX (PRIMARY)");
}

/// The SQLite of an application may be older than the one of the program.
#[test]
fn all_but_what_an_application_runs_asks_sqlite_for_now_in_one_way() {
    let mut found = Vec::new();
    for (file, of) in files_of_statements().into_iter().filter(|(_, of)| of.starts_with("sqlite/")) {
        let other = if of == "sqlite/enqueue" { "unixepoch" } else { "julianday" };
        let statements = text(&file);
        found.extend(statements.contains(other).then(|| format!("{file} says {other}")));
        let whole = statements.matches("CAST(round(unixepoch('subsec') * 1000) AS INTEGER)").count();
        let all = statements.matches("unixepoch('subsec')").count();
        found.extend((all != whole).then(|| format!("{file} rounds in another way")));
    }
    none(&found, "other ways to ask for now");
}

/// A service that enqueues on one database brings one driver: no other, and not SQLite's C source.
/// Its options need the functions of this tree.
#[test]
fn the_starter_for_spring_and_its_page_have_the_version_of_the_program() {
    let version = format!("<version>{}</version>", env!("CARGO_PKG_VERSION"));
    let poms = ["pom.xml", "starter/pom.xml", "starter-test/pom.xml", "starter-boot3/pom.xml"].map(|pom| (pom, 1));
    for (file, times) in poms.into_iter().chain([("README.md", 2)]) {
        let file = format!("guides/spring/{file}");
        assert_eq!(text(&file).matches(&version).count(), times, "{file} names {version}");
    }
}

#[test]
fn an_application_brings_the_driver_of_its_database_only() {
    let drivers = ["sqlx-postgres", "sqlx-mysql", "sqlx-sqlite", "libsqlite3-sys", "async-trait"];
    for (feature, brought) in [
        ("postgres", &["sqlx-postgres"][..]),
        ("mysql", &["sqlx-mysql"][..]),
        ("sqlite", &["sqlx-sqlite", "libsqlite3-sys"][..]),
    ] {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["tree", "--package", "outbox-schema", "--no-default-features", "--features", feature]);
        cargo.args(["--edges", "normal", "--prefix", "none", "--locked"]).current_dir(root());
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).unwrap();
        let packages: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        let found: Vec<_> = drivers.into_iter().filter(|driver| packages.contains(driver)).collect();
        assert_eq!(found, brought, "{feature}");
    }
}

/// What a package names in its manifest and nowhere else. Each exception says in the manifest why it is there.
#[test]
fn each_dependency_of_a_package_is_used_by_it() {
    const EXCEPTIONS: [&str; 1] = ["idna_adapter"];
    let mut idle = Vec::new();
    for manifest in files("Cargo.toml").into_iter().filter(|file| file.contains('/')) {
        let package = manifest.trim_end_matches("Cargo.toml");
        // The packages in its folder have manifests of their own.
        let inner: Vec<_> = PACKAGES.iter().map(|(name, _)| format!("{name}/")).collect();
        let is_own = |file: &&String| {
            file.starts_with(package)
                && !inner.iter().any(|inner| inner.len() > package.len() && file.starts_with(inner))
        };
        let code: String = files(".rs").iter().filter(is_own).map(|file| text(file)).collect();
        let (mut lists, whole) = (false, text(&manifest));
        for line in whole.lines() {
            if line.starts_with('[') {
                lists = line.ends_with("dependencies]");
            } else if let Some(name) = line.split(['.', ' ', '=']).next().filter(|name| lists && !name.is_empty()) {
                let name = name.replace('-', "_");
                let ways = [format!("{name}::"), format!("use {name};"), format!("use {name} as"), format!("#[{name}")];
                let is_used = ways.iter().any(|way| code.contains(way)) || EXCEPTIONS.contains(&name.as_str());
                if !line.starts_with('#') && !is_used {
                    idle.push(format!("{manifest}: {name}"));
                }
            }
        }
    }
    none(&idle, "dependencies that nothing uses");
}
