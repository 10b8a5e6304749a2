//! The values of a section of the settings, each of the shape that it may have.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_store::OutcomeTarget;

use crate::http::{Auth, Secret};

/// A value that was read, where it was not refused.
pub type Checked<T> = Result<T, Refused>;

/// A setting was refused. Whoever wrote it is told beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Whole(u32),
    /// A number that may have a fraction.
    Number(f64),
    /// A time, or the word for none.
    Time(Option<Duration>),
    /// A size in bytes.
    Size(u64),
    /// A text, a word or a path.
    Text(String),
    /// The items of a list.
    List(Vec<String>),
    /// A secret, if there is one.
    Secret(Option<Secret>),
    /// The secrets of a list.
    Secrets(Vec<Secret>),
    /// A way to authenticate, if there is one.
    Auth(Option<Auth>),
    /// Headers by name. None in place of a value that is no text.
    Headers(BTreeMap<String, Option<String>>),
    /// Another channel and a target of it, if the table names one.
    Outcome(Option<OutcomeTarget>),
}

/// The values of a section, and what is wrong with them together.
#[derive(Debug, Default)]
pub struct Values {
    given: BTreeMap<&'static str, Checked<Given>>,
    refusals: Vec<Refusal>,
    /// Whether the section is that of the channel that there is as long as none is configured.
    pub is_implied: bool,
}

/// A value that is allowed by itself, but not together with the others.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The setting.
    pub name: &'static str,
    /// What of it is refused.
    pub what: What,
    /// What is wrong, and what to do about it.
    pub advice: String,
}

/// What of a setting is refused.
#[derive(Debug, PartialEq, Eq)]
pub enum What {
    /// Its value.
    Value,
    /// The table that it is, or what stands in its place.
    Table,
    /// The value of this key of the table that it is.
    Key(String),
}

impl Values {
    /// Adds the value of a setting, or that it was refused.
    pub fn add(&mut self, name: &'static str, given: Checked<Given>) {
        self.given.insert(name, given);
    }

    /// What `of` reads of a value. The shape of the setting says which method reads it.
    fn read<'a, T>(&'a self, name: &str, of: impl FnOnce(&'a Given) -> Option<T>) -> Checked<T> {
        let given = self.given.get(name).ok_or(Refused)?.as_ref().map_err(|refused| *refused)?;
        of(given).ok_or(Refused)
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> Checked<bool> {
        self.read(name, |given| if let Given::Flag(flag) = given { Some(*flag) } else { None })
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Checked<u32> {
        self.read(name, |given| if let Given::Whole(number) = given { Some(*number) } else { None })
    }

    /// A number that may have a fraction.
    pub fn number(&self, name: &str) -> Checked<f64> {
        self.read(name, |given| if let Given::Number(number) = given { Some(*number) } else { None })
    }

    /// A time.
    pub fn time(&self, name: &str) -> Checked<Duration> {
        self.time_or_none(name)?.ok_or(Refused)
    }

    /// A time. None where the word for none stands.
    pub fn time_or_none(&self, name: &str) -> Checked<Option<Duration>> {
        self.read(name, |given| if let Given::Time(time) = given { Some(*time) } else { None })
    }

    /// A size in bytes.
    pub fn size(&self, name: &str) -> Checked<u64> {
        self.read(name, |given| if let Given::Size(size) = given { Some(*size) } else { None })
    }

    /// A text, a word or the path of a file. It may be empty.
    pub fn text(&self, name: &str) -> Checked<&str> {
        self.read(name, |given| if let Given::Text(text) = given { Some(text.as_str()) } else { None })
    }

    /// The same. None where it is empty.
    pub fn text_or_none(&self, name: &str) -> Checked<Option<&str>> {
        self.text(name).map(|text| Some(text).filter(|text| !text.is_empty()))
    }

    /// The meaning of the word of a setting, whose words are these.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Checked<T> {
        let said = self.text(name)?;
        words.iter().find(|(word, _)| *word == said).map(|(_, meaning)| *meaning).ok_or(Refused)
    }

    /// The items of a list, each as `parse` reads it.
    pub fn list<T, E>(&self, name: &str, parse: impl Fn(&str) -> Result<T, E>) -> Checked<Vec<T>> {
        let items = self.read(name, |given| if let Given::List(items) = given { Some(items) } else { None })?;
        items.iter().map(|item| parse(item).map_err(|_| Refused)).collect()
    }

    /// A secret, if there is one.
    pub fn secret(&self, name: &str) -> Checked<Option<Secret>> {
        self.read(name, |given| if let Given::Secret(secret) = given { Some(secret.clone()) } else { None })
    }

    /// The secrets of a list.
    pub fn secrets(&self, name: &str) -> Checked<Vec<Secret>> {
        self.read(name, |given| if let Given::Secrets(secrets) = given { Some(secrets.clone()) } else { None })
    }

    /// A way to authenticate, if there is one.
    pub fn auth(&self, name: &str) -> Checked<Option<Auth>> {
        self.read(name, |given| if let Given::Auth(auth) = given { Some(auth.clone()) } else { None })
    }

    /// Headers by name. None in place of a value that is no text.
    pub fn headers(&self, name: &str) -> Checked<BTreeMap<String, Option<String>>> {
        self.read(name, |given| if let Given::Headers(headers) = given { Some(headers.clone()) } else { None })
    }

    /// Another channel and a target of it, if the table names one.
    pub fn outcome(&self, name: &str) -> Checked<Option<OutcomeTarget>> {
        self.read(name, |given| if let Given::Outcome(outcome) = given { Some(outcome.clone()) } else { None })
    }

    /// Refuses the value of a setting.
    pub fn refuse(&mut self, name: &'static str, advice: impl Into<String>) {
        self.refuse_what(name, What::Value, advice);
    }

    /// Refuses a table, or another value that may be in several pieces.
    pub fn refuse_table(&mut self, name: &'static str, advice: impl Into<String>) {
        self.refuse_what(name, What::Table, advice);
    }

    /// Refuses one key of a table.
    pub fn refuse_key(&mut self, name: &'static str, key: &str, advice: impl Into<String>) {
        self.refuse_what(name, What::Key(key.to_owned()), advice);
    }

    fn refuse_what(&mut self, name: &'static str, what: What, advice: impl Into<String>) {
        self.refusals.push(Refusal { name, what, advice: advice.into() });
    }

    /// What was refused.
    pub fn into_refusals(self) -> Vec<Refusal> {
        self.refusals
    }
}
