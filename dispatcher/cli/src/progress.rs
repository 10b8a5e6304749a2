//! What a long change says on standard error while it goes on: first its number and what takes it back, then how far it is. Ctrl-C
//! ends it after the present batch, and a second one at once.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outbox_console::text::{Advance, error_line, grouped};
use outbox_desk::{Author, ByHand, DeskError, Progress};
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A change of no more messages than this is over before anybody asks.
const SHORT: u64 = 200;

/// How long the outbox has to stop a change at once.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The exit status of a program that SIGINT ended, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// A long change, as its operator follows it.
#[derive(Debug)]
pub(super) struct LongChange {
    /// `redrive`, for the first line.
    name: &'static str,
    /// `redriven`, for the lines after it.
    done: &'static str,
    /// What takes a change with this number back.
    take_back: fn(i64) -> String,
    state: Mutex<State>,
    stopped: Arc<AtomicBool>,
    at_once: CancellationToken,
}

#[derive(Debug)]
struct State {
    advance: Advance,
    last: Option<Progress>,
}

impl LongChange {
    /// Begins to follow a change. From here on Ctrl-C ends the change.
    pub(super) fn new(name: &'static str, done: &'static str, take_back: fn(i64) -> String) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let at_once = CancellationToken::new();
        // Without a handler Ctrl-C ends the process, as it ever does.
        if let Ok(interrupts) = signal(SignalKind::interrupt()) {
            tokio::spawn(stop_on_interrupt(interrupts, stopped.clone(), at_once.clone()));
        }
        let state = Mutex::new(State { advance: Advance::new(done), last: None });
        Self { name, done, take_back, state, stopped, at_once }
    }

    /// Tells the operator how far the change is, and the change whether to go on.
    pub(super) fn tell(&self, progress: Progress) -> ControlFlow<()> {
        self.show(progress);
        if self.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn show(&self, progress: Progress) {
        let mut state = self.state.lock();
        let first = state.last.is_none();
        state.last = Some(progress);
        let long = progress.of.is_none_or(|of| of > SHORT);
        if first && long {
            let of = progress.of.map_or_else(String::new, |of| format!(": {} messages", grouped(of)));
            let back = (self.take_back)(progress.audit_id);
            // A failure to report progress does not matter.
            let _ = writeln!(io::stderr(), "{} {}{of}; {back}", self.name, progress.audit_id);
        } else if !first && long {
            state.advance.tell_as(word(self.done, progress), progress.done, progress.of);
        }
    }

    /// Waits for the change, and gives its result, with an exit status where it was stopped before its end. The status alone
    /// where the change has no result: a replica that is left tells none. `stopping` is who stops it at once, and where: without that
    /// the poller would go on with it.
    pub(super) async fn through<T>(
        &self,
        change: impl Future<Output = Result<T, DeskError>>,
        stopping: (&dyn ByHand, &Author),
    ) -> anyhow::Result<Result<(T, Option<ExitCode>), ExitCode>> {
        let done = self.at_once.run_until_cancelled(change).await;
        let stopped = self.end(matches!(done, Some(Ok(_))));
        match (done, stopped) {
            (None, code) => {
                self.stop(stopping).await;
                Ok(Err(code.unwrap_or(ExitCode::from(INTERRUPTED))))
            }
            (Some(Err(error)), None) => {
                // A right that is missing ends the change for good.
                if !error.lacks_rights() {
                    self.tell_of_the_rest();
                }
                Err(error.into())
            }
            (Some(Err(error)), Some(code)) => {
                error_line(&error.into());
                Ok(Err(code))
            }
            (Some(done), stopped) => Ok(Ok((done?, stopped))),
        }
    }

    async fn stop(&self, (by_hand, author): (&dyn ByHand, &Author)) {
        let Some(Progress { audit_id: id, .. }) = self.last() else { return };
        let stopped = tokio::time::timeout(STOP_LIMIT, by_hand.stop(id, author)).await;
        if !matches!(stopped, Ok(Ok(_))) {
            self.tell_of_the_rest();
        }
    }

    /// Says what may become of a change that failed: whoever reads the error may think that nothing goes on. Without a row in
    /// `outbox_operation` nothing does.
    fn tell_of_the_rest(&self) {
        if let Some(Progress { audit_id: id, has_row: true, .. }) = self.last() {
            let _ = writeln!(
                io::stderr(),
                "the poller may go on with operation {id}: `outbox operations show {id}` says so, and `outbox operations stop {id}` ends it"
            );
        }
    }

    /// How far the change is, once it has begun.
    fn last(&self) -> Option<Progress> {
        self.state.lock().last
    }

    /// Ends the report: nothing of it stays on the line that the result begins on. Gives the exit status of a change that was
    /// stopped before it had come to all its messages. `over`: nothing more comes of it.
    fn end(&self, over: bool) -> Option<ExitCode> {
        let mut state = self.state.lock();
        state.advance.clear();
        let last = state.last?;
        let stopped = self.stopped.load(Ordering::Relaxed) && last.of.is_none_or(|of| last.done < of);
        if !stopped {
            return None;
        }
        let _ = writeln!(io::stderr(), "{}", self.stopped_at(last, over));
        Some(ExitCode::from(INTERRUPTED))
    }
}

