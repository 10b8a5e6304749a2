//! From merged settings to typed ones: checks each range, and what has to fit together.

use std::net::SocketAddr;
use std::time::Duration;

use outbox_adapters::{BASE_URL, REDIS_URL, base_url, check_redis_url};
use outbox_schema::{environment, plain_name};

use super::lengths::{DAY, HOUR, MINUTE, SECOND, TEN_YEARS};
use super::{alerts, channel};
use crate::key::Key;
use crate::known::retry_section;
use crate::problem::Problem;
use crate::read::{Reader, text_of};
use crate::secret::SecretUrl;
use crate::settings::Settings;
use crate::{
    AdminConfig, Config, DatabaseConfig, Dialect, DispatchConfig, LeaseConfig, LeaseProvider, LogFormat,
    RetentionConfig, TelemetryConfig, Wakeup, database_url, url_parameters,
};

/// Reads all settings. None where there is a problem.
pub(crate) fn config(
    settings: Settings,
    no_default_database: Option<Problem>,
    problems: &mut Vec<Problem>,
) -> Option<Config> {
    let database = database(&mut Reader::new(&settings, problems, Key::dotted("database")));
    let dialect = database.as_ref().map(|database| database.dialect);
    let lease = lease(&mut Reader::new(&settings, problems, Key::dotted("lease")));
    let provider = lease.as_ref().map(|lease| &lease.provider);
    let dispatch = dispatch(&mut Reader::new(&settings, problems, Key::dotted("dispatch")), dialect, provider);
    let retry = channel::retry(
        &mut Reader::new(&settings, problems, retry_section()),
        channel::SHORTEST_BASE,
        channel::LONGEST_AGE,
    );
    let retention = retention(&mut Reader::new(&settings, problems, Key::dotted("retention")));
    let admin = admin(&mut Reader::new(&settings, problems, Key::dotted("admin")));
    let telemetry = telemetry(&mut Reader::new(&settings, problems, Key::dotted("telemetry")));
    let ttl = lease.as_ref().map(|lease| lease.ttl);
    let alerts = alerts::alerts(&mut Reader::new(&settings, problems, Key::dotted("alerts")), ttl);
    let max_bytes = dispatch.as_ref().map(|dispatch| dispatch.max_bytes);
    let channels = channel::channels(&settings, max_bytes, problems);
    // Every channel has its own retry settings. But a wrong `[retry]` is wrong even where no channel inherits it.
    retry?;
    Some(Config {
        database: database?,
        lease: lease?,
        dispatch: dispatch?,
        retention: retention?,
        admin: admin?,
        telemetry: telemetry?,
        alerts: alerts?,
        channels: channels?,
        settings,
        no_default_database,
    })
}

fn database(read: &mut Reader<'_>) -> Option<DatabaseConfig> {
    let url = read.read("url", database_url::ALLOWED, |value| {
        let text = text_of(value)?;
        database_url::dialect(text).map(|dialect| (SecretUrl::new(text), dialect))
    });
    let schema = read.checked("schema", "a lower-case name of letters, digits and _, up to 63 characters", schema_name);
    let environment = read.read("environment", environment::ALLOWED, |value| {
        let text = text_of(value)?;
        environment::check(text).map(|()| text.to_owned())
    });
    if let (Some((_, Dialect::MySql | Dialect::Sqlite)), Some(false)) = (&url, schema.as_ref().map(String::is_empty)) {
        read.refuse("schema", "only PostgreSQL has schemas; on MySQL use another database, on SQLite another file");
    }
    let ((url, dialect), schema) = (url?, schema?);
    Some(DatabaseConfig { url, dialect, schema: (!schema.is_empty()).then_some(schema), environment: environment? })
}

