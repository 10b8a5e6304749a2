//! Python with the packages with which receivers read what they get, and judges written with them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Names another Python, which has the packages of `tests/python/requirements.txt`.
const VARIABLE: &str = "OUTBOX_TEST_PYTHON";

/// The Python that `tests/install` has prepared, else the one that the variable names.
///
/// # Panics
/// Where there is none, saying what to do.
pub fn python() -> PathBuf {
    let prepared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin/python");
    let python = std::env::var_os(VARIABLE).map_or(prepared, PathBuf::from);
    assert!(
        python.is_file(),
        "no Python at {}: run tests/install, or name one that has the packages of tests/python/requirements.txt in \
         {VARIABLE}",
        python.display()
    );
    python
}

/// What `tests/python/SCRIPT` answers to `question`.
///
/// # Panics
/// Where it fails; what it says is in the output of the test.
pub async fn judged_by(script: &str, question: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(script);
    let mut judge = Command::new(python());
    judge.arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut judge = judge.spawn().unwrap();
    let mut stdin = judge.stdin.take().unwrap();
    stdin.write_all(question.to_string().as_bytes()).await.unwrap();
    drop(stdin);
    let answer = judge.wait_with_output().await.unwrap();
    assert!(answer.status.success(), "{} failed: see above", script.display());
    serde_json::from_slice(&answer.stdout).unwrap()
}
