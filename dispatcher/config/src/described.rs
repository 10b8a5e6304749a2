//! The default file for people: each key with its default and the comment above it.

use super::known::DEFAULTS;

/// The section of the channel that exists where none is configured. It describes no keys of its own.
const FALLBACK: &str = "channels.http";

/// A key of the default file.
pub(super) struct Described {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    /// The default, as TOML.
    pub(super) default: &'static str,
    pub(super) comment: String,
}

impl Described {
    /// The part of the comment that says what is allowed, if it does.
    pub(super) fn allowed(&self) -> Option<&str> {
        let (_, allowed) = self.comment.split_once("Allowed: ")?;
        Some(allowed.split(';').next().unwrap_or(allowed).trim_end_matches('.'))
    }
}

/// All keys, in the order of the file.
pub(super) fn described() -> Vec<Described> {
    let (mut keys, mut section, mut comment) = (Vec::new(), "", Vec::new());
    for line in DEFAULTS.lines() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push(text.trim());
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            comment.clear();
        } else if let Some((name, default)) = line.split_once(" = ") {
            let comment = std::mem::take(&mut comment).join(" ");
            keys.push(Described { section, name, default, comment });
        } else {
            comment.clear();
        }
    }
    keys.retain(|key| key.section != FALLBACK);
    keys
}
