//! Gives the program its version. Between two releases that names the commit, so that a build can be told from the release.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many characters of the commit the version has. A column for the version has 32 characters.
const COMMIT: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=OUTBOX_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A release says its version and nothing else.
    let commit = if version.contains('-') { commit() } else { None };
    let version = commit.map_or_else(|| version.clone(), |commit| format!("{version}+{commit}"));
    println!("cargo::rustc-env=OUTBOX_VERSION={version}");
}

/// The commit of this tree: what `OUTBOX_COMMIT` says, as where an image is built without the repository, else what git says.
/// None in a source archive.
fn commit() -> Option<String> {
    let told = env::var("OUTBOX_COMMIT").ok().filter(|told| !told.is_empty());
    let commit = told.or_else(of_git)?;
    let is_plain = commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| commit.chars().take(COMMIT).collect())
}

fn of_git() -> Option<String> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").ok()?).join("../..").canonicalize().ok()?;
    // An archive may be unpacked within a repository that is another's.
    let top = PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != root {
        return None;
    }
    // Git writes to this log whenever HEAD comes to another commit. A file that is not there would have cargo build each time.
    for log in ["logs/HEAD", "HEAD"] {
        let path = root.join(git(&root, &["rev-parse", "--git-path", log])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&root, &["rev-parse", "HEAD"])
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned()).filter(|said| !said.is_empty())
}
