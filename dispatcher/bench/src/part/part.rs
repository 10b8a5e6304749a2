//! A part, as the bench sees it.

use std::io::Write;
use std::process::Stdio;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::orders::Orders;

pub(crate) fn say<T: Serialize>(answer: &T) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A part, as the bench sees it.
#[derive(Debug)]
pub(crate) struct Part {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Part {
    /// Starts a part with its orders.
    pub(crate) async fn start(orders: &Orders) -> anyhow::Result<Self> {
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
    pub(crate) async fn done<T: DeserializeOwned>(orders: &Orders) -> anyhow::Result<T> {
        let mut part = Self::start(orders).await?;
        let answer = part.answer().await?;
        drop(part.orders);
        part.child.wait().await?;
        Ok(answer)
    }

    /// Asks the part a question, and waits for the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, question: &str) -> anyhow::Result<T> {
        self.write(question).await?;
        self.answer().await
    }

    /// Waits for the next answer.
    pub(crate) async fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
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
pub(crate) fn own_program() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("the path of this program is not known")?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OUTBOX_")) {
        command.env_remove(name);
    }
    command.env_remove("RUST_LOG").process_group(0).kill_on_drop(true);
    Ok(command)
}
