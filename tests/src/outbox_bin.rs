//! The real program, for tests that run it as processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The path of the program `outbox`, built at the first call with the profile of the tests.
///
/// # Panics
/// Where it cannot be built; cargo has then said why on stderr.
pub fn outbox_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| build("outbox", &[]))
}

/// The same program with its fault points (`outbox_dispatcher::fault_point`).
///
/// # Panics
/// As [`outbox_binary`].
pub fn outbox_binary_with_fault_points() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| build("outbox-with-fault-points", &["--features", "outbox-cli/fault-points"]))
}

fn build(name: &str, features: &[&str]) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--bin", name, "--message-format=json-render-diagnostics"]).args(features);
    // The features of a dependency are those that the selected packages ask for together. The selection of
    // `cargo test --workspace` finds the dependencies compiled; the package alone might compile them again.
    cargo.arg("--workspace");
    // Cargo tells a test about its package. A build script that reads the same variables, as that of `ring` does, would
    // take them for its own and run again, and all that depends on it be compiled again.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_about_a_package(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    if let Some(directory) = target_directory() {
        cargo.arg("--target-dir").arg(directory);
    }
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "`cargo build --bin {name}` failed ({}): its words are above", output.status);
    let messages = String::from_utf8(output.stdout).unwrap();
    messages.lines().find_map(|line| executable(line, name)).expect("cargo names the executable that it built")
}

fn is_about_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// Where these tests themselves were built, which `cargo test --target-dir` tells no child process:
/// the test binary is `TARGET/PROFILE/deps/NAME`.
fn target_directory() -> Option<PathBuf> {
    let test_binary = std::env::current_exe().ok()?;
    let deps = test_binary.parent().filter(|directory| directory.ends_with("deps"))?;
    Some(deps.parent()?.parent()?.to_owned())
}

/// The path in cargo's message that the program was built (or found built).
fn executable(line: &str, name: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let ours = message["reason"] == "compiler-artifact" && message["target"]["name"] == name;
    message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
}
