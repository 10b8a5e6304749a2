//! What each setting may be. Its default and its meaning stand in `defaults.toml`; those of one kind of channel, in its adapter.

use std::net::SocketAddr;
use std::time::Duration;

use outbox_adapters::shape::{Item, Shape, Shapes, Text, words};
use outbox_adapters::{BASE_URL, HEADER_NAME, REDIS_URL, base_url, check_redis_url};
use outbox_schema::{channel_name, plain_name};
use outbox_store::{DeliveryRecord, Durability, InDoubtPolicy, OnDeadOrdered, environment};
use url::Url;

use super::alerts::{AlertFormat, DeadRate};
use super::lengths::{DAY, HOUR, SECOND, TEN_YEARS};
use super::recurring::{Missed, Timetable};
use super::sections::{LogFormat, Wakeup};
use super::{database_url, units, url_parameters};

/// The settings of each section.
pub(super) const SECTIONS: &[(&str, Shapes)] = &[
    (
        "database",
        &[
            ("url", Shape::Text(Text::new(database_url::ALLOWED, |url| database_url::dialect(url).map(drop)).told())),
            ("schema", Shape::Text(Text::new(SCHEMA, schema).or_none())),
            ("environment", Shape::Text(Text::new(environment::ALLOWED, environment::check))),
            ("durability", Shape::Word(&const { words(&Durability::WORDS) })),
        ],
    ),
    (
        "lease",
        &[
            ("provider", Shape::Word(&const { words(&LEASE_STORES) })),
            ("url", Shape::Text(Text::new(REDIS_URL, redis_url).or_none().told())),
            ("tls_ca", Shape::File),
            ("ttl", Shape::Time(SECOND, Duration::from_mins(10))),
            ("term", Shape::Time(SECOND, DAY)),
        ],
    ),
    (
        "dispatch",
        &[
            ("poll_interval", Shape::Time(Duration::from_millis(10), HOUR)),
            ("wakeup", Shape::Word(&const { words(&Wakeup::WORDS) })),
            ("max_in_flight", Shape::Whole(1, 100_000)),
            ("max_bytes", Shape::Size(1 << 20, 1 << 40)),
            ("drain_timeout", Shape::Time(Duration::ZERO, HOUR)),
        ],
    ),
    ("retry", RETRY),
    ("retention", &[("success", KEPT), ("dead", KEPT), ("figures", KEPT), ("jobs", KEPT)]),
    (
        "admin",
        &[
            ("listen", Shape::Text(Text::new("an IP address and a port, such as \"127.0.0.1:8640\"", address).told())),
            ("instance", Shape::Text(Text::new(INSTANCE, instance).or_none())),
            ("token", Shape::Token),
            ("retry_token", Shape::Token),
            ("read_token", Shape::Token),
            ("metrics_token", Shape::Token),
            ("read_payloads", Shape::Flag),
            ("user_header", HEADER_NAME),
            (
                "operators",
                Shape::List { allowed: "a list of names as the proxy writes them", item: Item::Text(person) },
            ),
        ],
    ),
    (
        "telemetry",
        &[
            ("otlp_endpoint", Shape::Text(Text::new(BASE_URL, otlp_endpoint).or_none())),
            ("trace_url", Shape::Text(Text::new(TRACE_URL, trace_url).or_none())),
            ("log_format", Shape::Word(&const { words(&LogFormat::WORDS) })),
            ("log_level", Shape::Word(&const { words(&LOG_LEVELS) })),
        ],
    ),
    (
        "alerts",
        &[
            ("url", Shape::SecretUrl(Text::new(WEBHOOK, webhook))),
            ("format", Shape::Word(&const { words(&AlertFormat::WORDS) })),
            ("on_dead_rate", Shape::Text(Text::new(DEAD_RATE, |rate| dead_rate(rate).map(drop)).or_none())),
            ("on_no_poller", Shape::TimeOr { range: (SECOND, DAYS_30), none: "", like: "5m" }),
            ("on_job_late", Shape::Flag),
            ("window", Shape::Time(SECOND, DAYS_30)),
            ("page_url", Shape::Text(Text::new(BASE_URL, |url| base_url(url, "admin.token").map(drop)).or_none())),
        ],
    ),
];

/// The settings of `[retry]`, which channels take from there.
pub(super) const RETRY: Shapes = &[
    ("max_attempts", Shape::Whole(1, 32_767)),
    ("base", Shape::Time(Duration::from_millis(1), DAY)),
    ("factor", Shape::Number(1, 100, "")),
    ("max", Shape::Time(Duration::from_millis(1), DAYS_30)),
    ("max_age", Shape::Time(SECOND, Duration::from_hours(365 * 24))),
];

/// The settings of every channel.
pub(super) const CHANNEL: Shapes = &[
    ("timeout", Shape::Time(Duration::from_millis(100), HOUR)),
    ("in_doubt", Shape::Word(&const { words(&IN_DOUBT) })),
    ("on_dead_ordered", Shape::Word(&const { words(&ON_DEAD_ORDERED) })),
    ("max_in_flight", Shape::Whole(0, 100_000)),
    ("rate", Shape::Number(0, 1_000_000, ": messages a second")),
    ("max_message_bytes", Shape::Size(1 << 10, 1 << 30)),
    ("fairness", Shape::Word(&const { words(&FAIRNESS) })),
    ("record_deliveries", Shape::Word(&const { words(&RECORD_DELIVERIES) })),
    ("on_dead", Shape::Outcome),
    ("on_success", Shape::Outcome),
];