fn schema_name(text: &str) -> Result<(), String> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err("it begins with a digit".to_owned());
    }
    plain_name::check(text, 63, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn lease(read: &mut Reader<'_>) -> Option<LeaseConfig> {
    // The parameters come first: their refusal names the nearest one.
    let url = read.url("url", REDIS_URL, |text| url_parameters::of_redis(text).and_then(|()| check_redis_url(text)));
    let tls_ca = read.file("tls_ca");
    let redis = read.word("provider", &[("table", false), ("redis", true)]);
    let ttl = read.time("ttl", SECOND..=10 * MINUTE);
    let term = read.time("term", SECOND..=DAY);
    let (redis, url, tls_ca) = (redis?, url?, tls_ca?);
    let encrypted = redis && url.as_ref().is_some_and(|url| url.expose().starts_with("rediss"));
    if !tls_ca.is_empty() && !encrypted {
        read.refuse(
            "tls_ca",
            "only TLS needs it: lease.url = \"rediss://…\", \"rediss+sentinel://…\" or \"rediss+cluster://…\"",
        );
        return None;
    }
    let provider = match (redis, url) {
        (false, _) => LeaseProvider::Table,
        (true, Some(url)) => LeaseProvider::Redis { url, tls_ca },
        (true, None) => {
            read.refuse("provider", "needs lease.url, for example lease.url = \"redis://127.0.0.1:6379\"");
            return None;
        }
    };
    Some(LeaseConfig { provider, ttl: ttl?, term: term? })
}

fn dispatch(
    read: &mut Reader<'_>,
    dialect: Option<Dialect>,
    provider: Option<&LeaseProvider>,
) -> Option<DispatchConfig> {
    let poll_interval = read.time("poll_interval", Duration::from_millis(10)..=HOUR);
    let wakeup = read.word("wakeup", &[Wakeup::Notify, Wakeup::Redis, Wakeup::Off].map(|way| (way.as_str(), way)));
    let max_in_flight = read.whole("max_in_flight", 1..=100_000);
    let max_bytes = read.size("max_bytes", 1 << 20..=1 << 40);
    let drain_timeout = read.time("drain_timeout", Duration::ZERO..=HOUR);
    if let (Some(Wakeup::Notify), Some(Dialect::MySql | Dialect::Sqlite)) = (wakeup, dialect) {
        read.refuse(
            "wakeup",
            "only PostgreSQL can notify; leave it out: applications give hints where the lease is in Redis, else \
             dispatch.poll_interval sets the latency",
        );
    }
    if let (Some(Wakeup::Redis), Some(LeaseProvider::Table)) = (wakeup, provider) {
        read.refuse("wakeup", "hints are given on the Redis of the lease: set lease.url, or leave this out");
    }
    Some(DispatchConfig {
        poll_interval: poll_interval?,
        wakeup: wakeup?,
        max_in_flight: max_in_flight?,
        max_bytes: max_bytes?,
        drain_timeout: drain_timeout?,
    })
}

fn retention(read: &mut Reader<'_>) -> Option<RetentionConfig> {
    let success = read.time_or_never("success", SECOND..=TEN_YEARS);
    let dead = read.time_or_never("dead", SECOND..=TEN_YEARS);
    let figures = read.time_or_never("figures", SECOND..=TEN_YEARS);
    Some(RetentionConfig { success: success?, dead: dead?, figures: figures? })
}

fn admin(read: &mut Reader<'_>) -> Option<AdminConfig> {
    let listen = read.read("listen", "an IP address and a port, such as \"127.0.0.1:8640\"", |value| {
        text_of(value)?.parse::<SocketAddr>().map_err(|_| String::new())
    });
    let instance = read.checked("instance", INSTANCE, instance_name);
    let (token, read_token, metrics_token) =
        (read.secret("token"), read.secret("read_token"), read.secret("metrics_token"));
    let read_payloads = read.flag("read_payloads");
    let user_header = read.read("user_header", "the name of a header", |value| match text_of(value)? {
        "" => Ok(None),
        name => name.parse().map(Some).map_err(|_| String::new()),
    });
    let (listen, token, read_token, metrics_token) = (listen?, token?, read_token?, metrics_token?);
    let instance = Some(instance?).filter(|name| !name.is_empty());
    if [&token, &read_token, &metrics_token].iter().all(|token| token.is_none()) && !is_on_loopback(listen) {
        read.refuse(
            "listen",
            "beyond loopback the listener needs admin.token (OUTBOX_ADMIN__TOKEN) or admin.read_token; or listen on 127.0.0.1",
        );
    }
    if token.is_some() && token == read_token {
        read.refuse("read_token", "it is the same as admin.token: whoever may only read could change things");
    }
    for (other, name) in [(&token, "admin.token"), (&read_token, "admin.read_token")] {
        if metrics_token.is_some() && metrics_token == *other {
            let advice = format!("it is the same as {name}: whoever may only read metrics could do more");
            read.refuse("metrics_token", &advice);
        }
    }
    Some(AdminConfig {
        listen,
        instance,
        token,
        read_token,
        metrics_token,
        read_payloads: read_payloads?,
        user_header: user_header?,
    })
}

/// The names that a replica can have.
const INSTANCE: &str = "a text of up to 255 characters without control characters";

fn instance_name(text: &str) -> Result<(), String> {
    match text.chars().count() {
        ..=255 if !text.contains(char::is_control) => Ok(()),
        _ => Err(String::new()),
    }
}

/// Whether only this machine can reach a listener at this address. The address may be one of IPv4 that is written as
/// one of IPv6: `::ffff:127.0.0.1`.
pub fn is_on_loopback(listen: SocketAddr) -> bool {
    listen.ip().to_canonical().is_loopback()
}

fn telemetry(read: &mut Reader<'_>) -> Option<TelemetryConfig> {
    let otlp_endpoint =
        read.url("otlp_endpoint", BASE_URL, |text| base_url(text, "OTEL_EXPORTER_OTLP_HEADERS").map(drop));
    let trace_url = read.checked("trace_url", TRACE_URL, trace_url);
    let log_format = read.word("log_format", &[("text", LogFormat::Text), ("json", LogFormat::Json)]);
    let levels = [
        ("error", tracing::Level::ERROR),
        ("warn", tracing::Level::WARN),
        ("info", tracing::Level::INFO),
        ("debug", tracing::Level::DEBUG),
        ("trace", tracing::Level::TRACE),
    ];
    let log_level = read.word("log_level", &levels);
    let trace_url = Some(trace_url?).filter(|url| !url.is_empty());
    Some(TelemetryConfig { otlp_endpoint: otlp_endpoint?, trace_url, log_format: log_format?, log_level: log_level? })
}

/// What [`trace_url`] accepts, in words.
const TRACE_URL: &str = "a URL with http:// or https:// that has {trace_id} in it";

fn trace_url(text: &str) -> Result<(), String> {
    let of_web = text.starts_with("https://") || text.starts_with("http://");
    let fits = text.is_empty() || of_web && text.contains("{trace_id}") && url::Url::parse(text).is_ok();
    if fits { Ok(()) } else { Err(String::new()) }
}
