//! What an environment may be called: one rule for the settings and for the tables.

use crate::plain_name;

/// The rule in words.
pub const ALLOWED: &str = "1 to 64 letters, digits, \".\", \"_\" or \"-\"";

/// Longest name, in bytes.
const LONGEST: usize = 64;

/// Checks that an environment can have this name. It becomes part of a script, so nothing but plain characters is let
/// through.
///
/// # Errors
/// Why it cannot.
pub fn check(name: &str) -> Result<(), String> {
    plain_name::check(name, LONGEST, |c| c.is_ascii_alphanumeric() || "._-".contains(c))
}