impl LongChange {
    /// What a change came to that was stopped. Where it is not over, its present batch may add to that.
    fn stopped_at(&self, Progress { audit_id, of, changed, .. }: Progress, over: bool) -> String {
        let of = of.map_or_else(String::new, |of| format!(" of {}", grouped(of)));
        let stopped = format!("stopped: {}{of} {}", grouped(changed), self.done);
        match (over, changed) {
            (true, 0) => format!("{stopped}; nothing was changed"),
            (true, _) => format!("{stopped}; {}", (self.take_back)(audit_id)),
            (false, _) => format!(
                "{stopped} so far; {}\n`outbox operations show {audit_id}` says what it came to",
                (self.take_back)(audit_id)
            ),
        }
    }
}

/// Asks the change to stop at the first Ctrl-C. The second one ends it where it is: its present batch is undone.
async fn stop_on_interrupt(mut interrupts: Signal, stopped: Arc<AtomicBool>, at_once: CancellationToken) {
    while interrupts.recv().await.is_some() {
        if stopped.swap(true, Ordering::Relaxed) {
            at_once.cancel();
            return;
        }
        let _ = writeln!(io::stderr(), "\nstopping after this batch; again to stop at once");
    }
}

/// The word for the messages that a change has come to: it may have left some of them as they were.
fn word(done: &'static str, progress: Progress) -> &'static str {
    if progress.changed == progress.done { done } else { "gone through" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_that_was_stopped_says_what_it_came_to_and_takes_back_nothing_where_nothing_was_changed() {
        let change = LongChange::new("cancel", "cancelled", |id| format!("take back {id}"));
        let at = |changed| Progress { audit_id: 7, of: Some(30_000), done: changed, changed, has_row: true };
        assert_eq!(change.stopped_at(at(3_000), true), "stopped: 3,000 of 30,000 cancelled; take back 7");
        assert_eq!(change.stopped_at(at(0), true), "stopped: 0 of 30,000 cancelled; nothing was changed");
        let so_far = change.stopped_at(at(3_000), false);
        assert!(so_far.starts_with("stopped: 3,000 of 30,000 cancelled so far; take back 7\n"), "{so_far}");
    }

    #[test]
    fn a_change_that_leaves_messages_as_they_are_says_that_it_went_through_them() {
        let at = |changed| Progress { audit_id: 7, of: Some(429), done: 429, changed, has_row: true };
        assert_eq!([at(429), at(427)].map(|progress| word("replayed", progress)), ["replayed", "gone through"]);
    }
}
