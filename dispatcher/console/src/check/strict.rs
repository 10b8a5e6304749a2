//! What a strict installation would not leave so: settings that let rows, receivers or readers do more than they must.

use outbox_store::tls::{Tls, is_this_machine};
use url::Url;

use outbox_config::{ChannelConfig, Config, LeaseProvider};
use outbox_dispatcher::wiring;

/// The largest message that needs no reason.
const LARGE: u64 = 1 << 20;

/// Each such setting: its key, and what it lets happen with what to write instead.
pub(super) fn remarks(config: &Config) -> Vec<(String, String)> {
    let mut remarks = Vec::new();
    let admin = &config.admin;
    for (key, token, what) in [
        ("admin.token", &admin.token, "whoever is on this machine may change messages: set a token"),
        (
            "admin.read_token",
            &admin.read_token,
            "whoever only looks holds the token that changes things: set one for reading",
        ),
        (
            "admin.metrics_token",
            &admin.metrics_token,
            "who scrapes metrics can read targets too: set a token for metrics alone",
        ),
    ] {
        if token.is_none() {
            remarks.push((key.to_owned(), what.to_owned()));
        }
    }
    for channel in config.channels.values() {
        let both = channel.settings.remarks().into_iter().chain(of_any(channel));
        remarks.extend(both.map(|(name, what)| (format!("channels.{}.{name}", channel.name), what)));
    }
    remarks
}

/// The same about a server beyond this machine whose certificate nobody verifies.
pub(super) fn unverified(key: &str, url: &str, tls: Tls) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let far = url.scheme() != "sqlite" && url.host_str().is_some_and(|host| !host.is_empty() && !is_this_machine(host));
    (far && tls != Tls::Verified)
        .then(|| format!("{tls}: who is on the network can read or change it; see {key} in docs/deploy.md"))
}

pub(super) fn of_lease(config: &Config) -> Option<String> {
    let LeaseProvider::Redis { url, .. } = &config.lease.provider else { return None };
    unverified("lease.url", url.expose(), wiring::lease_link(config)?.tls)
}

fn of_any(channel: &ChannelConfig) -> Vec<(&'static str, String)> {
    let mut remarks = Vec::new();
    if !channel.fair {
        remarks.push(("fairness", "who writes much keeps all others waiting: set it to \"turns\"".to_owned()));
    }
    if channel.max_message_bytes > LARGE {
        remarks.push((
            "max_message_bytes",
            "a few rows can hold most of dispatch.max_bytes: set it to \"1 MiB\" or less".to_owned(),
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use outbox_config::Sources;

    fn remarks_on(settings: &[(&str, &str)]) -> Vec<String> {
        let flags = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let config = Config::load(&Sources { flags, ..Sources::default() }).unwrap();
        remarks(&config).into_iter().map(|(key, _)| key).collect()
    }

    const STRICT: [(&str, &str); 9] = [
        ("admin.token", "a-token"),
        ("admin.read_token", "another-token"),
        ("admin.metrics_token", "a-third-token"),
        ("channels.hooks.kind", "http"),
        ("channels.hooks.base_url", "https://shop.example/hooks"),
        ("channels.hooks.targets", "paths"),
        ("channels.hooks.https_only", "true"),
        ("channels.hooks.ports", "[443]"),
        ("channels.hooks.row_headers", "[]"),
    ];
    const KEY: (&str, &str) = ("channels.hooks.signing_keys", "[\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]");

    #[test]
    fn a_strict_installation_has_nothing_left_to_remark_on() {
        assert_eq!(remarks_on(&[&STRICT[..], &[KEY]].concat()), Vec::<String>::new());
    }

    #[test]
    fn each_setting_of_a_strict_installation_is_missed_where_it_is_not_set() {
        assert_eq!(remarks_on(&STRICT), ["channels.hooks.signing_keys"]);
        for left_out in [0, 1, 2, 5, 6, 7, 8] {
            let mut settings = vec![KEY];
            settings
                .extend(STRICT.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, setting)| setting));
            assert_eq!(remarks_on(&settings), [STRICT[left_out].0]);
        }
    }

    #[test]
    fn a_server_elsewhere_is_to_be_verified() {
        let remarked = |url, tls| unverified("lease.url", url, tls).is_some();
        assert!(remarked("redis://cache:6379", Tls::None) && remarked("mysql://db/shop", Tls::Unverified));
        assert!(!remarked("rediss://cache:6379", Tls::Verified) && !remarked("redis://127.0.0.1:6379", Tls::None));
        assert!(!remarked("sqlite://outbox.db", Tls::None));
    }

    #[test]
    fn what_widens_a_channel_is_remarked_on() {
        for (key, value) in [
            ("channels.hooks.fairness", "off"),
            ("channels.hooks.max_message_bytes", "2 MiB"),
            ("channels.hooks.allow_networks", "[\"10.0.0.0/8\"]"),
        ] {
            assert_eq!(remarks_on(&[&STRICT[..], &[KEY, (key, value)]].concat()), [key]);
        }
        let receiver = ("channels.hooks.allow_networks", "[\"10.0.0.7/32\"]");
        assert_eq!(remarks_on(&[&STRICT[..], &[KEY, receiver]].concat()), Vec::<String>::new());
    }
}
