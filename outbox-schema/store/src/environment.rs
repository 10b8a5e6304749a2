//! The rule for names of environments: one rule for the settings and for the tables.

use outbox_schema::plain_name;

/// The rule in words.
pub const ALLOWED: &str = "1 to 64 letters, digits, \".\", \"_\" or \"-\"";

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// Checks that an environment can have this name. The name becomes part of a script, so only plain characters are
/// allowed.
///
/// # Errors
/// Why it cannot.
pub fn check(name: &str) -> Result<(), String> {
    plain_name::check(name, LONGEST, |c| c.is_ascii_alphanumeric() || "._-".contains(c))
}
