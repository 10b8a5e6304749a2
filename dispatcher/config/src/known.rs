//! The table of settings: what each may be, its default, and what it means.

use std::sync::LazyLock;

use outbox_adapters::shape::{Shape, Shapes};
use outbox_adapters::{fcm, http};
use toml::{Table, Value};

use super::allowed::documented;
use super::described::{Described, described};
use super::key::{CHANNELS, Key};
use super::shapes::{CHANNEL, SECTIONS};

/// The documented default file. Each kind of channel has one of its own beside it.
const DEFAULTS: &str = include_str!("defaults.toml");

/// The section of the default file that every channel starts from. No other source can set it.
const EVERY_CHANNEL: &str = "channel-defaults";

/// The table of settings of this program.
pub(super) static KNOWN: LazyLock<Known> = LazyLock::new(Known::new);

/// The table of settings: see [`KNOWN`].
pub(super) struct Known {
    /// The sections but those of channels, in the order of the default file.
    pub(super) sections: Vec<(Key, Vec<Row>)>,
    /// The keys of the channels that exist where none is configured, flat.
    pub(super) fallback: Vec<(Key, Value)>,
    /// What says the kind of a channel.
    pub(super) kind: Row,
    /// The settings of the channels of each kind, but for those that they inherit.
    kinds: Vec<(Kind, Vec<Row>)>,
}

/// A setting, by its name within its section.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What it may be.
    pub(super) shape: Shape,
    pub(super) default: Value,
    /// What it is.
    pub(super) meaning: String,
}

impl Row {
    /// What the setting is and what is allowed, for people.
    pub(super) fn description(&self) -> String {
        match documented(self.shape) {
            Some(allowed) => format!("{} Allowed: {allowed}.", self.meaning),
            None => self.meaning.clone(),
        }
    }
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

    fn shapes(self) -> Shapes {
        match self {
            Self::Http => http::SHAPES,
            Self::Fcm => fcm::SHAPES,
        }
    }

    fn defaults(self) -> &'static str {
        match self {
            Self::Http => http::DEFAULTS,
            Self::Fcm => fcm::DEFAULTS,
        }
    }
}

impl Known {
    fn new() -> Self {
        let section = |(name, shapes): &(&'static str, Shapes)| (Key::dotted(name), rows(DEFAULTS, name, &[shapes]));
        let mut known = Self {
            sections: SECTIONS.iter().map(section).collect(),
            fallback: fallback(),
            kind: Row {
                name: "kind",
                shape: Shape::Word(Kind::ALL.map(Kind::as_str).to_vec().leak()),
                default: Value::String(String::new()),
                meaning: "How it is reached.".to_owned(),
            },
            kinds: Vec::new(),
        };
        let every = rows(DEFAULTS, EVERY_CHANNEL, &[CHANNEL]);
        for kind in Kind::ALL {
            let mut all = every.clone();
            for row in rows(kind.defaults(), "", &[kind.shapes(), CHANNEL]) {
                match all.iter_mut().find(|of_every| of_every.name == row.name) {
                    Some(of_every) => *of_every = row,
                    None => all.push(row),
                }
            }
            known.kinds.push((kind, all));
        }
        known
    }

    /// All settings but those of channels.
    pub(super) fn fixed(&self) -> impl Iterator<Item = (Key, &Row)> {
        self.sections.iter().flat_map(|(section, rows)| rows.iter().map(|row| (section.child(row.name), row)))
    }

    /// The settings of a section.
    pub(super) fn section(&self, section: &Key) -> &[Row] {
        self.sections.iter().find(|(of, _)| of == section).map_or(&[], |(_, rows)| rows)
    }

    /// The settings of `[retry]` that channels of a kind take from there.
    pub(super) fn inherited(&self, kind: Kind) -> impl Iterator<Item = &Row> {
        let own = self.own(kind);
        self.section(&retry_section()).iter().filter(move |row| own.iter().all(|own| own.name != row.name))
    }

    /// The settings of channels of a kind, but for its kind and what they inherit.
    pub(super) fn own(&self, kind: Kind) -> &[Row] {
        self.kinds.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, rows)| rows)
    }

    /// The settings of channels of a kind, but for its kind.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Row> {
        self.own(kind).iter().chain(self.inherited(kind))
    }

    /// The keys of the channel with this section, whose kind it is.
    pub(super) fn of_channel(&self, section: &Key, kind: Kind) -> Vec<Key> {
        std::iter::once(&self.kind).chain(self.of_kind(kind)).map(|row| section.child(row.name)).collect()
    }
}

/// The settings of a section of a file of defaults, each with what it may be.
fn rows(file: &'static str, section: &str, shapes: &[Shapes]) -> Vec<Row> {
    let of_section = described(file).into_iter().filter(|setting| setting.section == section);
    let row = |Described { name, default, comment, .. }: Described| {
        let mut shapes = shapes.iter().flat_map(|shapes| shapes.iter());
        // Both are parts of the program, and every test reads them.
        let (_, shape) = shapes.find(|(of, _)| *of == name).expect("each setting of the defaults has a shape");
        Row { name, shape: *shape, default: default.parse().expect("each default is TOML"), meaning: comment }
    };
    of_section.map(row).collect()
}

/// The keys of the channels of the default file.
fn fallback() -> Vec<(Key, Value)> {
    let defaults: Table = DEFAULTS.parse().expect("defaults.toml is TOML");
    let mut flat = Vec::new();
    for (name, channel) in defaults[CHANNELS].as_table().into_iter().flatten() {
        let keys = channel.as_table().into_iter().flatten();
        flat.extend(keys.map(|(key, value)| (Key::of_channel(name).child(key), value.clone())));
    }
    flat
}

/// The section whose settings channels inherit.
pub(super) fn retry_section() -> Key {
    Key::dotted("retry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_that_has_a_shape_has_a_default() {
        for (name, shapes) in SECTIONS {
            assert_eq!(KNOWN.section(&Key::dotted(name)).len(), shapes.len(), "{name}");
        }
        for kind in Kind::ALL {
            for (name, _) in kind.shapes().iter().chain(CHANNEL) {
                assert!(KNOWN.own(kind).iter().any(|row| row.name == *name), "{name} of {}", kind.as_str());
            }
        }
    }
}
