//! The effective settings for `outbox config show`: without secrets, each with its origin.

use std::fmt::Write as _;

use serde_json::{Map, json};
use toml::Table;

use super::key::{Key, quoted};
use super::setting::{Origin, Setting};
use super::settings::insert_at;
use super::{Config, secret};

impl Config {
    /// The settings as a settings file. It works as one where nothing is hidden.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut section = None;
        for setting in self.settings.iter() {
            let mine = section_of(setting);
            if section.as_ref() != Some(&mine) {
                let gap = if section.is_none() { "" } else { "\n" };
                // Writing to a `String` cannot fail.
                let _ = writeln!(text, "{gap}[{mine}]");
            }
            let _ = writeln!(text, "{}", line(setting, &mine, self.origin(setting)));
            section = Some(mine);
        }
        text
    }

    /// The settings as JSON: `settings` by section, and in `origins` the origin of each that is not a plain default.
    pub fn to_json(&self) -> serde_json::Value {
        let mut settings = Table::new();
        let mut origins = Map::new();
        for setting in self.settings.iter() {
            insert_at(&mut settings, setting.key.parts(), setting.shown());
            if let Some(origin) = self.origin(setting) {
                origins.insert(setting.key.to_string(), origin.into());
            }
        }
        json!({ "settings": settings, "origins": origins })
    }

    /// The origin of a value. None for a plain default.
    fn origin(&self, setting: &Setting) -> Option<String> {
        match &setting.origin {
            Origin::Default => None,
            Origin::Follows(decider) => {
                let decider = self.settings.get(decider).filter(|decider| decider.origin != Origin::Default)?;
                Some(format!("follows from {}", decider.key))
            }
            Origin::File { .. } | Origin::Env(_) | Origin::Flag => {
                setting.origin.place().map(|place| format!("from {place}"))
            }
        }
    }
}

fn section_of(setting: &Setting) -> Key {
    Key::from_parts(setting.key.parts()[..setting.key.section_parts()].to_vec())
}

fn line(setting: &Setting, section: &Key, origin: Option<String>) -> String {
    let shown = setting.shown();
    // If this were read as settings, the stars would become the secret.
    let comment = if secret::hides(&shown) { "# " } else { "" };
    let name = quoted(setting.key.below(section).unwrap_or_default());
    let origin = origin.map(|origin| format!("  # {origin}")).unwrap_or_default();
    format!("{comment}{name} = {shown}{origin}")
}
