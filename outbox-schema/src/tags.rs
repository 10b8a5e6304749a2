//! Tags of a message: what its customer knows, and people find it by.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most tags of a message.
pub const MOST: usize = 16;

/// The longest name of a tag, in characters.
const NAME_CHARS: usize = 64;

/// The longest value of a tag, in characters.
const VALUE_CHARS: usize = 255;

/// The form of a list of tags.
const FORM: &str = "write a tag as order=4711, and several with commas between; a comma of a value is \\,";

/// One tag. As text it is `order=4711`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The name, which holds no equals sign.
    pub name: String,
    /// The value.
    pub value: String,
}

impl FromStr for Tag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE, as order=4711")?;
        check(name, value)?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// Tags by their names. As text they are `customer=7, order=4711`; a comma and a backslash of a value have a backslash before
/// them. In JSON they are read from that text, or from an object.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tags(BTreeMap<String, String>);

impl Tags {
    /// No tags.
    pub const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Each tag by itself, by name.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.0.iter().map(|(name, value)| Self(BTreeMap::from([(name.clone(), value.clone())])))
    }

    /// Sets a tag. A later value of the same name replaces an earlier one.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// The tags as their column holds them. None where there is none.
    pub fn column(&self) -> Option<String> {
        // Texts always have a form in JSON.
        (!self.0.is_empty()).then(|| serde_json::to_string(&self.0).unwrap_or_default())
    }

    /// Checks the tags of a message, or of a filter.
    ///
    /// # Errors
    /// What is wrong with them, and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        if self.0.len() > MOST {
            return Err(format!("there are {}, and {MOST} are allowed", self.0.len()));
        }
        self.iter().try_for_each(|(name, value)| check(name, value))
    }

    fn add(&mut self, tag: Tag) -> Result<(), String> {
        if self.0.contains_key(&tag.name) {
            return Err(format!("the tag {:?} is there twice", tag.name));
        }
        self.0.insert(tag.name, tag.value);
        self.check()
    }
}

fn check(name: &str, value: &str) -> Result<(), String> {
    let problem = if name.is_empty() {
        "its name is empty".to_owned()
    } else if name.chars().count() > NAME_CHARS {
        format!("its name has {} characters, and {NAME_CHARS} are allowed", name.chars().count())
    } else if name.contains('=') {
        "its name holds an equals sign, which ends a name where people search".to_owned()
    } else if name.trim() != name {
        "its name begins or ends with a space".to_owned()
    } else if value.chars().count() > VALUE_CHARS {
        format!("its value has {} characters, and {VALUE_CHARS} are allowed", value.chars().count())
    } else if name.chars().chain(value.chars()).any(char::is_control) {
        "it holds a control character (as NUL or a line break)".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("the tag {name:?}: {problem}"))
}

impl TryFrom<Vec<Tag>> for Tags {
    type Error = String;

    fn try_from(tags: Vec<Tag>) -> Result<Self, String> {
        let mut all = Self::default();
        tags.into_iter().try_for_each(|tag| all.add(tag))?;
        Ok(all)
    }
}

/// Names the tags. Their values stay out of logs.
impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{}={}", escaped(name), escaped(value))?;
        }
        Ok(())
    }
}

/// A name or a value in a list. A space at its edge would go, as those around commas do.
fn escaped(text: &str) -> String {
    let edge = |at: usize, c: char| c.is_whitespace() && (at == 0 || at + c.len_utf8() == text.len());
    let mut all = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if matches!(c, ',' | '\\') || edge(at, c) {
            all.push('\\');
        }
        all.push(c);
    }
    all
}

impl FromStr for Tags {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut tags = Self::default();
        for pair in pairs(text)? {
            tags.add(pair.parse().map_err(|error| format!("{error}; {FORM}"))?)?;
        }
        Ok(tags)
    }
}

/// The parts of a list between its commas, without the spaces around them, and unescaped.
fn pairs(text: &str) -> Result<Vec<String>, String> {
    let (mut all, mut pair, mut kept) = (Vec::new(), String::new(), 0);
    let mut rest = text.chars();
    // A last comma ends the last part.
    while let Some(c) = rest.next().or_else(|| (!pair.is_empty()).then_some(',')) {
        match c {
            ',' => {
                pair.truncate(kept);
                all.extend((!pair.is_empty()).then(|| std::mem::take(&mut pair)));
                (pair, kept) = (String::new(), 0);
            }
            '\\' => {
                pair.push(rest.next().ok_or(FORM)?);
                kept = pair.len();
            }
            space if space.is_whitespace() && pair.is_empty() => {}
            other => {
                pair.push(other);
                kept = if other.is_whitespace() { kept } else { pair.len() };
            }
        }
    }
    Ok(all)
}

impl Serialize for Tags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrObject)
    }
}

struct TextOrObject;

impl<'de> Visitor<'de> for TextOrObject {
    type Value = Tags;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tags, as \"order=4711, customer=7\" or {\"order\": \"4711\", \"customer\": \"7\"}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tags, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Tags, A::Error> {
        let mut tags = Tags::default();
        while let Some((name, value)) = object.next_entry::<Cow<'de, str>, Cow<'de, str>>()? {
            let tag = Tag { name: name.into_owned(), value: value.into_owned() };
            tags.add(tag).map_err(A::Error::custom)?;
        }
        Ok(tags)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        let mut tags = Tags::default();
        for (name, value) in pairs {
            tags.set(*name, *value);
        }
        tags
    }

    #[test]
    fn tags_are_read_from_a_list_and_from_an_object() {
        let meant = tags(&[("order", "4711"), ("name", "Ada, Countess=1 ")]);
        let list = r" order=4711,name=Ada\, Countess=1\  , ";
        assert_eq!(list.parse(), Ok(meant.clone()));
        assert_eq!(serde_json::from_value::<Tags>(serde_json::json!(list)).unwrap(), meant);
        let object = serde_json::json!({ "order": "4711", "name": "Ada, Countess=1 " });
        assert_eq!(serde_json::from_value::<Tags>(object).unwrap(), meant);
        assert_eq!("".parse(), Ok(Tags::default()));
    }

    #[test]
    fn what_is_no_tag_is_named() {
        let long = "x".repeat(256);
        for (list, said) in [
            ("order".to_owned(), "NAME=VALUE"),
            ("=1".to_owned(), "its name is empty"),
            ("a=1, a=2".to_owned(), "twice"),
            (format!("{}=1", &long[..65]), "65 characters"),
            (format!("a={long}"), "256 characters"),
            ("a=b\nc".to_owned(), "control character"),
            ("a=1\\".to_owned(), "a comma of a value"),
            ((0..17).map(|n| format!("t{n}=1")).collect::<Vec<_>>().join(","), "16 are allowed"),
        ] {
            let told = list.parse::<Tags>().unwrap_err();
            assert!(told.contains(said), "{list}: {told}");
        }
        assert!(serde_json::from_str::<Tags>(r#"{"order": 4711}"#).is_err());
    }

    #[test]
    fn a_value_stays_out_of_logs() {
        assert_eq!(format!("{:?}", tags(&[("order", "4711")])), "{\"order\"}");
    }

    proptest! {
        #[test]
        fn tags_are_read_as_they_were_written(pairs in prop::collection::btree_map("[^=\\pC]{0,8}x", "[^\\pC]{0,12}", 0..=16)) {
            prop_assume!(pairs.keys().all(|name| name.trim() == name));
            let tags = Tags(pairs);
            let text = serde_json::to_string(&tags).unwrap();
            prop_assert_eq!(serde_json::from_str::<Tags>(&text).unwrap(), tags);
        }
    }
}
