//! Statements of MySQL and MariaDB that are sent as text that contains their values.

use sqlx::AssertSqlSafe;

const HEX_DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// A statement with its values in place of its question marks, for a statement that must not be kept. To prepare it for
/// one use would take 40 ms: the client tells the server that it is done with it, and its next packet then waits for an
/// acknowledgement.
pub(crate) fn spelled_out(statement: &str, values: &[String]) -> AssertSqlSafe<String> {
    AssertSqlSafe(spelled_text(statement, values))
}

/// The same as a part of a statement.
pub(crate) fn spelled_text(statement: &str, values: &[String]) -> String {
    let mut values = values.iter();
    statement.split('?').map(|part| [part, values.next().map_or("", String::as_str)].concat()).collect()
}

/// A text as a literal that needs no quoting.
pub(crate) fn text(text: &str) -> String {
    let mut literal = String::with_capacity(2 * text.len() + "_utf8mb4 X''".len());
    literal.push_str("_utf8mb4 X'");
    for byte in text.bytes() {
        literal.extend([byte >> 4, byte & 0xf].map(|digit| HEX_DIGITS[usize::from(digit)]));
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_places_of_the_question_marks_in_their_order() {
        let spelled = spelled_out("SELECT ? WHERE a >= ?\n", &["7".to_owned(), text("ä'?")]);
        assert_eq!(spelled.0, "SELECT 7 WHERE a >= _utf8mb4 X'c3a4273f'\n");
    }

    #[test]
    fn statements_that_are_spelled_out_have_a_place_for_each_value() {
        for (statement, values) in [(query!("mysql/due/next_keys"), 5), (query!("mysql/poller/mark_delivered"), 5)] {
            assert_eq!(statement.matches('?').count(), values, "{statement}");
        }
    }
}
