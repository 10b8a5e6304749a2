//! Signals that ask a process to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Completes when this process is asked to stop.
pub async fn stopped() -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminated.recv() => {}
        _ = hung_up.recv() => {}
    }
    Ok(())
}
