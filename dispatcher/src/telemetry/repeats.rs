//! Lines of the log that say the same again and again are counted. The first [`FIRST`] are written, and then one line a
//! minute that says how many more there were.
//!
//! Two warnings or errors say the same where their event, their channel, their destination, their status and the pattern of
//! their error are the same. Which message it was makes no difference: `outbox_attempt` has each attempt. Where the
//! filter of the log lets debug lines through, nothing is counted and each line is written.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_store::fingerprint::pattern;
use parking_lot::{Mutex, MutexGuard};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// How many lines that say the same are written before they are counted.
const FIRST: u64 = 3;

/// How often the number is told.
const MINUTE: Duration = Duration::from_mins(1);

/// How often it is looked whether a minute has passed.
const LOOK: Duration = Duration::from_secs(1);

/// The most lines that are told apart by their destination and their error. Beyond it those of one channel and one outcome are
/// counted together: rows may name any number of destinations.
const TOLD_APART: usize = 1024;

/// Fields that say which message or process it was.
const OF_ONE: [&str; 3] = ["idempotency_key", "holder", "address"];

/// The events of which each is news: those that answer an operator, who has just asked for each, and the ends of terms.
const NEVER_COUNTED: [&str; 2] = ["settings.", "term."];

/// Counts lines. A clone counts the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<HashMap<Line, Count>>>);

/// What is the same in lines that say the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Line {
    target: &'static str,
    event: String,
    channel: Option<String>,
    destination: Option<String>,
    error: Option<String>,
    /// The other fields.
    more: String,
}

#[derive(Debug)]
struct Count {
    /// The lines that were written.
    written: u64,
    /// The lines that were left out since they were last told of.
    left_out: u64,
    since: Instant,
}

impl Repeats {
    /// Tells of what was left out, once a minute, as long as the process lives.
    pub(super) async fn tell(self) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.tell_of(Instant::now().checked_sub(MINUTE));
        }
    }

    /// Tells of all that was left out so far.
    pub(super) fn tell_the_rest(&self) {
        self.tell_of(Some(Instant::now()));
    }

    /// Tells of the lines whose count began at `until` or before.
    fn tell_of(&self, until: Option<Instant>) {
        let Some(until) = until else { return };
        for (line, count) in self.over(until) {
            let Line { event, channel, destination, error, more, target: _ } = line;
            let more = Some(more).filter(|more| !more.is_empty());
            tracing::warn!(
                event,
                channel,
                destination,
                error,
                more,
                count,
                "log.repeated: lines like it were left out"
            );
        }
    }

    /// The counts that began at `until` or before. They begin anew, and those of nothing are forgotten.
    fn over(&self, until: Instant) -> Vec<(Line, u64)> {
        let mut over = Vec::new();
        self.lines().retain(|line, count| {
            if count.since > until {
                return true;
            }
            if count.left_out == 0 {
                return false;
            }
            over.push((line.clone(), count.left_out));
            (count.left_out, count.since) = (0, Instant::now());
            true
        });
        over
    }

    /// Whether this line is to be written.
    fn is_news(&self, line: Line, now: Instant) -> bool {
        let mut lines = self.lines();
        let line = if lines.len() < TOLD_APART || lines.contains_key(&line) { line } else { line.of_any_destination() };
        let count = lines.entry(line).or_insert(Count { written: 0, left_out: 0, since: now });
        if count.written < FIRST {
            count.written += 1;
            return true;
        }
        count.left_out += 1;
        false
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<Line, Count>> {
        self.0.lock()
    }
}

impl<S: Subscriber> Filter<S> for Repeats {
    fn enabled(&self, _: &tracing::Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        let ours = metadata.target().starts_with("outbox") && metadata.target() != module_path!();
        if !ours || *metadata.level() > Level::WARN {
            return true;
        }
        let mut line = Line::new(metadata.target());
        event.record(&mut line);
        line.is_never_counted() || self.is_news(line, Instant::now())
    }
}

