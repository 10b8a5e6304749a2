//! What is told to people without their asking.

use std::time::Duration;

use outbox_adapters::values::{Checked, Refused, Values};

use crate::LeaseTimes;
use crate::alerts::{AlertFormat, AlertsConfig};
use crate::shapes::dead_rate;

/// Reads what is told, if anything is.
pub(super) fn alerts(values: &mut Values, ttl: Checked<Duration>) -> Checked<Option<AlertsConfig>> {
    let (url, on_no_poller, ttl) = (values.secret("url")?, values.time_or_none("on_no_poller")?, ttl?);
    let on_dead_rate = values.text_or_none("on_dead_rate")?.map(dead_rate).transpose().map_err(|_| Refused)?;
    let (format, window) = (values.word("format", &AlertFormat::WORDS)?, values.time("window")?);
    let on_job_late = values.flag("on_job_late")?;
    let page_url = values.text_or_none("page_url")?.map(str::to_owned);
    let shortest = LeaseTimes { ttl, term: ttl }.change_of_poller();
    if on_no_poller.is_some_and(|time| time < shortest) {
        let shortest = humantime::format_duration(shortest);
        values.refuse(
            "on_no_poller",
            format!("a change of poller may take {shortest}, by lease.ttl: not less than that"),
        );
        return Err(Refused);
    }
    match (url, on_dead_rate.is_some() || on_no_poller.is_some() || on_job_late) {
        (None, false) => Ok(None),
        (Some(_), false) => {
            let advice = "is where nothing is told: set alerts.on_dead_rate = \"10/1h\" or alerts.on_no_poller = \"5m\", or leave it out";
            values.refuse_table("url", advice);
            Err(Refused)
        }
        (None, true) => {
            let name = match (on_dead_rate, on_no_poller) {
                (Some(_), _) => "on_dead_rate",
                (None, Some(_)) => "on_no_poller",
                (None, None) => "on_job_late",
            };
            values.refuse(name, "needs alerts.url (OUTBOX_ALERTS__URL), the webhook where it is told");
            Err(Refused)
        }
        (Some(url), true) => {
            Ok(Some(AlertsConfig { url, format, on_dead_rate, on_no_poller, on_job_late, window, page_url }))
        }
    }
}
