//! Reads settings as typed values. A refused value is reported, and reading goes on.

use std::ops::RangeInclusive;
use std::time::Duration;

use outbox_adapters::http::Secret;
use toml::{Table, Value};

use super::key::Key;
use super::problem::Problem;
use super::secret::{self, SecretText, SecretUrl};
use super::setting::Origin;
use super::settings::Settings;
use super::units;

/// Reads the keys of one section. Each method gives none once it has reported a problem.
pub(super) struct Reader<'a> {
    settings: &'a Settings,
    problems: &'a mut Vec<Problem>,
    section: Key,
}

impl<'a> Reader<'a> {
    pub(super) fn new(settings: &'a Settings, problems: &'a mut Vec<Problem>, section: Key) -> Self {
        Self { settings, problems, section }
    }

    /// Reads a value that `parse` accepts. The error of `parse` is a hint, and may be empty.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        allowed: &str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let key = self.section.child(name);
        let Some(setting) = self.settings.get(&key) else {
            self.report_table(&key, allowed);
            return None;
        };
        let hint = match parse(&setting.value) {
            Ok(value) => return Some(value),
            Err(hint) => hint,
        };
        // A value that follows from another setting was reported there.
        if !matches!(setting.origin, Origin::Follows(_)) {
            let gap = if hint.is_empty() { "" } else { "; " };
            self.problems.push(Problem::with_value(setting, format!("{hint}{gap}allowed is {allowed}")));
        }
        None
    }

    /// Reports a table in the place of a known key.
    fn report_table(&mut self, key: &Key, allowed: &str) {
        let inner = self.settings.iter().find(|setting| setting.key.below(key).is_some());
        if let Some(inner) = inner.filter(|inner| !matches!(inner.origin, Origin::Follows(_))) {
            let advice = format!("is one value, not a table; allowed is {allowed}");
            self.problems.push(Problem::with_key(&inner.origin, key, advice));
        }
    }

    /// Refuses a value that is allowed by itself but not together with the others.
    pub(super) fn refuse(&mut self, name: &str, advice: &str) {
        if let Some(setting) = self.settings.get(&self.section.child(name)) {
            self.problems.push(Problem::with_value(setting, advice));
        }
    }

    /// Whether this value follows from another setting, which is the one to refuse.
    pub(super) fn follows(&self, name: &str) -> bool {
        let setting = self.settings.get(&self.section.child(name));
        setting.is_some_and(|setting| matches!(setting.origin, Origin::Follows(_)))
    }

    /// Whether nobody has set this value.
    pub(super) fn is_default(&self, name: &str) -> bool {
        self.settings.get(&self.section.child(name)).is_some_and(|setting| setting.origin == Origin::Default)
    }

    /// Reads the path of a file, or an empty text.
    pub(super) fn file(&mut self, name: &str) -> Option<String> {
        self.checked(name, "the path of a file", |text| {
            if secret::is_key(text) {
                return Err("this is what belongs into the file, not its path".to_owned());
            }
            Ok(())
        })
    }

    /// Reads a text that `check` accepts, or an empty one.
    pub(super) fn checked(
        &mut self,
        name: &str,
        allowed: &str,
        check: impl FnOnce(&str) -> Result<(), String>,
    ) -> Option<String> {
        self.read(name, allowed, |value| match text_of(value)? {
            "" => Ok(String::new()),
            text => check(text).map(|()| text.to_owned()),
        })
    }

    /// Reads a URL that `check` accepts, or none.
    #[allow(clippy::option_option, reason = "the outer one: refused; the inner one: the setting says none")]
    pub(super) fn url(
        &mut self,
        name: &str,
        allowed: &str,
        check: impl FnOnce(&str) -> Result<(), String>,
    ) -> Option<Option<SecretUrl>> {
        let url = self.checked(name, allowed, check)?;
        Some((!url.is_empty()).then(|| SecretUrl::new(url)))
    }

    /// Reads a secret whose characters a header can carry, or none.
    #[allow(clippy::option_option, reason = "as for `url`")]
    pub(super) fn secret(&mut self, name: &str) -> Option<Option<SecretText>> {
        let visible = |text: &str| if text.bytes().all(|b| b.is_ascii_graphic()) { Ok(()) } else { Err(String::new()) };
        let text = self.checked(name, "a text of visible ASCII characters without spaces", visible)?;
        Some((!text.is_empty()).then(|| SecretText::new(text)))
    }

    /// Reads a URL that is a secret: a text that `check` accepts, or where one is kept. None where the setting is empty.
    #[allow(clippy::option_option, reason = "as for `url`")]
    pub(super) fn secret_url(
        &mut self,
        name: &str,
        allowed: &str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Option<Option<Secret>> {
        let key = self.section.child(name);
        if self.settings.get(&key).is_some() {
            let url = self.checked(name, allowed, check)?;
            return Some((!url.is_empty()).then_some(Secret::Literal(url)));
        }
        let place = Value::Table(self.settings.table(&key));
        match secret::parse(name, Some(&place)) {
            Ok(secret) => Some(Some(secret)),
            Err(why) => {
                self.refuse_table(name, format!("{why}; allowed is {allowed}"));
                None
            }
        }
    }

    /// Reads one of several words.
    pub(super) fn word<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        self.read(name, &one_of(choices), |value| {
            let word = text_of(value)?;
            choices.iter().find(|(choice, _)| *choice == word).map(|(_, meaning)| *meaning).ok_or_else(String::new)
        })
    }

    /// Reads a time with its unit.
    pub(super) fn time(&mut self, name: &str, range: RangeInclusive<Duration>) -> Option<Duration> {
        let (low, high) = (units::format_time(*range.start()), units::format_time(*range.end()));
        let allowed = format!("a time from {low} to {high}, written like \"30s\"");
        self.read(name, &allowed, |value| within(&range, units::parse_time(&with_unit(value)?)?))
    }

    /// Reads a time with its unit, or the word `never`, which gives none.
    #[allow(clippy::option_option, reason = "as for `url`")]
    pub(super) fn time_or_never(&mut self, name: &str, range: RangeInclusive<Duration>) -> Option<Option<Duration>> {
        self.time_or(name, range, "never", "7d")
    }

    /// Reads a time with its unit, or this word, which gives none.
    #[allow(clippy::option_option, reason = "as for `url`")]
    pub(super) fn time_or(
        &mut self,
        name: &str,
        range: RangeInclusive<Duration>,
        none: &str,
        like: &str,
    ) -> Option<Option<Duration>> {
        let (low, high) = (units::format_time(*range.start()), units::format_time(*range.end()));
        let allowed = format!("a time from {low} to {high}, written like \"{like}\", or \"{none}\"");
        self.read(name, &allowed, |value| match value.as_str() {
            Some(word) if word == none => Ok(None),
            Some(_) | None => within(&range, units::parse_time(&with_unit(value)?)?).map(Some),
        })
    }

    /// Reads a size with its unit, in bytes.
    pub(super) fn size(&mut self, name: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let (low, high) = (units::format_size(*range.start()), units::format_size(*range.end()));
        let allowed = format!("a size from {low} to {high}, written like \"64 MiB\"");
        self.read(name, &allowed, |value| within(&range, units::parse_size(&with_unit(value)?)?))
    }

    /// Reads a whole number.
    pub(super) fn whole(&mut self, name: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(name, &allowed, |value| {
            let number = value.as_integer().ok_or_else(|| quoted_number(value))?;
            within(&range, u32::try_from(number).map_err(|_| String::new())?)
        })
    }

    /// Reads a number that may have a fraction.
    pub(super) fn number(&mut self, name: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let allowed = format!("a number from {} to {}", range.start(), range.end());
        self.read(name, &allowed, |value| {
            // This is exact for every whole number within a range of settings.
            #[allow(clippy::cast_precision_loss)]
            let whole = value.as_integer().map(|number| number as f64);
            within(&range, value.as_float().or(whole).ok_or_else(|| quoted_number(value))?)
        })
    }

    /// Reads a list of texts that `parse` accepts, or a single one.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        allowed: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        self.list_of(name, allowed, |value| parse(text_of(value)?))
    }

    /// Reads a list of values that `parse` accepts, or a single one.
    pub(super) fn list_of<T>(
        &mut self,
        name: &str,
        allowed: &str,
        parse: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        self.read(name, allowed, |value| match value {
            Value::Array(items) => items.iter().map(&parse).collect(),
            one => Ok(vec![parse(one)?]),
        })
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.read(name, "true or false", |value| value.as_bool().ok_or_else(String::new))
    }

    /// Reads a list of whole numbers, or a single one.
    pub(super) fn numbers(&mut self, name: &str, allowed: &str, range: RangeInclusive<u16>) -> Option<Vec<u16>> {
        // In the environment a number of a list is a text.
        let number = |value: &Value| {
            let number = value.as_integer().or_else(|| value.as_str()?.parse().ok()).ok_or_else(String::new)?;
            within(&range, u16::try_from(number).map_err(|_| String::new())?)
        };
        self.read(name, allowed, |value| match value {
            Value::Array(items) => items.iter().map(number).collect(),
            one => Ok(vec![number(one)?]),
        })
    }

    /// Reads a table whose keys the user chooses.
    pub(super) fn table(&mut self, name: &str, allowed: &str) -> Option<Table> {
        let key = self.section.child(name);
        match self.settings.get(&key) {
            Some(setting) if setting.value.as_table().is_none_or(|table| !table.is_empty()) => {
                self.problems.push(Problem::with_value(setting, format!("allowed is {allowed}")));
                None
            }
            _ => Some(self.settings.table(&key)),
        }
    }

    /// Reports a problem of a whole table, at the place of its first key.
    pub(super) fn refuse_table(&mut self, name: &str, advice: impl Into<String>) {
        let key = self.section.child(name);
        let inner = self.settings.iter().find(|setting| setting.key.overlaps(&key));
        let origin = inner.map_or(&Origin::Default, |inner| &inner.origin);
        self.problems.push(Problem::with_key(origin, key, advice));
    }

    /// Reports a problem of one key in a table.
    pub(super) fn refuse_in_table(&mut self, name: &str, inner: &str, advice: &str) {
        let key = self.section.child(name).child(inner);
        if let Some(setting) = self.settings.iter().find(|setting| setting.key.overlaps(&key)) {
            self.problems.push(Problem::with_value(setting, advice));
        }
    }
}

/// The text of a value, which must be a text.
pub(super) fn text_of(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("this is {}, not a text in quotes", kind_of(value)))
}

fn with_unit(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => text_of(value).map(str::to_owned),
    }
}

fn within<T: PartialOrd>(range: &RangeInclusive<T>, value: T) -> Result<T, String> {
    if range.contains(&value) { Ok(value) } else { Err(String::new()) }
}

fn quoted_number(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.parse::<f64>().is_ok() => "a number is written without quotes".to_owned(),
        Some(_) | None => String::new(),
    }
}

/// The choices in words: `"a", "b" or "c"`.
fn one_of<T>(choices: &[(&str, T)]) -> String {
    let words: Vec<_> = choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