impl Line {
    fn new(target: &'static str) -> Self {
        Self { target, event: String::new(), channel: None, destination: None, error: None, more: String::new() }
    }

    fn is_never_counted(&self) -> bool {
        NEVER_COUNTED.iter().any(|events| self.event.starts_with(events))
    }

    /// The same of all destinations.
    fn of_any_destination(self) -> Self {
        Self { destination: None, error: None, ..self }
    }

    fn add(&mut self, name: &'static str, text: String) {
        match name {
            "message" => self.event = pattern(&text),
            "channel" => self.channel = Some(text),
            "destination" => self.destination = Some(text),
            "error" => self.error = Some(pattern(&text)),
            name if OF_ONE.contains(&name) => {}
            // Writing to a `String` cannot fail.
            name => drop(write!(self.more, "{}{name}={}", if self.more.is_empty() { "" } else { " " }, pattern(&text))),
        }
    }
}

/// Numbers say how long, how often or which one, but for a status.
impl Visit for Line {
    fn record_i64(&mut self, field: &Field, value: i64) {
        if field.name() == "status_code" {
            let gap = if self.more.is_empty() { "" } else { " " };
            let _ = write!(self.more, "{gap}status_code={value}");
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_f64(&mut self, _: &Field, _: f64) {}

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value.to_string());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(destination: &str, error: &str) -> Line {
        let mut line = Line::new("outbox_dispatcher::poller::send");
        for (name, text) in [("message", "attempt"), ("channel", "hooks"), ("outcome", "dead")] {
            line.add(name, text.to_owned());
        }
        line.add("destination", destination.to_owned());
        line.add("error", error.to_owned());
        line
    }

    #[test]
    fn the_first_lines_are_written_and_then_their_number_once_a_minute() {
        let (repeats, began) = (Repeats::default(), Instant::now());
        let refused = |id| line("https://a.example:443", &format!("https://a.example answered 404 to message {id}"));
        let written = (0..50_000).filter(|id| repeats.is_news(refused(*id), began)).count();
        assert_eq!(written, 3);
        assert!(repeats.is_news(line("https://a.example:443", "https://a.example failed"), began), "another error");
        assert!(repeats.is_news(line("https://b.example:443", "https://a.example answered 404 to message 1"), began));

        assert!(
            began.checked_sub(LOOK).is_none_or(|early| repeats.over(early).is_empty()),
            "the minute has not passed"
        );
        let told = repeats.over(began);
        assert_eq!(told.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [49_997]);
        assert!(!repeats.is_news(refused(1), began), "it goes on");
        assert_eq!(repeats.over(Instant::now()).len(), 1);
        assert!(repeats.over(Instant::now()).is_empty());
        assert!(repeats.is_news(refused(1), Instant::now()), "nobody had said so for a minute");
    }

    #[test]
    fn each_end_of_a_term_and_each_answer_to_an_operator_is_written_and_what_receivers_do_is_counted() {
        for (event, is_never_counted) in [("term.ended", true), ("settings.refused", true), ("attempt", false)] {
            let line = Line { event: event.to_owned(), ..Line::new("outbox_dispatcher") };
            assert_eq!(line.is_never_counted(), is_never_counted, "{event}");
        }
    }

    #[test]
    fn as_many_destinations_as_rows_may_name_make_no_more_lines_than_a_bound_and_hide_no_other_outcome() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        let told = |number: usize| {
            line(&format!("https://h{number}.example:443"), &format!("https://h{number}.example failed"))
        };
        let written = (0..50_000).filter(|number| repeats.is_news(told(*number), now)).count();
        assert!(written <= TOLD_APART + 10, "{written}");
        assert!(repeats.lines().len() <= TOLD_APART + 1);
        let other = Line { more: "outcome=retry".to_owned(), ..told(50_001) };
        assert!(repeats.is_news(other, now));
    }
}
