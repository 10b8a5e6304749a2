//! SQL in files: `queries/DIALECT/SUBJECT.sql`. A statement stands behind a line `-- name: NAME`, and is found while the program is
//! compiled: a name that is not there does not compile.
//!
//! A package has its own files of statements. It lists them with `files!`, in a module `queries` at its root. There `query!` looks
//! for what is named.

const HEADING: &str = "-- name: ";

/// The names and texts of one file, the last first. A file has at most this many; the others are empty.
pub type Statements = [(&'static str, &'static str); 128];

/// The statements of a file. An empty line ends a statement before the next heading.
pub const fn statements(file: &'static str) -> Statements {
    let bytes = file.as_bytes();
    let mut found = [("", ""); 128];
    let (mut count, mut at, mut end) = (0, bytes.len(), bytes.len());
    while at > 0 {
        at -= 1;
        // Most bytes cost a comparison: a call for each takes the compiler four times as long.
        if bytes[at] == b'-' && stands_at(file, at, HEADING) && (at == 0 || bytes[at - 1] == b'\n') {
            let statement = file.split_at(end).0.split_at(at + HEADING.len()).1;
            let mut line = 0;
            while !stands_at(statement, line, "\n") {
                line += 1;
            }
            found[count] = (statement.split_at(line).0, statement.split_at(line + 1).1);
            count += 1;
            end = at.saturating_sub(1);
        }
    }
    found
}

/// The text of the statement of that name.
pub const fn named(statements: &Statements, name: &str) -> Option<&'static str> {
    let mut at = 0;
    while at < statements.len() {
        if is(statements[at].0, name) {
            return Some(statements[at].1);
        }
        at += 1;
    }
    None
}

/// The two parts of `DIALECT/SUBJECT/NAME`: the file and the name in it.
pub const fn parts(path: &str) -> (&str, &str) {
    let mut at = path.len();
    while !stands_at(path, at, "/") {
        at -= 1;
    }
    (path.split_at(at).0, path.split_at(at + 1).1)
}

const fn stands_at(text: &str, at: usize, what: &str) -> bool {
    let (text, what) = (text.as_bytes(), what.as_bytes());
    let mut same = 0;
    while same < what.len() && at + same < text.len() && text[at + same] == what[same] {
        same += 1;
    }
    same == what.len()
}

/// Whether the texts are the same.
pub const fn is(one: &str, other: &str) -> bool {
    one.len() == other.len() && stands_at(one, 0, other)
}

/// The bytes of both texts, the second behind the first.
pub const fn joined<const LENGTH: usize>(one: &str, other: &str) -> [u8; LENGTH] {
    let mut all = [0; LENGTH];
    let (start, rest) = all.split_at_mut(one.len());
    start.copy_from_slice(one.as_bytes());
    rest.copy_from_slice(other.as_bytes());
    all
}

/// The text that these bytes are.
///
/// # Panics
/// They are not UTF-8. This is found while the program is compiled.
pub const fn as_text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("SQL is UTF-8"),
    }
}

/// Lists the files of a package. Each is read once, into memory that all its texts share. An application reads those of its
/// database.
#[macro_export]
macro_rules! files {
    ($($(#[$when:meta])? $dialect:literal: $($subject:literal)+;)+) => {
        /// The text of `DIALECT/SUBJECT/NAME`.
        pub(crate) const fn text(path: &str) -> &'static str {
            let (file, name) = $crate::queries::parts(path);
            $(
                $(#[$when])?
                {$(
                    if $crate::queries::is(file, concat!($dialect, "/", $subject)) {
                        static BYTES: [u8; include_bytes!(
                            concat!(env!("CARGO_MANIFEST_DIR"), "/queries/", $dialect, "/", $subject, ".sql")
                        ).len()] =
                            *include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/queries/", $dialect, "/", $subject, ".sql"));
                        static STATEMENTS: $crate::queries::Statements =
                            $crate::queries::statements($crate::queries::as_text(&BYTES));
                        if let Some(text) = $crate::queries::named(&STATEMENTS, name) {
                            return text;
                        }
                    }
                )+}
            )+
            panic!("{}", path)
        }
    };
}
files! {
    #[cfg(feature = "postgres")]
    "postgres": "enqueue";
    #[cfg(feature = "mysql")]
    "mysql": "enqueue";
    #[cfg(feature = "sqlite")]
    "sqlite": "enqueue";
}

/// The statement `"DIALECT/SUBJECT/NAME"`; or two, of which the second goes on where the first ends.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the statements are those of the package that asks")]
macro_rules! query {
    ($path:expr) => {
        const { crate::queries::text($path) }
    };
    ($path:expr, $rest:expr) => {
        const {
            const TEXTS: (&str, &str) = (crate::queries::text($path), crate::queries::text($rest));
            const BYTES: [u8; TEXTS.0.len() + TEXTS.1.len()] = $crate::queries::joined(TEXTS.0, TEXTS.1);
            $crate::queries::as_text(&BYTES)
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_statement_is_all_from_its_name_to_the_empty_line_before_the_next() {
        let found = super::statements("-- name: ab\nSELECT 1\n\n-- name: a\n-- Why -- name: c\nSELECT\n  2\n");
        assert_eq!(found[..3], [("a", "-- Why -- name: c\nSELECT\n  2\n"), ("ab", "SELECT 1\n"), ("", "")]);
    }
}
