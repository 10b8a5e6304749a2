//! What guard and keeper tell each other: a line of JSON each.

use std::time::Duration;

use outbox_dispatcher::term::clock::Moment;
use outbox_store::jobs::RunEnd;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines};

/// What the keeper tells the guard. Times are in milliseconds since the machine booted, by the clock that both read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub(crate) enum ToGuard {
    /// The seat is this process's until then: run the command.
    Start { token: i64, holder: String, last_success: Option<String>, until_ms: u64 },
    /// The seat is trusted until then.
    Trust { until_ms: u64 },
    /// The seat is another's.
    Lost,
    /// The end of the run is written, or given up.
    Written,
    /// No run comes, or none any more.
    Over(Over),
}

/// The end of what the keeper does: no run comes any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub(crate) enum Over {
    /// The last run has ended, and is written down.
    Done,
    /// Another has the seat, it is not time yet, or the job is paused.
    Skipped,
    /// No run began, because something failed. The keeper has said what.
    Failed,
}

/// What the guard tells the keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub(crate) enum ToKeeper {
    /// The command runs, in a process group of this number.
    Runs { group: i32 },
    /// The command has ended, and so has everything that it started.
    Ended { because: Because, exit_code: Option<i32>, signal: Option<i32>, tail: Option<String> },
    /// Somebody asked for an end: begin no run any more.
    Stop,
}

/// Why a command ended, as the guard knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Because {
    /// By itself.
    Itself,
    /// It took longer than it may.
    TimedOut,
    /// The seat was lost.
    Lost,
    /// Somebody asked for it.
    Stopped,
}

impl Because {
    /// The word of the history.
    pub(crate) fn in_history(self, exit_code: Option<i32>) -> RunEnd {
        match self {
            Self::Itself if exit_code == Some(0) => RunEnd::Finished,
            Self::Itself => RunEnd::Failed,
            Self::TimedOut => RunEnd::TimedOut,
            Self::Lost => RunEnd::Lost,
            Self::Stopped => RunEnd::Stopped,
        }
    }
}

/// A moment in the milliseconds of a line, not later than it is.
pub(crate) fn millis(moment: Moment) -> u64 {
    u64::try_from(moment.since_boot().as_millis()).unwrap_or(u64::MAX)
}

/// The moment of such milliseconds.
pub(crate) fn moment(millis: u64) -> Moment {
    Moment::at(Duration::from_millis(millis))
}

/// The lines from the other side.
#[derive(Debug)]
pub(crate) struct Hears<R>(Lines<BufReader<R>>);

impl<R: AsyncRead + Unpin> Hears<R> {
    pub(crate) fn new(from: R) -> Self {
        Self(BufReader::new(from).lines())
    }

    /// What the other side says next. None once it is gone, or says what nobody understands.
    ///
    /// # Cancel safety
    /// Safe: a line that was begun is kept.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        let line = self.0.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }
}

/// Tells the other side. One that is gone is noticed where it is listened to.
pub(crate) async fn tell(to: &mut (impl AsyncWrite + Unpin), what: &impl Serialize) {
    let Ok(mut line) = serde_json::to_vec(what) else { return };
    line.push(b'\n');
    if to.write_all(&line).await.is_ok() {
        let _ = to.flush().await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn what_is_told_is_heard_and_the_end_too() {
        let (mut here, there) = tokio::io::duplex(1_024);
        let told = [
            ToGuard::Start { token: 7, holder: "a.1".to_owned(), last_success: None, until_ms: 12 },
            ToGuard::Trust { until_ms: 13 },
            ToGuard::Lost,
            ToGuard::Over(Over::Skipped),
        ];
        for what in &told {
            tell(&mut here, what).await;
        }
        drop(here);
        let mut hears = Hears::new(there);
        for what in told {
            assert_eq!(hears.next().await, Some(what));
        }
        assert_eq!(hears.next::<ToGuard>().await, None);
    }

    #[test]
    fn a_moment_is_never_told_later_than_it_is() {
        let at = Moment::at(Duration::from_micros(1_999));
        assert!(moment(millis(at)) <= at);
    }
}
