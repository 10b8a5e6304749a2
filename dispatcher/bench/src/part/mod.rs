//! The parts of a bench that run in processes of their own, so that their usage does not count as usage of the product.
//!
//! A part is this program once more. It reads its orders from standard input, as one line of JSON: a URL may hold a
//! password, which a list of processes must not show. It answers in lines of JSON, and ends when its standard input
//! ends. So a part never outlives the bench.

pub(super) mod bare;
pub(super) mod book;
pub(super) mod committer;
pub(super) mod enqueuer;
pub(super) mod poster;
pub(super) mod push;
pub(super) mod receiver;

use std::io::{BufRead, Write};
use std::process::{ExitCode, Stdio};

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

/// The orders of a part. No `Debug`: some orders hold a password.
#[derive(Serialize, Deserialize)]
pub(super) enum Orders {
    /// Receive requests, count them, and report when they came.
    Receive(receiver::Kind),
    /// Send requests as fast as the receiver answers them.
    Post(poster::Orders),
    /// Claim and mark in a bare table.
    Bare(bare::Orders),
    /// Commit rows at a given rate.
    Commit(committer::Orders),
    /// Enqueue messages through the library.
    Enqueue(enqueuer::Orders),
}

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

fn say<T: Serialize>(answer: &T) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A part, as the bench sees it.
#[derive(Debug)]
pub(super) struct Part {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Part {
    /// Starts a part with its orders.
    pub(super) async fn start(orders: &Orders) -> anyhow::Result<Self> {
        let mut command = own_program()?;
        command.arg("bench-part").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("this program cannot be started once more")?;
        let orders_pipe = child.stdin.take().context("a part was started without an input")?;
        let answers = child.stdout.take().context("a part was started without an output")?;
        let mut part = Self { child, orders: orders_pipe, answers: BufReader::new(answers).lines() };
        part.write(&serde_json::to_string(orders)?).await?;
        Ok(part)
    }

    /// Gives orders to a new part, waits until it has carried them out, and returns its answer.
    pub(super) async fn done<T: DeserializeOwned>(orders: &Orders) -> anyhow::Result<T> {
        let mut part = Self::start(orders).await?;
        let answer = part.answer().await?;
        drop(part.orders);
        part.child.wait().await?;
        Ok(answer)
    }

    /// Asks the part a question, and waits for the answer.
    pub(super) async fn ask<T: DeserializeOwned>(&mut self, question: &str) -> anyhow::Result<T> {
        self.write(question).await?;
        self.answer().await
    }

    /// Waits for the next answer.
    pub(super) async fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        // A part that fails gives the reason on standard error, which it shares with the bench.
        let line = self.answers.next_line().await?.context("a part of the bench ended early")?;
        serde_json::from_str(&line).context("a part of the bench answered in a way that is not understood")
    }

    async fn write(&mut self, line: &str) -> anyhow::Result<()> {
        let written = self.orders.write_all(format!("{line}\n").as_bytes()).await;
        written.context("a part of the bench ended early")
    }
}

/// A command that starts this program once more. The new process gets no settings from the environment. Ctrl-C reaches
/// only the bench, which then ends the process.
pub(super) fn own_program() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("the path of this program is not known")?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OUTBOX_")) {
        command.env_remove(name);
    }
    command.env_remove("RUST_LOG").process_group(0).kill_on_drop(true);
    Ok(command)
}
