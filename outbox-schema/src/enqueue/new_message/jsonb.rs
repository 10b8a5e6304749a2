//! JSON that PostgreSQL's `jsonb` refuses. <https://www.postgresql.org/docs/current/datatype-json.html>

/// The most digits of a `numeric` before and behind its point.
/// <https://www.postgresql.org/docs/current/datatype-numeric.html>
const DIGITS_BEFORE: i64 = 131_072;
const DIGITS_BEHIND: i64 = 16_383;

/// PostgreSQL refuses an exponent from here on, whatever stands before it, even zero.
const EXPONENT: u32 = i32::MAX.unsigned_abs() / 2;

const NUL: &str = "a text in it holds NUL (\\u0000), which PostgreSQL cannot keep";

const HALF_A_PAIR: &str = "a text in it holds half of a surrogate pair (as \\ud800 alone), which is no character and which \
     PostgreSQL cannot keep: write both halves, or the character itself";

const NUMBER: &str = "a number in it has more than 131072 digits before its point or 16383 behind it, which PostgreSQL cannot \
     keep: write it as a text";

/// Why `jsonb` refuses `json`, which is known to be JSON. None where it accepts it.
pub(super) fn problem(json: &str) -> Option<&'static str> {
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[start..];
        let (problem, behind) = if rest.starts_with('"') {
            let (text, behind) = rest.split_at(length_of_text(rest));
            (problem_of_text(text), behind)
        } else {
            let (number, behind) = rest.split_at(length_of_number(rest));
            ((!fits(number)).then_some(NUMBER), behind)
        };
        if problem.is_some() {
            return problem;
        }
        rest = behind;
    }
    None
}

/// The length of the text that `json` begins with, quotes included.
fn length_of_text(json: &str) -> usize {
    let mut escaped = false;
    let quote = json[1..].find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    quote.map_or(json.len(), |inside| inside + 2)
}

/// The length of the number that `json` begins with.
fn length_of_number(json: &str) -> usize {
    json.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)).unwrap_or(json.len())
}

/// Why `jsonb` refuses a text. `text` includes its quotes.
fn problem_of_text(text: &str) -> Option<&'static str> {
    if !text.contains("\\u") {
        return None;
    }
    match serde_json::from_str::<String>(text) {
        Ok(text) if text.contains('\0') => Some(NUL),
        Ok(_) => None,
        // Any other fault of a text would make it invalid JSON.
        Err(_) => Some(HALF_A_PAIR),
    }
}

/// Whether a `numeric` can keep the number.
fn fits(number: &str) -> bool {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let Ok(exponent) = exponent.parse::<i32>() else { return false };
    if exponent.unsigned_abs() >= EXPONENT {
        return false;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, significant) = (whole.trim_start_matches(['-', '0']), fraction.trim_start_matches('0'));
    let before = if whole.is_empty() { count(significant) - count(fraction) } else { count(whole) };
    let is_zero = whole.is_empty() && significant.is_empty();
    let exponent = i64::from(exponent);
    (is_zero || before + exponent <= DIGITS_BEFORE) && count(fraction) - exponent <= DIGITS_BEHIND
}

fn count(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_fit_as_postgresql_says_that_they_do() {
        let nines = |many| "9".repeat(many);
        let zeros = |many| "0".repeat(many);
        for number in [
            "0",
            "-0.0",
            "1E+5",
            "1e400",
            "9.9e131071",
            "0.0001e131075",
            "0e999999",
            "0.00e131080",
            "0e1073741822",
            "1e-16383",
            "1.0e-16382",
            "100e-16383",
            &nines(131_072),
            &format!("{}e-1", nines(131_073)),
            &format!("0.{}", zeros(16_383)),
            &format!("1.{}e1", zeros(16_384)),
        ] {
            assert_eq!(problem(number), None, "{number:.40}");
        }
        for number in [
            "1e999999",
            "1e131072",
            "-1e131072",
            "10e131071",
            "0.0001e131076",
            "0e1073741823",
            "1.5e99999999999",
            "0e-99999999999",
            "1e-2147483648",
            "1e-16384",
            "0e-16384",
            "1.0e-16383",
            "100e-16384",
            &nines(131_073),
            &format!("1.{}", zeros(16_384)),
        ] {
            assert_eq!(problem(number), Some(NUMBER), "{number:.40}");
        }
    }

    #[test]
    fn what_is_wrong_is_found_wherever_it_stands() {
        for (json, expected) in [
            (r#"{"a\"\\": [1, true, null, -2.5], "1e999999": "1e999999"}"#, None),
            (r#"["\\ud800", "\\\\", "\\u0000"]"#, None),
            (r#"["ä\ud83d\ude00", "\uD83D\uDE00"]"#, None),
            (r#"{"a": [0, {"b": 1e999999}]}"#, Some(NUMBER)),
            (r#"["\"\\", 1e999999]"#, Some(NUMBER)),
            (r#"{"a": "\\\ud800"}"#, Some(HALF_A_PAIR)),
            (r#"{"\uDE00": 1}"#, Some(HALF_A_PAIR)),
            (r#"["\ud83dx\ude00"]"#, Some(HALF_A_PAIR)),
            (r#"{"a": {"\u0000": 1}}"#, Some(NUL)),
        ] {
            assert_eq!(problem(json), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn a_text_of_escapes_is_kept_where_they_are_characters_other_than_nul(
            units in prop::collection::vec(prop_oneof![any::<u16>(), 0xd7ff_u16..=0xe000, 0_u16..2], 0..6)
        ) {
            let escapes = units.iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat();
            let kept = String::from_utf16(&units).is_ok_and(|text| !text.contains('\0'));
            prop_assert_eq!(problem(&format!("[\"{escapes}\"]")).is_none(), kept, "{}", escapes);
        }
    }
}
