//! Checks channels: their names, the settings of all kinds, and those of each kind.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::header::HeaderName;
use ipnet::IpNet;
use outbox_adapters::http::{self, AuthTo, Body, CloudEvents, IdempotencyKey, Method, Targets};
use outbox_adapters::{BASE_URL, TlsRoots, base_url, fcm};
use outbox_schema::{DeliveryRecord, FcmTarget, InDoubtPolicy, OnDeadOrdered, channel_name};

use super::{DAY, HOUR, SECOND, auth, outcomes};
use crate::channel::{ChannelConfig, ChannelKind, RetryConfig};
use crate::key::Key;
use crate::known::Kind;
use crate::problem::Problem;
use crate::read::{Reader, text_of};
use crate::settings::Settings;
use crate::units;

/// The least `base` of `[retry]`.
pub(super) const SHORTEST_BASE: Duration = Duration::from_millis(1);
/// The greatest `max_age` of `[retry]`.
pub(super) const LONGEST_AGE: Duration = Duration::from_hours(365 * 24);

/// The least timeout and the least wait that Google allows, and the age at which it wants no more retries:
/// <https://firebase.google.com/docs/cloud-messaging/scale-fcm>.
const FCM_SHORTEST: Duration = Duration::from_secs(10);
const FCM_LONGEST_AGE: Duration = HOUR;

const NETWORKS: &str = "a list of networks such as \"10.0.0.0/8\" or \"::1/128\"";

pub(super) fn channels(
    settings: &Settings,
    max_bytes: Option<u64>,
    problems: &mut Vec<Problem>,
) -> Option<BTreeMap<String, ChannelConfig>> {
    let read = |name: String| {
        let mut read = Reader::new(settings, &mut *problems, Key::of_channel(&name));
        let channel = channel(&name, &mut read)?;
        if max_bytes.is_some_and(|max_bytes| channel.max_message_bytes > max_bytes) {
            read.refuse(
                "max_message_bytes",
                "a message of this size would never fit into `dispatch.max_bytes`: raise that too",
            );
        }
        Some((name, channel))
    };
    // All channels are read before the first failure counts.
    let channels: Vec<_> = settings.channels().into_iter().map(read).collect();
    let channels = channels.into_iter().collect::<Option<_>>()?;
    outcomes::check(&channels, settings, problems);
    Some(channels)
}

fn channel(name: &str, read: &mut Reader<'_>) -> Option<ChannelConfig> {
    let named = channel_name::check(name).map_err(|why| refuse_name(read, &why)).ok();
    let in_doubt =
        read.word("in_doubt", &[("resend", InDoubtPolicy::Resend), ("dead_letter", InDoubtPolicy::DeadLetter)]);
    let on_dead_ordered =
        read.word("on_dead_ordered", &[("continue", OnDeadOrdered::Continue), ("halt", OnDeadOrdered::Halt)]);
    let (timeout, retry, kind) = match read.word("kind", &[("http", Kind::Http), ("fcm", Kind::Fcm)])? {
        Kind::Http => (
            read.time("timeout", Duration::from_millis(100)..=HOUR),
            retry(read, SHORTEST_BASE, LONGEST_AGE),
            http_settings(read).map(|settings| ChannelKind::Http(Box::new(settings))),
        ),
        Kind::Fcm => (
            read.time("timeout", FCM_SHORTEST..=HOUR),
            retry(read, FCM_SHORTEST, FCM_LONGEST_AGE),
            fcm_settings(read).map(ChannelKind::Fcm),
        ),
    };
    let max_in_flight = read.whole("max_in_flight", 0..=100_000);
    let rate = read.number("rate", 0.0..=1_000_000.0);
    let max_message_bytes = read.size("max_message_bytes", 1 << 10..=1 << 30);
    let fair = read.word("fairness", &[("turns", true), ("off", false)]);
    let record_deliveries = read.word(
        "record_deliveries",
        &[("off", DeliveryRecord::Off), ("summary", DeliveryRecord::Summary), ("full", DeliveryRecord::Full)],
    );
    let outcomes = outcomes::targets(read);
    named?;
    Some(ChannelConfig {
        name: name.to_owned(),
        timeout: timeout?,
        in_doubt: in_doubt?,
        on_dead_ordered: on_dead_ordered?,
        retry: retry?,
        max_in_flight: usize::try_from(max_in_flight?).ok().filter(|limit| *limit > 0),
        rate: rate.map(|rate| Some(rate).filter(|rate| *rate > 0.0))?,
        max_message_bytes: max_message_bytes?,
        fair: fair?,
        record_deliveries: record_deliveries?,
        outcomes: outcomes?,
        kind: kind?,
    })
}

fn refuse_name(read: &mut Reader<'_>, why: &str) {
    let allowed = channel_name::ALLOWED;
    read.refuse("kind", &format!("the name of this channel is not allowed: {why}; allowed is {allowed}"));
}