/// The settings of every recurring message.
pub(super) const RECURRING_MESSAGE: Shapes = &[
    ("cron", Shape::Text(Text::new(CRON, cron).or_none())),
    ("timezone", Shape::Text(Text::new("a name of the IANA time zones, such as \"Europe/Berlin\"", timezone))),
    ("channel", Shape::Text(Text::new("the name of a channel", channel_name::check).or_none())),
    ("target", Shape::Text(Text::new("what a row would say", |_| Ok(())).or_none().told().hidden())),
    ("payload", Shape::Text(Text::new("JSON, as a text", payload).told().hidden())),
    ("headers", Shape::Headers),
    ("tenant", ANY_TEXT),
    ("tags", Shape::Headers),
    ("ordering_key", ANY_TEXT),
    ("missed", Shape::Word(&const { words(&Missed::WORDS) })),
];

const ANY_TEXT: Shape = Shape::Text(Text::new("a text", |_| Ok(())).or_none().told());

const CRON: &str = "five or six fields, such as \"0 21 * * *\", or a word, such as \"@daily\"";

fn cron(pattern: &str) -> Result<(), String> {
    if pattern.len() > 255 {
        return Err(format!("it has {} characters, and 255 are allowed", pattern.len()));
    }
    Timetable::parse(pattern, "UTC").map(drop)
}

fn timezone(name: &str) -> Result<(), String> {
    Timetable::parse("@daily", name).map(drop)
}

fn payload(text: &str) -> Result<(), String> {
    serde_json::from_str::<serde_json::Value>(text).map(drop).map_err(|why| format!("this is not JSON ({why})"))
}

/// The keepers of a lease, by their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseStore {
    Table,
    Session,
    Redis,
}

pub(super) const LEASE_STORES: [(&str, LeaseStore); 3] =
    [("table", LeaseStore::Table), ("session", LeaseStore::Session), ("redis", LeaseStore::Redis)];

pub(super) const LOG_LEVELS: [(&str, tracing::Level); 5] = [
    ("error", tracing::Level::ERROR),
    ("warn", tracing::Level::WARN),
    ("info", tracing::Level::INFO),
    ("debug", tracing::Level::DEBUG),
    ("trace", tracing::Level::TRACE),
];

pub(super) const IN_DOUBT: [(&str, InDoubtPolicy); 2] =
    [("resend", InDoubtPolicy::Resend), ("dead_letter", InDoubtPolicy::DeadLetter)];

pub(super) const ON_DEAD_ORDERED: [(&str, OnDeadOrdered); 2] =
    [("continue", OnDeadOrdered::Continue), ("halt", OnDeadOrdered::Halt)];

/// Whether tenants take turns.
pub(super) const FAIRNESS: [(&str, bool); 2] = [("turns", true), ("off", false)];

pub(super) const RECORD_DELIVERIES: [(&str, DeliveryRecord); 3] =
    [("off", DeliveryRecord::Off), ("summary", DeliveryRecord::Summary), ("full", DeliveryRecord::Full)];

const DAYS_30: Duration = Duration::from_hours(30 * 24);

const KEPT: Shape = Shape::TimeOr { range: (SECOND, TEN_YEARS), none: "never", like: "7d" };

const SCHEMA: &str = "a lower-case name of letters, digits and _, up to 63 characters";

fn schema(name: &str) -> Result<(), String> {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err("it begins with a digit".to_owned());
    }
    plain_name::check(name, 63, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn redis_url(url: &str) -> Result<(), String> {
    // The parameters come first: their refusal names the nearest one.
    url_parameters::of_redis(url).and_then(|()| check_redis_url(url))
}

fn address(text: &str) -> Result<(), String> {
    text.parse::<SocketAddr>().map(drop).map_err(|_| String::new())
}

const INSTANCE: &str = "a text of up to 255 characters without control characters";

fn instance(name: &str) -> Result<(), String> {
    match name.chars().count() {
        ..=255 if !name.contains(char::is_control) => Ok(()),
        _ => Err(String::new()),
    }
}

fn person(name: &str) -> Result<(), String> {
    if name.trim().is_empty() { Err(String::new()) } else { instance(name) }
}

fn otlp_endpoint(url: &str) -> Result<(), String> {
    base_url(url, "OTEL_EXPORTER_OTLP_HEADERS").map(drop)
}

const TRACE_URL: &str = "a URL with http:// or https:// that has {trace_id} in it";

fn trace_url(text: &str) -> Result<(), String> {
    let of_web = text.starts_with("https://") || text.starts_with("http://");
    if of_web && text.contains("{trace_id}") && Url::parse(text).is_ok() { Ok(()) } else { Err(String::new()) }
}

const WEBHOOK: &str = "a URL with http:// or https://, or where it is kept, { env = \"NAME\" } or { file = \"PATH\" }";

/// The error does not repeat the URL.
fn webhook(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|why| format!("it is not a URL ({why})"))?;
    if matches!(url.scheme(), "http" | "https") { Ok(()) } else { Err("only http and https are spoken".to_owned()) }
}

const DEAD_RATE: &str = "a whole number from 1 to 1000000, a slash, and a time from 1s to 30d";

/// Reads so many dead letters within so long.
pub(super) fn dead_rate(text: &str) -> Result<DeadRate, String> {
    let like = || "write it like \"10/1h\"".to_owned();
    let (letters, within) = text.split_once('/').ok_or_else(like)?;
    let letters = letters.trim().parse().map_err(|_| like())?;
    let within = units::parse_time(within)?;
    let fits = (1..=1_000_000).contains(&letters) && (SECOND..=DAYS_30).contains(&within);
    if fits { Ok(DeadRate { letters, within }) } else { Err(like()) }
}
