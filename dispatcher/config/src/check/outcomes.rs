//! Where channels tell of outcomes: `on_dead` and `on_success`.

use std::collections::{BTreeMap, BTreeSet};

use outbox_store::OutcomeTarget;

use crate::OutcomeTargets;
use crate::channel::ChannelConfig;
use crate::key::Key;
use crate::problem::Problem;
use crate::read;
use crate::settings::Settings;

/// Checks that each channel that others name is there, takes the target, and tells of nothing itself: so there is no loop.
/// Where that channel is wrong itself, nothing more is told.
pub(super) fn check(channels: &BTreeMap<String, ChannelConfig>, settings: &Settings, problems: &mut Vec<Problem>) {
    let wrong: BTreeSet<_> = problems.iter().filter_map(|problem| problem.channel.clone()).collect();
    for (name, channel) in channels {
        let OutcomeTargets { on_dead, on_success } = &channel.outcomes;
        for (setting, told) in [("on_dead", on_dead), ("on_success", on_success)] {
            let told = told.as_ref().filter(|told| told.channel == *name || !wrong.contains(&told.channel));
            let Some((key, why)) = told.and_then(|told| refusal(name, told, channels)) else { continue };
            problems.extend(read::of_key(settings, &Key::of_channel(name).child(setting), key, why));
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
    if !to.settings.takes_urls() {
        let why = format!("has a placeholder, and channel {} sends to no URL: write the target out", to.name);
        return told.target.has_places().then_some(("target", why));
    }
    if !told.target.is_url() && to.settings.base_url().is_empty() {
        let why = format!("is no URL with http:// or https://, and channel {} has no base_url", to.name);
        return Some(("target", why));
    }
    told.target.check_places().err().map(|why| ("target", why.to_string()))
}
