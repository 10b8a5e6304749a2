//! An effective setting, and all of them.

use std::fmt;

use toml::Value;

use super::key::Key;
use super::secret;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    /// A default that another setting decides.
    Follows(Key),
    File {
        name: String,
        line: usize,
    },
    Env(String),
    Flag,
}

impl Origin {
    /// The place of the value, for errors. None for a default.
    pub(super) fn place(&self) -> Option<String> {
        match self {
            Self::Default | Self::Follows(_) => None,
            Self::File { name, line } => Some(format!("{name}:{line}")),
            Self::Env(name) => Some(name.clone()),
            Self::Flag => Some("command line".to_owned()),
        }
    }
}

/// One effective setting.
#[derive(Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) key: Key,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

impl Setting {
    /// The value as TOML, without secrets.
    pub(super) fn shown(&self) -> String {
        secret::shown(&self.key, &self.value).to_string()
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({:?})", self.key, self.shown(), self.origin)
    }
}
