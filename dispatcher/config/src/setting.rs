//! An effective setting, and all of them.

use std::fmt;

use toml::Value;

use super::key::Key;
use super::known::Row;
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

/// One effective setting, or one value of a setting that is a table.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) key: Key,
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// The setting in the table of all settings.
    pub(super) row: &'static Row,
}

impl Setting {
    /// Whether the value follows from another setting, which is the one to refuse.
    pub(super) fn follows(&self) -> bool {
        matches!(self.origin, Origin::Follows(_))
    }

    /// Whether nothing of the value may be shown.
    pub(super) fn is_secret(&self) -> bool {
        secret::is_secret(self.row.shape, self.path())
    }

    /// The value without secrets.
    pub(super) fn shown(&self) -> Value {
        secret::shown(self.row.shape, self.path(), &self.value)
    }

    /// Where the value stands in the setting, where that is a table.
    fn path(&self) -> &[String] {
        &self.key.parts()[self.key.section_parts() + 1..]
    }
}

/// The key says what the setting may be.
impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        (&self.key, &self.value, &self.origin) == (&other.key, &other.value, &other.origin)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({:?})", self.key, self.shown(), self.origin)
    }
}
