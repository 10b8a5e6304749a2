//! Splits a script into its statements, for servers and tools that take one at a time.

use crate::database::Dialect;

/// The statements of a script for `psql`, `mariadb` or `sqlite3`, each without its terminator. A comment stays with the
/// statement that follows it.
pub(super) fn split(script: &str, dialect: Dialect) -> Vec<String> {
    let (mut statements, mut begin, mut at, mut end) = (Vec::new(), 0, 0, ";");
    while at < script.len() {
        let rest = &script[at..];
        if rest.starts_with(end) && !(dialect == Dialect::Sqlite && is_within_trigger(&script[begin..at])) {
            statements.push(script[begin..at].trim().to_owned());
            at += end.len();
            begin = at;
        } else if let Some((word, _)) = rest.strip_prefix("\nDELIMITER ").and_then(|rest| rest.split_once('\n')) {
            // This is a command of MySQL's clients, which must be told where a procedure ends. The server knows that.
            at += "\nDELIMITER ".len() + word.len();
            (begin, end) = (at, word);
        } else {
            at += opaque(rest).or_else(|| rest.chars().next().map(char::len_utf8)).unwrap_or(1);
        }
    }
    statements
}

/// The length of the comment or of the quoted text that `text` begins with.
fn opaque(text: &str) -> Option<usize> {
    let (open, close) = [("--", "\n"), ("/*", "*/"), ("'", "'"), ("\"", "\""), ("`", "`")]
        .into_iter()
        .find(|(open, _)| text.starts_with(open))
        .or_else(|| dollar_quote(text).map(|quote| (quote, quote)))?;
    let closed = text[open.len()..].find(close).map(|length| open.len() + length);
    // The end of a line also begins the next one.
    Some(closed.map_or(text.len(), |at| if close == "\n" { at } else { at + close.len() }))
}

/// The quote of a PostgreSQL function that `text` begins with: `$$` or `$name$`.
fn dollar_quote(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?.split('$').next()?;
    let quote = &text.get(..name.len() + 2)?;
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(quote)
}

/// Whether this is a trigger of SQLite whose `END` has not come yet.
fn is_within_trigger(statement: &str) -> bool {
    let is_trigger = statement.lines().any(|line| line.starts_with("CREATE TRIGGER "));
    is_trigger && !statement.trim_end().strip_suffix("END").is_some_and(|body| body.trim_end().ends_with(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_outside_of_quotes_and_comments_only() {
        let script = "-- one; of two\nSELECT ';', \"a;\" /* ; */;\nDO $do$ BEGIN; END $do$;\nSELECT $1; -- the rest";
        let statements =
            ["-- one; of two\nSELECT ';', \"a;\" /* ; */", "DO $do$ BEGIN; END $do$", "SELECT $1"].map(str::to_owned);
        assert_eq!(split(script, Dialect::Postgres), statements);
    }

    #[test]
    fn a_procedure_ends_where_its_delimiter_says() {
        let script =
            "SELECT 1;\nDELIMITER //\n-- it's\nCREATE PROCEDURE p()\nBEGIN\n    DO 0;\nEND//\nDELIMITER ;\nSELECT 2;";
        let procedure = "-- it's\nCREATE PROCEDURE p()\nBEGIN\n    DO 0;\nEND";
        assert_eq!(split(script, Dialect::MySql), ["SELECT 1", procedure, "SELECT 2"]);
    }

    #[test]
    fn a_trigger_of_sqlite_ends_at_its_end() {
        let trigger = "CREATE TRIGGER t BEFORE INSERT ON a\nBEGIN\n    SELECT CASE 1 WHEN 1 THEN 2 END;\nEND";
        assert_eq!(split(&format!("{trigger};\nSELECT 1;"), Dialect::Sqlite), [trigger, "SELECT 1"]);
    }
}
