//! The report at the end of the demo.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::audit::{Audit, Cause, Twice};
use super::crash::Crash;
use super::fleet::Fleet;
use super::shop::Sales;
use super::stage::Stage;
use super::tables::TermRow;
use outbox_console::text::{Cell, Page, span};

/// The table of messages: committed, rolled back, delivered, sent twice, dead.
pub(super) fn messages(sold: &Sales, audit: &Audit, fleet: &Fleet) -> Page {
    let dead: usize = audit.dead.values().sum();
    let rows = [
        ("committed", sold.committed.len(), format!("with {} orders", sold.orders)),
        ("rolled back", sold.rolled_back.len(), format!("with {} orders", sold.orders_rolled_back)),
        ("delivered", audit.delivered, "accepted by the receiver".to_owned()),
        ("sent twice", audit.twice.len(), why_twice(&audit.twice, fleet)),
        ("dead letters", dead, "each kept with its reason".to_owned()),
        ("outcomes told", audit.told, "of each dead letter and each push, once".to_owned()),
    ];
    let mut page = Page::default();
    page.findings(
        ["messages", "", ""],
        rows.map(|(what, number, note)| [what.into(), Cell::whole(number), note.into()]),
    );
    page
}

/// Each term that explains a second delivery.
fn why_twice(twice: &[Twice], fleet: &Fleet) -> String {
    let because = twice.iter().flat_map(|twice| &twice.because);
    let reasons: BTreeSet<_> = because
        .map(|doubt| {
            let holder = fleet.name_of(&doubt.holder).unwrap_or(&doubt.holder);
            format!("{}: epoch {}, held by {holder}", doubt.outcome.replace('_', " "), doubt.epoch)
        })
        .collect();
    reasons.into_iter().collect::<Vec<_>>().join("; ")
}

/// Why some messages arrived twice after the poller's death, with one message as an example.
pub(super) fn crash(crash: &Crash, audit: &Audit) -> String {
    let mut text = format!(
        "The poller {} (epoch {}) was killed with {} requests on the wire. Nobody left could tell which of them had arrived, nor \
         what had been answered and not been marked yet: all that is in doubt, and was sent again with the same idempotency key.",
        crash.name, crash.epoch, crash.open
    );
    if let Some(Twice { key, accepted, .. }) = audit.twice.first() {
        let times: Vec<_> = accepted.iter().map(|at| format!("{:.1}s", at.as_secs_f64())).collect();
        let _ = write!(text, " The receiver saw {key} at {}.", times.join(" and "));
    }
    text
}

/// The table of dead letters, by cause.
pub(super) fn dead_letters(audit: &Audit) -> Page {
    let rows = audit.dead.iter().map(|(cause, number)| {
        [Cell::state(&cause.reason), cause.channel.clone().into(), answer(cause).into(), Cell::whole(number)]
    });
    let mut page = Page::default();
    page.table(["dead letters", "channel", "last answer", "messages"], rows);
    page
}

fn answer(cause: &Cause) -> String {
    cause.status_code.map_or_else(|| "-".to_owned(), |code| code.to_string())
}

/// The table of terms: which replica polled, from when (since the demo `began`), and until when.
pub(super) fn terms(terms: &[TermRow], began: SystemTime, fleet: &Fleet, crash: &Crash) -> Page {
    let began = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let began_ms = i64::try_from(began).unwrap_or(0);
    let number = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let rows = terms.iter().map(|term| {
        let ended = term.ended_because.as_deref().unwrap_or("-");
        let ended = if term.epoch == crash.epoch { format!("{ended}: kill -9") } else { ended.to_owned() };
        [
            Cell::whole(term.epoch),
            Cell::whole(fleet.name_of(&term.holder).unwrap_or("?")),
            term.holder.clone().into(),
            Cell::whole(span(term.started_at - began_ms)),
            Cell::whole(term.lasted_ms.map_or_else(|| "-".to_owned(), span)),
            Cell::whole(ended),
            Cell::whole(number(term.claimed)),
            Cell::whole(number(term.delivered)),
        ]
    });
    let mut page = Page::default();
    page.table(["term", "replica", "holder", "began", "lasted", "ended", "claimed", "delivered"], rows);
    page
}

