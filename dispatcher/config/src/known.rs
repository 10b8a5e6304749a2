//! The known settings: read from `defaults.toml`, which is the only place of a default.

use std::sync::LazyLock;

use toml::{Table, Value};

use super::key::{CHANNELS, Key};

/// The documented default file.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The known keys, in the order of the default file, each with its default.
pub(super) static KNOWN: LazyLock<KnownKeys> = LazyLock::new(|| {
    // The file is part of the program, and every test reads it.
    let defaults: Table = toml::from_str(DEFAULTS).expect("defaults.toml is TOML");
    KnownKeys::from_defaults(&defaults)
});

/// The known keys: see [`KNOWN`].
pub(super) struct KnownKeys {
    /// The keys of all sections but the channels'.
    pub(super) fixed: Vec<(Key, Value)>,
    /// The keys of the channels that exist where none is configured, flat.
    pub(super) fallback: Vec<(Key, Value)>,
    templates: [(Kind, Vec<(String, Value)>); 2],
}

/// The kind of a channel's adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    Fcm,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Http, Self::Fcm];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Fcm => "fcm",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl KnownKeys {
    fn from_defaults(defaults: &Table) -> Self {
        let table = |value: &Value| value.as_table().cloned().unwrap_or_default();
        let mut fixed = Vec::new();
        let mut fallback = Vec::new();
        for (section, keys) in defaults {
            for (name, value) in &table(keys) {
                let key = Key::dotted(section).child(name);
                match section.as_str() {
                    TEMPLATES => {}
                    CHANNELS => {
                        fallback.extend(table(value).iter().map(|(name, value)| (key.child(name), value.clone())));
                    }
                    _ => fixed.push((key, value.clone())),
                }
            }
        }
        let template = |kind: Kind| {
            let own = defaults.get(TEMPLATES).and_then(|all| all.get(kind.as_str())).map(table).unwrap_or_default();
            (kind, own.into_iter().collect())
        };
        Self { fixed, fallback, templates: Kind::ALL.map(template) }
    }

    /// The keys that only channels of this kind have. Those of `[retry]` come on top.
    pub(super) fn template(&self, kind: Kind) -> &[(String, Value)] {
        self.templates.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, keys)| keys)
    }

    /// The names of the keys of `[retry]` that channels of a kind take from there.
    pub(super) fn inherited(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let own = self.template(kind);
        let retry = self.fixed.iter().filter_map(|(key, _)| key.below(&retry_section()).map(|_| key.name()));
        retry.filter(move |name| own.iter().all(|(own, _)| own != name))
    }

    /// All keys that a channel of a kind takes, under its section.
    pub(super) fn of_channel(&self, section: &Key, kind: Kind) -> Vec<Key> {
        let own = self.template(kind).iter().map(|(name, _)| name.as_str());
        ["kind"].into_iter().chain(own).chain(self.inherited(kind)).map(|name| section.child(name)).collect()
    }
}

/// The section of the default file with the templates of channels. No other source can set it.
pub(super) const TEMPLATES: &str = "channel-defaults";

/// The section whose settings channels inherit.
pub(super) fn retry_section() -> Key {
    Key::dotted("retry")
}
