//! Names of plain characters: of channels, environments, schemas and projects. Each has its own characters and length.

/// Checks that a name has only `allowed` characters, at least one, and is no longer than `longest` bytes.
///
/// # Errors
/// Why it cannot be a name.
pub fn check(name: &str, longest: usize, allowed: impl Fn(char) -> bool) -> Result<(), String> {
    match name.chars().find(|c| !allowed(*c)) {
        Some(other) => Err(format!("it contains {other:?}")),
        None if name.is_empty() => Err("it is empty".to_owned()),
        None if name.len() > longest => Err(format!("it has {} characters", name.len())),
        None => Ok(()),
    }
}
