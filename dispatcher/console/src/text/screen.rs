//! What is known of the place where output goes: the width of a terminal, and whether it shows colours. A pipe and a file have
//! neither, and what goes there never depends on them.

use std::io::{self, IsTerminal};
use std::time::SystemTime;

use terminal_size::{Width, terminal_size_of};

/// The narrowest width that output is laid out for. A narrower terminal breaks lines by itself.
const NARROWEST: usize = 20;

/// Where output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The columns of the terminal. None: no terminal, so nothing is clipped or wrapped.
    pub columns: Option<usize>,
    /// Whether words of a state have a colour.
    pub coloured: bool,
    /// The time by which a terminal says `17 min ago`.
    pub now: SystemTime,
}

impl Screen {
    /// A pipe or a file.
    pub fn none() -> Self {
        Self { columns: None, coloured: false, now: SystemTime::now() }
    }

    /// Standard output.
    pub fn of_stdout() -> Self {
        let output = io::stdout();
        Self::of(output.is_terminal(), terminal_size_of(output))
    }

    /// Standard error.
    pub fn of_stderr() -> Self {
        let output = io::stderr();
        Self::of(output.is_terminal(), terminal_size_of(output))
    }

    fn of(is_terminal: bool, size: Option<(Width, terminal_size::Height)>) -> Self {
        // A terminal that does not say how wide it is has width 0.
        let columns = size.map(|(Width(columns), _)| usize::from(columns)).filter(|columns| *columns >= NARROWEST);
        Self {
            columns: columns.filter(|_| is_terminal),
            coloured: is_terminal && wants_colours(),
            now: SystemTime::now(),
        }
    }
}

/// Whether the operator allows colours: <https://no-color.org>.
fn wants_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_some_and(|kind| kind != "dumb")
}
