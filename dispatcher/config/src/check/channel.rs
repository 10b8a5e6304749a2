//! Checks channels: their names, and the settings of all kinds.

use std::collections::BTreeMap;

use outbox_adapters::Kind;
use outbox_adapters::values::{Checked, Refused, Values};
use outbox_schema::channel_name;

use super::outcomes;
use crate::channel::{ChannelConfig, RetryConfig};
use crate::key::Key;
use crate::known::Known;
use crate::problem::Problem;
use crate::setting::{Origin, Setting};
use crate::settings::Settings;
use crate::shapes::{FAIRNESS, IN_DOUBT, ON_DEAD_ORDERED, RECORD_DELIVERIES};
use crate::{OutcomeTargets, read, units};

/// The channels that can be read. Some may be wrong all the same.
pub(super) fn channels(
    settings: &Settings,
    known: &Known,
    max_bytes: Option<u64>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, ChannelConfig> {
    let mut channels = BTreeMap::new();
    for name in settings.channels() {
        let section = Key::of_channel(&name);
        let said = settings.get(&section.child(known.kind.name));
        // A channel without a kind was reported.
        let Some((said, kind)) = said.and_then(|said| Some((said, known.kind_named(said.value.as_str()?)?))) else {
            continue;
        };
        let rows = std::iter::once(&known.kind).chain(known.of_kind(kind));
        let channel = read::section(settings, problems, &section, rows, |values| {
            values.is_implied = said.origin == Origin::Default;
            let channel = channel(&name, kind, values, settings)?;
            if max_bytes.is_some_and(|max_bytes| channel.max_message_bytes > max_bytes) {
                values.refuse(
                    "max_message_bytes",
                    "a message of this size would never fit into `dispatch.max_bytes`: raise that too",
                );
            }
            Ok(channel)
        });
        channels.extend(channel.ok().map(|channel| (name, channel)));
    }
    outcomes::check(&channels, settings, problems);
    channels
}

fn channel(name: &str, kind: &'static Kind, values: &mut Values, settings: &Settings) -> Checked<ChannelConfig> {
    if let Err(why) = channel_name::check(name) {
        let allowed = channel_name::ALLOWED;
        values.refuse("kind", format!("the name of this channel is not allowed: {why}; allowed is {allowed}"));
    }
    let retry = retry(values, settings, &Key::of_channel(name));
    let of_kind = (kind.read)(values);
    Ok(ChannelConfig {
        name: name.to_owned(),
        timeout: values.time("timeout")?,
        in_doubt: values.word("in_doubt", &IN_DOUBT)?,
        on_dead_ordered: values.word("on_dead_ordered", &ON_DEAD_ORDERED)?,
        retry: retry?,
        max_in_flight: usize::try_from(values.whole("max_in_flight")?).ok().filter(|limit| *limit > 0),
        rate: Some(values.number("rate")?).filter(|rate| *rate > 0.0),
        max_message_bytes: values.size("max_message_bytes")?,
        fair: values.word("fairness", &FAIRNESS)?,
        record_deliveries: values.word("record_deliveries", &RECORD_DELIVERIES)?,
        outcomes: OutcomeTargets { on_dead: values.outcome("on_dead")?, on_success: values.outcome("on_success")? },
        kind: kind.name,
        settings: of_kind?,
    })
}

/// Reads the keys of `[retry]`, in that section or in a channel.
pub(super) fn retry(values: &mut Values, settings: &Settings, section: &Key) -> Checked<RetryConfig> {
    let (base, max) = (values.time("base")?, values.time("max")?);
    if base > max {
        // Where both follow from `[retry]`, that is refused there.
        if !["base", "max"].iter().all(|name| settings.get(&section.child(name)).is_some_and(Setting::follows)) {
            let max = units::format_time(max);
            values.refuse("base", format!("it is longer than `max`, the upper limit of the wait, which is {max}"));
        }
        return Err(Refused);
    }
    Ok(RetryConfig {
        max_attempts: values.whole("max_attempts")?,
        base,
        factor: values.number("factor")?,
        max,
        max_age: values.time("max_age")?,
    })
}
