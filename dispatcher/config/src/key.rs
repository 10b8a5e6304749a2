//! The name of a setting.

use std::fmt;

/// The name of a setting, part by part: `lease.ttl`, `channels.hook.timeout`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(Vec<String>);

impl Key {
    /// A key as it is written in this code and on the command line.
    pub(super) fn dotted(text: &str) -> Self {
        Self(text.split('.').map(str::to_owned).collect())
    }

    /// The key of these parts.
    pub(super) fn from_parts(parts: Vec<String>) -> Self {
        Self(parts)
    }

    /// The key that an environment variable names: `OUTBOX_` + section + `__` + key. None for other variables.
    ///
    /// A name without `__` is none of ours: Kubernetes gives every pod variables such as `OUTBOX_SERVICE_HOST`, named
    /// after services.
    pub(super) fn from_env(name: &str) -> Option<Self> {
        let path = name.strip_prefix("OUTBOX_")?;
        if path.starts_with("TEST_") || !path.contains("__") {
            return None;
        }
        Some(Self(path.split("__").map(str::to_lowercase).collect()))
    }

    /// The environment variable that names this key.
    pub(super) fn to_env(&self) -> String {
        format!("OUTBOX_{}", self.0.join("__").to_uppercase())
    }

    /// The key `name` within the section that this key names.
    pub(super) fn child(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        Self(parts)
    }

    /// The section `channels.NAME`.
    pub(super) fn of_channel(name: &str) -> Self {
        Self(vec![CHANNELS.to_owned(), name.to_owned()])
    }

    /// NAME, where this key is `channels.NAME` or is within it.
    pub(super) fn channel(&self) -> Option<&str> {
        match self.0.as_slice() {
            [first, name, ..] if first == CHANNELS => Some(name),
            _ => None,
        }
    }

    /// The section `recurring.NAME`.
    pub(super) fn of_recurring(name: &str) -> Self {
        Self(vec![RECURRING.to_owned(), name.to_owned()])
    }

    /// NAME, where this key is `recurring.NAME` or is within it.
    pub(super) fn recurring(&self) -> Option<&str> {
        match self.0.as_slice() {
            [first, name, ..] if first == RECURRING => Some(name),
            _ => None,
        }
    }

    /// How many parts name the section of a setting: two where people name it, as a channel.
    pub(super) fn section_parts(&self) -> usize {
        if self.channel().or(self.recurring()).is_some() { 2 } else { 1 }
    }

    /// Whether this key is a section whose keys people choose, and not something in it.
    pub(super) fn is_of_names(&self) -> bool {
        self.0 == [CHANNELS] || self.0 == [RECURRING]
    }

    /// Whether the setting can change while a replica runs.
    pub(super) fn is_reloadable(&self) -> bool {
        let parts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        matches!(
            parts.as_slice(),
            [CHANNELS | RECURRING | "retry" | "retention" | "alerts", ..]
                | ["admin", "token" | "retry_token" | "read_token" | "metrics_token" | "read_payloads" | "operators"]
        )
    }

    /// The parts of this key below `section`. None where the key is not within it, or is the section itself.
    pub(super) fn below(&self, section: &Self) -> Option<&[String]> {
        self.0.strip_prefix(section.0.as_slice()).filter(|rest| !rest.is_empty())
    }

    /// Whether one of the two keys is the other or contains it.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }

    /// All parts.
    pub(super) fn parts(&self) -> &[String] {
        &self.0
    }

    /// All parts, for changes.
    pub(super) fn parts_mut(&mut self) -> &mut [String] {
        &mut self.0
    }

    /// The section that contains this key; the whole file for a key of one part.
    pub(super) fn section(&self) -> Self {
        Self(self.0.split_last().map(|(_, section)| section.to_vec()).unwrap_or_default())
    }

    /// The last part.
    pub(super) fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }
}

/// The section whose keys are the channels.
pub(super) const CHANNELS: &str = "channels";

/// The section whose keys are the recurring messages.
pub(super) const RECURRING: &str = "recurring";

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.0))
    }
}

/// The parts as TOML writes them, quoted where they have to be.
pub(super) fn quoted(parts: &[String]) -> String {
    let bare = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let quoted: Vec<_> = parts.iter().map(|p| if bare(p) { p.clone() } else { format!("{p:?}") }).collect();
    quoted.join(".")
}
