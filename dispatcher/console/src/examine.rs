//! What the channels of the settings would make of a message, before it is written. The adapters say it themselves: they make the
//! request of the message, and send nothing.

use std::sync::Arc;
use std::time::SystemTime;

use outbox_adapters::Delivery;
use outbox_desk::{MessageRecord, Revised};
use outbox_schema::{Content, NewMessage, origin};

use outbox_config::Config;
use outbox_dispatcher::wiring;

/// Why the channel would make a dead letter of a message with this content. None where it would send the message, and where the
/// settings or this machine have no such channel to ask.
pub fn refusal(config: &Config, channel: &str, revised: &Revised) -> Option<String> {
    let settings = config.channels.get(channel)?;
    let asked = wiring::channel(settings, config.admin.listen).ok()?;
    let message = NewMessage::new(channel, revised.target(), revised.payload());
    let message = revised.headers().iter().fold(message, |message, (name, value)| message.header(name, value));
    let content = message.content().ok()?;
    asked.adapter.examine(delivery(&content)).err()
}

/// The request of a message as its channel would make it now: a command of `curl`, with `***` for what is secret. None where the
/// channel would refuse it, and where the settings or this machine have no such channel.
pub fn as_curl(config: &Config, message: &MessageRecord) -> Option<String> {
    let asked = wiring::channel(config.channels.get(&message.channel)?, config.admin.listen).ok()?;
    let delivery = Delivery {
        idempotency_key: message.sent_key.as_ref().unwrap_or(&message.idempotency_key).clone(),
        target: message.target.clone(),
        destination: message.destination.clone(),
        payload: message.payload.clone()?,
        headers: message.headers.clone(),
        deadline: None,
        created_at: humantime::parse_rfc3339_weak(&message.created_at).ok(),
        traceparent: message.traceparent.clone(),
        tracestate: message.tracestate.clone(),
        permit: Arc::new(|| false),
        recorder: None,
    };
    asked.adapter.examine(delivery).ok()
}

/// The delivery of a message that has no row yet.
pub fn delivery(content: &Content<'_>) -> Delivery {
    Delivery {
        // Any key will do where the database is to mint one.
        idempotency_key: content.idempotency_key.unwrap_or("0").to_owned(),
        target: content.target.to_owned(),
        destination: origin::column(content.target).unwrap_or_else(|| content.channel.to_owned()),
        payload: content.payload.clone().into_owned(),
        headers: content.headers.clone(),
        deadline: None,
        created_at: Some(SystemTime::now()),
        traceparent: None,
        tracestate: None,
        permit: Arc::new(|| false),
        recorder: None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use std::collections::BTreeMap;

    use super::*;
    use outbox_config::Sources;

    #[test]
    fn an_edited_message_is_refused_as_a_new_one_would_be() {
        let file = "[channels.http]\nkind = \"http\"".to_owned();
        let config = Config::load(&Sources { file: Some(("outbox.toml".into(), file)), ..Sources::default() }).unwrap();
        let why = |channel: &str, target: &str, headers: &[(&str, &str)]| {
            let headers: BTreeMap<_, _> =
                headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            refusal(&config, channel, &Revised::new(channel, target, "{}", headers).unwrap())
        };
        assert_eq!(why("http", "https://shop.example/", &[("X-Tenant", "8")]), None);
        for (target, headers) in [
            ("ftp://shop.example/", &[][..]),
            ("gopher://shop.example/", &[]),
            ("http://127.0.0.1/", &[]),
            ("https://shop.example/", &[("Host", "x")]),
        ] {
            assert!(why("http", target, headers).is_some(), "{target} {headers:?}");
        }
        assert_eq!(why("elsewhere", "ftp://shop.example/", &[]), None, "nobody here knows the channel");
    }
}
