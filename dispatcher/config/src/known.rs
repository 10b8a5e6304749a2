//! The table of settings: what each may be, its default, and what it means.

use std::sync::LazyLock;

use outbox_adapters::shape::{Shape, Shapes};
use outbox_adapters::{KINDS, Kind};
use toml::{Table, Value};

use super::allowed::documented;
use super::described::{Described, described};
use super::key::{CHANNELS, Key};
use super::shapes::{CHANNEL, RECURRING_MESSAGE, RETRY, SECTIONS};

/// The documented default file. Each kind of channel has one of its own beside it.
const DEFAULTS: &str = include_str!("defaults.toml");

/// The section of the default file that every channel starts from. No other source can set it.
const EVERY_CHANNEL: &str = "channel-defaults";

/// The section of the default file that every recurring message starts from. No other source can set it.
const EVERY_RECURRING: &str = "recurring-defaults";

/// The table of settings of this program.
pub(super) static KNOWN: LazyLock<Known> = LazyLock::new(|| Known::new(KINDS));

/// The table of settings: see [`KNOWN`].
pub(super) struct Known {
    /// The sections but those of channels, in the order of the default file.
    pub(super) sections: Vec<(Key, Vec<Row>)>,
    /// The keys of the channels that exist where none is configured, flat.
    pub(super) fallback: Vec<(Key, Value)>,
    /// What says the kind of a channel.
    pub(super) kind: Row,
    /// The settings of recurring messages.
    pub(super) recurring: Vec<Row>,
    /// The settings of the channels of each kind, but for those that they inherit.
    kinds: Vec<(&'static Kind, Vec<Row>)>,
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

impl Known {
    /// The table of a program that has these kinds of channels.
    pub(super) fn new(kinds: &[&'static Kind]) -> Self {
        let section = |(name, shapes): &(&'static str, Shapes)| (Key::dotted(name), rows(DEFAULTS, name, &[shapes]));
        let sections: Vec<_> = SECTIONS.iter().map(section).collect();
        let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
        let kind = Row {
            name: "kind",
            shape: Shape::Word(names.leak()),
            default: Value::String(String::new()),
            meaning: "How it is reached.".to_owned(),
        };
        let every = rows(DEFAULTS, EVERY_CHANNEL, &[CHANNEL]);
        let of_kind = |kind: &&'static Kind| {
            let mut all = every.clone();
            for row in rows(kind.defaults, "", &[kind.shapes, CHANNEL, RETRY]) {
                match all.iter_mut().find(|of_every| of_every.name == row.name) {
                    Some(of_every) => *of_every = row,
                    None => all.push(row),
                }
            }
            (*kind, all)
        };
        let recurring = rows(DEFAULTS, EVERY_RECURRING, &[RECURRING_MESSAGE]);
        Self { sections, fallback: fallback(), kind, recurring, kinds: kinds.iter().map(of_kind).collect() }
    }

    /// The kinds of channels.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &'static Kind> {
        self.kinds.iter().map(|(kind, _)| *kind)
    }

    /// The kind that this word of the settings names.
    pub(super) fn kind_named(&self, name: &str) -> Option<&'static Kind> {
        self.kinds().find(|kind| kind.name == name)
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
    pub(super) fn inherited(&self, kind: &Kind) -> impl Iterator<Item = &Row> {
        let own = self.own(kind);
        self.section(&retry_section()).iter().filter(move |row| own.iter().all(|own| own.name != row.name))
    }

    /// The settings of channels of a kind, but for its kind and what they inherit.
    pub(super) fn own(&self, kind: &Kind) -> &[Row] {
        self.kinds.iter().find(|(of, _)| of.name == kind.name).map_or(&[], |(_, rows)| rows)
    }

    /// The settings of channels of a kind, but for its kind.
    pub(super) fn of_kind(&self, kind: &Kind) -> impl Iterator<Item = &Row> {
        self.own(kind).iter().chain(self.inherited(kind))
    }

    /// The keys of the channel with this section, whose kind it is.
    pub(super) fn of_channel(&self, section: &Key, kind: &Kind) -> Vec<Key> {
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
        assert_eq!(KNOWN.recurring.len(), RECURRING_MESSAGE.len());
        for kind in KINDS {
            for (name, _) in kind.shapes.iter().chain(CHANNEL) {
                assert!(KNOWN.own(kind).iter().any(|row| row.name == *name), "{name} of {}", kind.name);
            }
        }
    }
}
