//! Where channels tell of outcomes: `on_dead` and `on_success`.

use std::collections::BTreeMap;

use outbox_schema::{OutcomeTarget, TargetTemplate, TemplateError};
use toml::Table;

use crate::OutcomeTargets;
use crate::channel::{ChannelConfig, ChannelKind};
use crate::key::Key;
use crate::problem::Problem;
use crate::read::Reader;
use crate::settings::Settings;

const ALLOWED: &str = "{ channel = \"NAME\", target = \"TARGET\" }";

/// Reads where a channel tells of its outcomes.
pub(super) fn targets(read: &mut Reader<'_>) -> Option<OutcomeTargets> {
    let (on_dead, on_success) = (target(read, "on_dead"), target(read, "on_success"));
    Some(OutcomeTargets { on_dead: on_dead?, on_success: on_success? })
}

#[allow(clippy::option_option, reason = "the outer one: refused; the inner one: the channel tells of none")]
fn target(read: &mut Reader<'_>, name: &str) -> Option<Option<OutcomeTarget>> {
    let table = read.table(name, ALLOWED)?;
    if table.is_empty() {
        return Some(None);
    }
    match parse(&table) {
        Ok((channel, Ok(target))) => Some(Some(OutcomeTarget { channel, target })),
        Ok((_, Err(why))) => {
            read.refuse_in_table(name, "target", &why.to_string());
            None
        }
        Err(why) => {
            read.refuse_table(name, format!("{why}; allowed is {ALLOWED}"));
            None
        }
    }
}

fn parse(table: &Table) -> Result<(String, Result<TargetTemplate, TemplateError>), String> {
    if let Some(other) = table.keys().find(|key| !["channel", "target"].contains(&key.as_str())) {
        return Err(format!("has {other:?}, which does not exist"));
    }
    let text = |name: &str| {
        let text = table.get(name).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| format!("has no {name}"))
    };
    Ok((text("channel")?, TargetTemplate::parse(&text("target")?)))
}

/// Checks that each channel that others name is there, takes the target, and tells of nothing itself: so there is no loop.
pub(super) fn check(channels: &BTreeMap<String, ChannelConfig>, settings: &Settings, problems: &mut Vec<Problem>) {
    for (name, channel) in channels {
        let OutcomeTargets { on_dead, on_success } = &channel.outcomes;
        for (setting, told) in [("on_dead", on_dead), ("on_success", on_success)] {
            let Some((key, why)) = told.as_ref().and_then(|told| refusal(name, told, channels)) else { continue };
            Reader::new(settings, problems, Key::of_channel(name)).refuse_in_table(setting, key, &why);
        }
    }
}

/// Why an outcome of the channel `name` cannot be told so, and which key is at fault.
fn refusal(
    name: &str,
    told: &OutcomeTarget,
    channels: &BTreeMap<String, ChannelConfig>,
) -> Option<(&'static str, String)> {
    let known: Vec<_> = channels.keys().filter(|known| *known != name).map(String::as_str).collect();
    let Some(to) = channels.get(&told.channel).filter(|to| to.name != name) else {
        let why = format!("is no other channel; there are: {}", known.join(", "));
        return Some(("channel", if known.is_empty() { "there is no other channel".to_owned() } else { why }));
    };
    if to.outcomes != OutcomeTargets::default() {
        return Some((
            "channel",
            "this channel has an on_dead or on_success itself: outcomes could go round".to_owned(),
        ));
    }
    let ChannelKind::Http(http) = &to.kind else {
        let why = format!("has a placeholder, and channel {} sends to no URL: write the target out", to.name);
        return told.target.has_places().then_some(("target", why));
    };
    if !told.target.is_url() && http.base_url.is_empty() {
        let why = format!("is no URL with http:// or https://, and channel {} has no base_url", to.name);
        return Some(("target", why));
    }
    told.target.check_places().err().map(|why| ("target", why.to_string()))
}
