//! The rule for names of channels: one rule for the settings and for messages, so that no message waits for an
//! impossible channel. An environment variable can name a channel, and such variables do not keep the case of letters.

use crate::plain_name;

/// The rule in words.
pub const ALLOWED: &str = "1 to 64 lower-case letters, digits, _ or -";

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// Checks that a channel can have this name.
///
/// # Errors
/// Why it cannot.
pub fn check(name: &str) -> Result<(), String> {
    plain_name::check(name, LONGEST, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_lower_case_letters_digits_and_two_signs() {
        for name in ["http", "partner-hooks_2", "7", &"a".repeat(64)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["", "HTTP", "a.b", "two words", "ä", "a\0", &"a".repeat(65)] {
            assert!(check(name).is_err(), "{name:?}");
        }
    }
}
