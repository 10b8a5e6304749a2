//! What is told to people without their asking.

use std::time::Duration;

use outbox_adapters::{BASE_URL, base_url};
use url::Url;

use super::SECOND;
use crate::alerts::{AlertFormat, AlertsConfig, DeadRate};
use crate::read::{Reader, text_of};
use crate::units;
use crate::{LeaseTimes, campaign_interval};

const DAYS_30: Duration = Duration::from_hours(24 * 30);

const WEBHOOK: &str = "a URL with http:// or https://, or where it is kept, { env = \"NAME\" } or { file = \"PATH\" }";

const DEAD_RATE: &str = "a whole number from 1 to 1000000, a slash, and a time from 1s to 30d";

const MOST_LETTERS: u64 = 1_000_000;

/// Reads what is told, if anything is.
#[allow(clippy::option_option, reason = "the outer one: refused; the inner one: nothing is told")]
pub(super) fn alerts(read: &mut Reader<'_>, ttl: Option<Duration>) -> Option<Option<AlertsConfig>> {
    let url = read.secret_url("url", WEBHOOK, |text| webhook(text).map(drop));
    let format = read.word("format", &[AlertFormat::Slack, AlertFormat::Json].map(|format| (format.as_str(), format)));
    let on_dead_rate = read.read("on_dead_rate", DEAD_RATE, |value| match text_of(value)? {
        "" => Ok(None),
        text => dead_rate(text).map(Some),
    });
    let on_no_poller = read.time_or("on_no_poller", SECOND..=DAYS_30, "", "5m");
    let window = read.time("window", SECOND..=DAYS_30);
    let page_url = read.checked("page_url", BASE_URL, |text| base_url(text, "admin.token").map(drop));
    let (url, on_dead_rate, on_no_poller) = (url?, on_dead_rate?, on_no_poller?);
    let (format, window, page_url) = (format?, window?, page_url?);
    let ttl = ttl?;
    let shortest = LeaseTimes { ttl, term: ttl, campaign_interval: campaign_interval(ttl) }.change_of_poller();
    if on_no_poller.is_some_and(|time| time < shortest) {
        let shortest = humantime::format_duration(shortest);
        read.refuse(
            "on_no_poller",
            &format!("a change of poller may take {shortest}, by lease.ttl: not less than that"),
        );
        return None;
    }
    match (url, on_dead_rate.is_some() || on_no_poller.is_some()) {
        (None, false) => Some(None),
        (Some(_), false) => {
            let advice = "is where nothing is told: set alerts.on_dead_rate = \"10/1h\" or alerts.on_no_poller = \"5m\", or leave it out";
            read.refuse_table("url", advice);
            None
        }
        (None, true) => {
            let name = if on_dead_rate.is_some() { "on_dead_rate" } else { "on_no_poller" };
            read.refuse(name, "needs alerts.url (OUTBOX_ALERTS__URL), the webhook where it is told");
            None
        }
        (Some(url), true) => {
            let page_url = Some(page_url).filter(|url| !url.is_empty());
            Some(Some(AlertsConfig { url, format, on_dead_rate, on_no_poller, window, page_url }))
        }
    }
}

fn dead_rate(text: &str) -> Result<DeadRate, String> {
    let like = || "write it like \"10/1h\"".to_owned();
    let (letters, within) = text.split_once('/').ok_or_else(like)?;
    let letters = letters.trim().parse().map_err(|_| like())?;
    let within = units::parse_time(within)?;
    let fits = (1..=MOST_LETTERS).contains(&letters) && (SECOND..=DAYS_30).contains(&within);
    if fits { Ok(DeadRate { letters, within }) } else { Err(like()) }
}

/// Whether a text is the URL of a webhook. The error does not repeat it.
fn webhook(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|why| format!("it is not a URL ({why})"))?;
    if matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err("only http and https are spoken".to_owned()) }
}