/// Reads the keys of `[retry]`, in that section or in a channel.
pub(super) fn retry(read: &mut Reader<'_>, shortest: Duration, longest_age: Duration) -> Option<RetryConfig> {
    let max_attempts = read.whole("max_attempts", 1..=32_767);
    let base = read.time("base", shortest..=DAY);
    let factor = read.number("factor", 1.0..=100.0);
    let max = read.time("max", SHORTEST_BASE..=30 * DAY);
    let max_age = read.time("max_age", SECOND..=longest_age);
    let (base, max) = (base?, max?);
    if base > max {
        if !(read.follows("base") && read.follows("max")) {
            let max = units::format_time(max);
            read.refuse("base", &format!("it is longer than `max`, the upper limit of the wait, which is {max}"));
        }
        return None;
    }
    Some(RetryConfig { max_attempts: max_attempts?, base, factor: factor?, max, max_age: max_age? })
}

fn http_settings(read: &mut Reader<'_>) -> Option<http::Settings> {
    let base_url = read.checked("base_url", BASE_URL, |text| base_url(text, "`auth`").map(drop));
    let method = read.word("method", &[("POST", Method::Post), ("PUT", Method::Put), ("PATCH", Method::Patch)]);
    let idempotency_key = read.word(
        "idempotency_key",
        &[("quoted", IdempotencyKey::Quoted), ("bare", IdempotencyKey::Bare), ("off", IdempotencyKey::Off)],
    );
    // Where the key is wrong, it is unknown whether a header contradicts it.
    let headers = headers(read, idempotency_key.unwrap_or(IdempotencyKey::Off));
    let targets = read.word("targets", &[("any", Targets::Any), ("paths", Targets::Paths)]);
    let row_headers = row_headers(read);
    let auth = auth::auth(read);
    let auth_to = read.word("auth_to", &[("base_url", AuthTo::BaseUrl), ("any", AuthTo::Any)]);
    if base_url.as_ref().is_some_and(String::is_empty) {
        if targets == Some(Targets::Paths) {
            read.refuse("targets", "base_url is missing: the URL that the paths are below");
        }
        if let (Some(Some(_)), Some(AuthTo::BaseUrl)) = (&auth, auth_to) {
            read.refuse_table(
                "auth",
                "has no base_url, whose origin alone it goes to: set that, or auth_to = \"any\" where every URL that a row \
                 names may have the credential",
            );
        }
    }
    let signing_keys = auth::signing_keys(read);
    let modes = [("off", CloudEvents::Off), ("binary", CloudEvents::Binary), ("structured", CloudEvents::Structured)];
    let cloudevents = read.word("cloudevents", &modes);
    let body = read.word("body", &[("json", Body::Json), ("text", Body::Text)]);
    if body == Some(Body::Text) && cloudevents == Some(CloudEvents::Structured) {
        read.refuse("body", "a structured event holds JSON: use cloudevents = \"binary\", or body = \"json\"");
    }
    let retry_statuses = read.list_of("retry_statuses", http::STATUSES, status);
    let dead_statuses = read.list_of("dead_statuses", http::STATUSES, status);
    let known_statuses = read.list_of("known_statuses", http::STATUSES, status);
    for (name, list, before, other) in [
        ("dead_statuses", &dead_statuses, "retry_statuses", &retry_statuses),
        ("known_statuses", &known_statuses, "retry_statuses", &retry_statuses),
        ("known_statuses", &known_statuses, "dead_statuses", &dead_statuses),
    ] {
        if let (Some(list), Some(other)) = (list, other)
            && let Err(both) = http::check_statuses(list, other)
        {
            read.refuse(name, &format!("{both} stands in {before} too: take it out of one of them"));
        }
    }
    let known_header = read.read("known_header", "the name of a header", |value| match text_of(value)? {
        "" => Ok(String::new()),
        name => HeaderName::try_from(name).map(|_| name.to_owned()).map_err(|_| String::new()),
    });
    let allow_networks = read.list("allow_networks", NETWORKS, network);
    let deny_networks = read.list("deny_networks", NETWORKS, network);
    let https_only = read.flag("https_only");
    let ports = read.numbers("ports", "a list of ports from 1 to 65535", 1..=u16::MAX);
    let tls_ca = read.file("tls_ca");
    let tls_roots = tls_roots(read, tls_ca.as_deref());
    let max_connection_age = read.time("max_connection_age", SECOND..=DAY);
    let (tls_cert, tls_key) = (read.file("tls_cert"), read.file("tls_key"));
    if let (Some(cert), Some(key)) = (&tls_cert, &tls_key) {
        match (cert.is_empty(), key.is_empty()) {
            (false, true) => read.refuse("tls_cert", "tls_key is missing: the PEM file of its private key"),
            (true, false) => read.refuse("tls_key", "tls_cert is missing: the PEM file of its certificate"),
            (false, false) if base_url.as_ref().is_some_and(|url| url.starts_with("http:")) => {
                read.refuse(
                    "tls_cert",
                    "a base_url that begins with http:// is never shown a certificate: use https://",
                );
            }
            (false, false) | (true, true) => {}
        }
    }
    let settings = http::Settings {
        base_url: base_url?,
        method: method?,
        headers: headers?,
        targets: targets?,
        row_headers: row_headers?,
        auth: auth?,
        auth_to: auth_to?,
        signing_keys: signing_keys?,
        idempotency_key: idempotency_key?,
        body: body?,
        cloudevents: cloudevents?,
        retry_statuses: retry_statuses?,
        dead_statuses: dead_statuses?,
        known_statuses: known_statuses?,
        known_header: known_header?,
        allow_networks: allow_networks?,
        deny_networks: deny_networks?,
        https_only: https_only?,
        ports: ports?,
        tls_ca: tls_ca?,
        tls_roots: tls_roots?,
        tls_cert: tls_cert?,
        tls_key: tls_key?,
        max_connection_age: max_connection_age?,
        is_implied: read.is_default("kind"),
    };
    if let Err(problem) = http::check_headers(&settings) {
        read.refuse_table("headers", format!("cannot be sent: {problem}"));
    }
    Some(settings)
}

