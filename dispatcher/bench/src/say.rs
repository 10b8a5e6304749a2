//! Reports the progress.

use std::io::Write;

/// Reports the progress on standard error. A failure to write there does not matter.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "outbox bench: {text}");
}
