//! Checks recurring messages: their names, their times, and whether a channel can take what they say.

use std::collections::BTreeMap;

use outbox_adapters::values::{Checked, Refused, Values};
use outbox_schema::{NewMessage, channel_name};

use crate::channel::ChannelConfig;
use crate::key::Key;
use crate::known::Known;
use crate::problem::Problem;
use crate::read;
use crate::recurring::{Missed, RecurringConfig, Timetable};
use crate::setting::Origin;
use crate::settings::Settings;
use crate::units;

/// The recurring messages that can be read.
pub(super) fn recurring(
    settings: &Settings,
    known: &Known,
    channels: &BTreeMap<String, ChannelConfig>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, RecurringConfig> {
    let mut all = BTreeMap::new();
    for name in settings.recurring() {
        let section = Key::of_recurring(&name);
        let missing = missing(settings, &section);
        if !missing.is_empty() {
            problems.extend(missing);
            continue;
        }
        let wrong: Vec<_> = problems.iter().filter_map(|problem| problem.channel.clone()).collect();
        let read = read::section(settings, problems, &section, &known.recurring, |values| {
            let recurring = one(&name, values)?;
            let channel = values.text("channel")?.to_owned();
            // What is wrong with a channel is told once.
            if !wrong.contains(&channel) {
                let refusal = refusal(&recurring, &channel, values.text("target")?, channels);
                refusal.map_or(Ok(()), |(setting, why)| refuse(values, setting, why))?;
            }
            Ok(recurring)
        });
        all.extend(read.ok().map(|recurring| (name, recurring)));
    }
    all
}

/// The settings that are to be set and are not.
fn missing(settings: &Settings, section: &Key) -> Vec<Problem> {
    let given = settings.iter().find(|setting| setting.key.overlaps(section) && setting.origin != Origin::Default);
    let origin = given.map_or(&Origin::Default, |given| &given.origin);
    let missing = [
        ("cron", "says when it is due, such as cron = \"0 21 * * *\""),
        ("channel", "says which channel sends it"),
        ("target", "says where it goes"),
    ];
    let is_missing = |key: &Key| settings.get(key).is_some_and(|setting| setting.value.as_str() == Some(""));
    let missing =
        missing.into_iter().map(|(name, what)| (section.child(name), what)).filter(|(key, _)| is_missing(key));
    missing.map(|(key, what)| Problem::with_key(origin, &key, format!("is missing: it {what}"))).collect()
}

fn one(name: &str, values: &mut Values) -> Checked<RecurringConfig> {
    if let Err(why) = channel_name::check(name) {
        let allowed = channel_name::ALLOWED;
        let advice = format!("the name of this recurring message is not allowed: {why}; allowed is {allowed}");
        return refuse(values, "cron", advice);
    }
    let timetable = Timetable::parse(values.text("cron")?, values.text("timezone")?).map_err(|_| Refused)?;
    let mut message = NewMessage::new(values.text("channel")?, values.text("target")?, values.text("payload")?);
    for (header, value) in texts(values, "headers")? {
        message = message.header(header, value);
    }
    for (tag, value) in texts(values, "tags")? {
        message = message.tag(tag, value);
    }
    if let Some(tenant) = values.text_or_none("tenant")? {
        message = message.tenant(tenant);
    }
    if let Some(key) = values.text_or_none("ordering_key")? {
        message = message.ordering_key(key);
    }
    if let Err(invalid) = message.validate() {
        return refuse(values, setting_of(invalid.field), invalid.problem);
    }
    let missed = values.word("missed", &Missed::WORDS)?;
    Ok(RecurringConfig { name: name.to_owned(), timetable, missed, message })
}

/// The setting that a field of a message comes from.
fn setting_of(field: &str) -> &'static str {
    ["channel", "payload", "headers", "tenant", "tags", "ordering_key"]
        .into_iter()
        .find(|setting| *setting == field)
        .unwrap_or("target")
}

/// A table of texts.
fn texts(values: &mut Values, name: &'static str) -> Checked<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for (key, value) in values.headers(name)? {
        let Some(value) = value else {
            values.refuse_key(name, &key, "is not a text in quotes");
            return Err(Refused);
        };
        texts.push((key, value));
    }
    Ok(texts)
}

/// Why the channel cannot send the message, and which setting is at fault.
fn refusal(
    recurring: &RecurringConfig,
    channel: &str,
    target: &str,
    channels: &BTreeMap<String, ChannelConfig>,
) -> Option<(&'static str, String)> {
    let Some(channel) = channels.get(channel) else {
        let known: Vec<_> = channels.keys().map(String::as_str).collect();
        return Some(("channel", format!("is no channel; there are: {}", known.join(", "))));
    };
    let is_url = target.contains("://");
    if channel.settings.takes_urls() && !is_url && channel.settings.base_url().is_empty() {
        let why = format!("is no URL with http:// or https://, and channel {} has no base_url", channel.name);
        return Some(("target", why));
    }
    let bytes = recurring.message.content().map_or(0, |content| content.bytes());
    (bytes > channel.max_message_bytes).then(|| {
        let (is, most) = (units::format_size(bytes), units::format_size(channel.max_message_bytes));
        (
            "payload",
            format!("the message has {is}, and channel {} takes {most}: see its max_message_bytes", channel.name),
        )
    })
}

fn refuse<T>(values: &mut Values, setting: &'static str, why: impl Into<String>) -> Checked<T> {
    match setting {
        "headers" | "tags" => values.refuse_table(setting, why),
        _ => values.refuse(setting, why),
    }
    Err(Refused)
}