fn fcm_settings(read: &mut Reader<'_>) -> Option<fcm::Settings> {
    let project_id = read.checked("project_id", fcm::PROJECT_ID, fcm::check_project_id);
    let credentials = read.file("credentials");
    let base_url = read.read("base_url", BASE_URL, |value| {
        let url = text_of(value)?;
        base_url(url, "`credentials`").map(|_| url.to_owned())
    });
    let targets = read.list("targets", "a list of \"token\", \"topic\", \"condition\" and \"fid\"", |text| {
        FcmTarget::FIELDS.into_iter().find(|kind| *kind == text).ok_or_else(String::new)
    });
    let allow_networks = read.list("allow_networks", NETWORKS, network);
    let tls_ca = read.file("tls_ca");
    let tls_roots = tls_roots(read, tls_ca.as_deref());
    let max_connection_age = read.time("max_connection_age", SECOND..=DAY);
    let (project_id, credentials) = (project_id?, credentials?);
    if project_id.is_empty() && credentials.is_empty() {
        read.refuse("project_id", "an fcm channel needs its project_id, or the credentials file of a service account");
        return None;
    }
    Some(fcm::Settings {
        project_id,
        credentials,
        base_url: base_url?,
        targets: targets?,
        allow_networks: allow_networks?,
        tls_ca: tls_ca?,
        tls_roots: tls_roots?,
        max_connection_age: max_connection_age?,
    })
}

/// Reads whether the system's authorities are trusted beside those of `tls_ca`.
fn tls_roots(read: &mut Reader<'_>, tls_ca: Option<&str>) -> Option<TlsRoots> {
    let roots = read.word("tls_roots", &[("system", TlsRoots::System), ("none", TlsRoots::None)]);
    if (roots, tls_ca) == (Some(TlsRoots::None), Some("")) {
        read.refuse("tls_roots", "tls_ca is missing, so no server would be trusted: name the file of your authority");
    }
    roots
}

/// Reads the names of headers that rows may set. The word `any` stands for all of them.
#[allow(clippy::option_option, reason = "the outer one: refused; the inner one: any")]
fn row_headers(read: &mut Reader<'_>) -> Option<Option<Vec<String>>> {
    let names = read.list("row_headers", "\"any\", or a list of names such as \"X-Tenant\"", |name| {
        http::check_row_header(name).map(|()| name.to_owned())
    })?;
    Some(Some(names).filter(|names| names.iter().all(|name| name != "any")))
}

fn headers(read: &mut Reader<'_>, idempotency_key: IdempotencyKey) -> Option<BTreeMap<String, String>> {
    let table = read.table("headers", "a table of texts, such as { \"X-Source\" = \"shop\" }")?;
    let mut headers = BTreeMap::new();
    let mut fine = true;
    for (name, value) in table {
        match header(&name, value.as_str(), idempotency_key) {
            Ok(value) => {
                headers.insert(name, value.to_owned());
            }
            Err(why) => {
                read.refuse_in_table("headers", &name, &why);
                fine = false;
            }
        }
    }
    fine.then_some(headers)
}

fn header<'v>(name: &str, value: Option<&'v str>, idempotency_key: IdempotencyKey) -> Result<&'v str, String> {
    let value = value.ok_or("the value of a header is a text in quotes")?;
    http::check_header(name, value, idempotency_key).map(|()| value)
}

/// Reads a status, which is a number in a file and a text in the environment, or a class of statuses.
fn status(value: &toml::Value) -> Result<http::Statuses, String> {
    match value.as_integer() {
        Some(number) => http::Statuses::parse(&number.to_string()),
        None => http::Statuses::parse(text_of(value)?),
    }
}

/// Reads a network, or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let single = |_| text.parse::<std::net::IpAddr>().map(IpNet::from);
    text.parse::<IpNet>().or_else(single).map_err(|_| format!("{text:?} is not a network"))
}
