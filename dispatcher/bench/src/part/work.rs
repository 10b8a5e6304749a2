//! The work of a part, by its orders.

use std::io::BufRead;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use tokio::sync::mpsc;

use super::orders::Orders;
use super::part::say;
use super::{bare, committer, enqueuer, poster, receiver};

/// The hidden command, which runs this process as a part of a bench.
pub async fn work() -> anyhow::Result<ExitCode> {
    let mut lines = standard_input();
    let Some(orders) = lines.recv().await else { return Ok(ExitCode::SUCCESS) };
    let orders = serde_json::from_str(&orders).context("these are no orders of a bench; `outbox bench` gives them")?;
    match orders {
        Orders::Receive(kind) => receiver::serve(kind, lines).await?,
        Orders::Post(orders) => until_left(lines, poster::post(orders)).await?,
        Orders::Bare(orders) => until_left(lines, bare::measure(orders)).await?,
        Orders::Commit(orders) => until_left(lines, committer::commit(orders)).await?,
        Orders::Enqueue(orders) => until_left(lines, enqueuer::measure(orders)).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports the result of the work, unless the bench closes standard input first.
async fn until_left<T: Serialize>(
    mut lines: mpsc::UnboundedReceiver<String>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<()> {
    tokio::select! {
        done = work => say(&done?),
        () = async { while lines.recv().await.is_some() {} } => Ok(()),
    }
}

/// Reads standard input in a thread of its own. The process could not end before a thread of the runtime had finished
/// reading.
fn standard_input() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