/// The verdict in one line, or the breaches of the guarantee.
pub(super) fn verdict(audit: &Audit) -> String {
    const SHOWN: usize = 10;
    if audit.faults.is_empty() {
        let twice = audit.twice.len();
        return format!("None lost. None of the rolled back was sent. Each of the {twice} sent twice is explained.");
    }
    let mut text = format!("THE GUARANTEE DID NOT HOLD, in {} places:", audit.faults.len());
    for fault in audit.faults.iter().take(SHOWN) {
        let _ = write!(text, "\n  {fault}");
    }
    text
}

/// Commands that show more of the database that the demo leaves behind. Each is one line on any terminal, to be copied.
pub(super) fn look_further(stage: &Stage, audit: &Audit) -> anyhow::Result<Page> {
    let program = std::env::current_exe()?;
    // The shortest path that works from here.
    let here = std::env::current_dir()?;
    let program = program.strip_prefix(&here).unwrap_or(&program);
    let outbox = format!("{} --config {}", shell(program), shell(&stage.config()));
    let shown = audit.twice.first().map(|twice| format!("  {outbox} messages show {}\n", twice.id)).unwrap_or_default();
    let mut page = Page::from("Look further:");
    page.append(Page::as_it_is(format!("  {outbox} status\n{shown}  {outbox} dead-letters list\n")));
    page.line(format!("The logs of the replicas are in {}", shell(&stage.directory)));
    Ok(page)
}

/// A path as a shell takes it.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A duration in seconds, for a line of progress.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use std::path::PathBuf;
    use std::time::Instant;

    use outbox_console::text::Screen;

    use super::*;

    const NARROW: Screen = Screen { columns: Some(80), coloured: false, now: UNIX_EPOCH };

    fn sent_twice() -> Audit {
        let (key, accepted) = ("order-7-placed".to_owned(), vec![Duration::from_secs(1), Duration::from_secs(9)]);
        Audit { twice: vec![Twice { id: 787, key, accepted, because: Vec::new() }], ..Audit::default() }
    }

    #[test]
    fn a_terminal_of_80_columns_breaks_a_paragraph_at_its_own_width_only() {
        let killed = Crash { name: "b", pid: 7, epoch: 3, open: 31, at: Instant::now() };
        let shown = Page::from(crash(&killed, &sent_twice())).on(&NARROW);
        let lines: Vec<_> = shown.lines().collect();
        let (_, before_last) = lines.split_last().unwrap();
        assert!(lines.iter().all(|line| line.len() <= 80) && before_last.iter().all(|line| line.len() > 60), "{shown}");
    }

    #[test]
    fn a_command_to_look_further_is_one_line_on_a_terminal_of_80_columns() {
        let stage = Stage { directory: PathBuf::from("/tmp/a/directory/with/a/long/path/outbox-demo-1a2b3c") };
        let shown = look_further(&stage, &sent_twice()).unwrap().on(&NARROW);
        let commands: Vec<_> = shown.lines().filter(|line| line.starts_with("  ")).collect();
        assert_eq!(commands.len(), 3, "{shown}");
        for (command, end) in commands.iter().zip(["status", "messages show 787", "dead-letters list"]) {
            assert!(command.contains("--config /tmp/a/") && command.ends_with(end), "{shown}");
        }
    }

    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        assert_eq!(shell(Path::new("/tmp/outbox-demo-1/outbox.toml")), "/tmp/outbox-demo-1/outbox.toml");
        assert_eq!(shell(Path::new("/tmp/it's here")), r"'/tmp/it'\''s here'");
    }
}
