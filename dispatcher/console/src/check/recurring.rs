//! What a check finds of recurring messages. That their times come and their channels are there was found as the settings were read.

use jiff::Timestamp;
use outbox_config::Config;
use outbox_config::recurring::RecurringConfig;
use outbox_dispatcher::wiring;

use super::report::Finding;
use crate::examine::delivery;

/// A finding for each recurring message: when it is next due, or why its channel would make a dead letter of it.
pub(super) fn of_recurring(config: &Config) -> impl Iterator<Item = Finding> {
    config.recurring.values().map(|recurring| {
        let subject = format!("recurring {}", recurring.name);
        if let Some(why) = refusal(config, recurring) {
            return Finding::failed(&subject, &format!("its channel would make a dead letter of it: {why}"));
        }
        let next = recurring.timetable.after(Timestamp::now()).map(|next| recurring.timetable.shown(next));
        Finding::ok(&subject, &format!("next at {}", next.as_deref().unwrap_or("no time of the calendar")))
    })
}

/// Why the channel would make a dead letter of the message. None where it would send it, and where this machine has no such channel to
/// ask.
fn refusal(config: &Config, recurring: &RecurringConfig) -> Option<String> {
    let content = recurring.message.content().ok()?;
    let channel = wiring::channel(config.channels.get(content.channel)?, config.admin.listen).ok()?;
    channel.adapter.examine(delivery(&content)).err()
}

#[cfg(test)]
mod tests {
    use outbox_config::Sources;

    use super::*;
    use crate::check::report::FindingVerdict;

    #[test]
    fn a_recurring_message_that_its_channel_would_refuse_is_found_before_it_is_due() {
        let file = "[channels.http]\nkind = \"http\"\n[recurring.a]\ncron = \"0 21 31 12 *\"\ntimezone = \"Europe/Berlin\"\n\
                    channel = \"http\"\ntarget = \"https://shop.example\"\n[recurring.b]\ncron = \"@daily\"\nchannel = \"http\"\n\
                    target = \"https://shop.example\"\nheaders = { Host = \"other.example\" }\n";
        let sources = Sources { file: Some(("outbox.toml".into(), file.to_owned())), ..Sources::default() };
        let config = Config::load(&sources).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<_> =
            of_recurring(&config).map(|finding| (finding.subject, finding.verdict, finding.text)).collect();
        assert!(found[0].1 == FindingVerdict::Ok && found[0].2.contains("-12-31 21:00 Europe/Berlin"), "{found:?}");
        assert!(found[1].0 == "recurring b" && found[1].1 == FindingVerdict::Failed, "{found:?}");
    }
}
