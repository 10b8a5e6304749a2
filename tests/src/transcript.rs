//! Transcripts in documents: commands that a test runs, and what they print, compared with what is written.
//!
//! In a page, a transcript is a block ```` ```console ````. A line that begins with `$ ` is a command, run by a shell; what
//! follows, up to the next one, is its output. A line of `…` stands for any lines.

use std::fmt::Write as _;
use std::path::Path;

/// A command of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// As one would type it.
    pub command: String,
    /// What it is said to print, on either output.
    pub output: String,
}

/// The transcripts between two marks of a page.
#[derive(Debug)]
pub struct Transcript {
    page: String,
    text: String,
}

impl Transcript {
    /// Those of the page at `path`.
    ///
    /// # Panics
    /// Where the page cannot be read.
    pub fn read(path: &Path) -> Self {
        let page = path.display().to_string();
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{page} cannot be read: {error}"));
        Self { page, text }
    }

    /// The commands of all its blocks, in order.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for line in self.blocks().into_iter().flat_map(str::lines) {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command: command.to_owned(), output: String::new() }),
                (None, Some(step)) => drop(writeln!(step.output, "{line}")),
                (None, None) => panic!("{}: a transcript begins with {line:?}, which is no command", self.page),
            }
        }
        steps
    }

    fn blocks(&self) -> Vec<&str> {
        let begun = self.text.split("```console\n").skip(1);
        begun.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
    }

    /// Writes what the commands printed into the page, where that is not what it says already.
    ///
    /// # Panics
    /// Where the page cannot be written.
    pub fn write(&self, printed: &[String]) {
        let (mut text, mut place) = (String::new(), 0);
        let steps = self.steps();
        let mut parts = self.text.split("```console\n");
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (block, rest) = part.split_once("```").unwrap_or((part, ""));
            text.push_str("```console\n");
            for _ in block.lines().filter(|line| line.starts_with("$ ")) {
                let Step { command, output } = &steps[place];
                let printed = if says_the_same(output, &printed[place]) { output } else { &printed[place] };
                let _ = writeln!(text, "$ {command}\n{}", printed.trim_end());
                place += 1;
            }
            let _ = write!(text, "```{rest}");
        }
        std::fs::write(&self.page, text).unwrap_or_else(|error| panic!("{} cannot be written: {error}", self.page));
    }
}

/// Whether `printed` is what `written` says, but for what differs from run to run: times, durations, ports, random ids.
pub fn says_the_same(written: &str, printed: &str) -> bool {
    let (written, printed) = (lines(written), lines(printed));
    matches(&written, &printed)
}

fn matches(written: &[String], printed: &[String]) -> bool {
    match written.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any == "…" => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        Some((line, rest)) => printed.split_first().is_some_and(|(first, more)| first == line && matches(rest, more)),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.trim().lines().map(plain).collect()
}

fn plain(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let before = std::iter::once("").chain(words.iter().copied());
    // Which term it was is chance too.
    let plain = words.iter().zip(before).map(|(word, before)| match before {
        "epoch" => word.replace(|c: char| c.is_ascii_digit(), ""),
        _ => without_chance(word),
    });
    plain.collect::<Vec<_>>().join(" ")
}

/// A word without what is left to chance in it.
fn without_chance(word: &str) -> String {
    let (mut plain, mut rest) = (String::new(), word);
    while let Some(first) = rest.chars().next() {
        if let Some((token, after)) = chance(rest, plain.chars().last()) {
            plain.push_str(token);
            rest = after;
        } else {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    plain
}

/// What stands at the beginning of `text`, if that is left to chance; `before` is the letter before it.
fn chance(text: &str, before: Option<char>) -> Option<(&'static str, &str)> {
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let time = text.find(|c: char| !(c.is_ascii_digit() || "-+:T.Z".contains(c))).unwrap_or(text.len());
    let time = text[..time].trim_end_matches(':').len();
    let is_time = |text: &str| text.len() >= 20 && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T';
    if is_time(&text[..time]) {
        return Some(("TIME", &text[time..]));
    }
    let id = text.find(|c: char| !(c.is_ascii_hexdigit() || c == '-' || c == '.')).unwrap_or(text.len());
    let parts: Vec<_> = text[..id].split(['-', '.']).map(str::len).collect();
    if parts == [8, 4, 4, 4, 12] {
        return Some(("UUID", &text[id..]));
    }
    if parts == [12, 8] && text[..id].contains('.') {
        return Some(("HOLDER", &text[id..]));
    }
    if let Some(rest) = text.strip_prefix("127.0.0.1:") {
        return Some(("127.0.0.1:PORT", rest.trim_start_matches(|c: char| c.is_ascii_digit())));
    }
    let number = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let unit = text[number..].find(|c: char| !c.is_alphabetic()).unwrap_or(text.len() - number);
    let is_duration = number > 0 && matches!(&text[number..number + unit], "ms" | "s" | "m" | "h");
    is_duration.then(|| ("DURATION", &text[number + unit..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_chance_is_not_compared_and_all_else_is() {
        let written =
            "3  http/permanent/404/1c3f9a2b77d0  2026-05-01T12:00:07.113Z  http://127.0.0.1:9000/x after 12 ms";
        let printed = "3 http/permanent/404/1c3f9a2b77d0 2027-06-01T12:00:07.1Z http://127.0.0.1:44211/x after 7 ms\n";
        assert!(!says_the_same(written, printed), "a number apart from its unit is a number");
        assert!(says_the_same(&written.replace("12 ms", "12ms"), &printed.replace("7 ms", "2.5s")));
        assert!(!says_the_same("3 redriven", "4 redriven"));
        assert!(says_the_same("at 2026-05-01T12:00:07.11+00:00: x", "at 2026-05-01T12:00:07.1134+00:00: x"));
        assert!(says_the_same("in epoch 41, on", "in epoch 7, on") && !says_the_same("41 on", "7 on"));
        assert!(says_the_same("by b9ee772629c5.71bf07b9 in 1", "by 0000000000ab.ffffffff in 1"));
        assert!(says_the_same("a\n…\nd", "a\nb\nc\nd") && !says_the_same("a\n…\nd", "a\nb"));
        assert!(!says_the_same("a", "a\nb") && !says_the_same("a\nb", "a"));
    }
}
