//! From merged settings to typed ones: what has to fit together is checked here.

use std::net::SocketAddr;

use outbox_adapters::values::{Checked, Refused, Values};
use outbox_store::Durability;

use super::{alerts, channel, recurring};
use crate::key::Key;
use crate::known::{KNOWN, Known, retry_section};
use crate::problem::Problem;
use crate::read;
use crate::secret::{SecretText, SecretUrl};
use crate::settings::Settings;
use crate::shapes::{LEASE_STORES, LOG_LEVELS, LeaseStore};
use crate::{
    AdminConfig, Config, DatabaseConfig, Dialect, DispatchConfig, LeaseConfig, LeaseProvider, LogFormat,
    RetentionConfig, TelemetryConfig, Wakeup, database_url,
};

/// Reads all settings. They are refused where one is wrong that is not of a channel.
pub(crate) fn config(
    settings: Settings,
    known: &Known,
    no_default_database: Option<Problem>,
    problems: &mut Vec<Problem>,
) -> Checked<Config> {
    // All sections are read before the first failure counts.
    let database = section("database", &settings, problems, database);
    let dialect = database.as_ref().ok().map(|database| database.dialect);
    let lease = section("lease", &settings, problems, |values| lease(values, dialect));
    let provider = lease.as_ref().ok().map(|lease| &lease.provider);
    let dispatch = section("dispatch", &settings, problems, |values| dispatch(values, dialect, provider));
    let retry = section("retry", &settings, problems, |values| channel::retry(values, &settings, &retry_section()));
    let retention = section("retention", &settings, problems, |values| {
        let [success, dead, figures, jobs] =
            ["success", "dead", "figures", "jobs"].map(|name| values.time_or_none(name));
        Ok(RetentionConfig { success: success?, dead: dead?, figures: figures?, jobs: jobs? })
    });
    let admin = section("admin", &settings, problems, admin);
    let telemetry = section("telemetry", &settings, problems, telemetry);
    let ttl = lease.as_ref().map(|lease| lease.ttl).map_err(|refused| *refused);
    let alerts = section("alerts", &settings, problems, |values| alerts::alerts(values, ttl));
    let max_bytes = dispatch.as_ref().ok().map(|dispatch| dispatch.max_bytes);
    let channels = channel::channels(&settings, known, max_bytes, problems);
    let recurring = recurring::recurring(&settings, known, &channels, problems);
    // Every channel has its own retry settings. But a wrong `[retry]` is wrong even where no channel inherits it.
    retry?;
    Ok(Config {
        database: database?,
        lease: lease?,
        dispatch: dispatch?,
        retention: retention?,
        admin: admin?,
        telemetry: telemetry?,
        alerts: alerts?,
        channels,
        recurring,
        settings,
        no_default_database,
    })
}

fn section<T>(
    name: &str,
    settings: &Settings,
    problems: &mut Vec<Problem>,
    read: impl FnOnce(&mut Values) -> Checked<T>,
) -> Checked<T> {
    let key = Key::dotted(name);
    read::section(settings, problems, &key, KNOWN.section(&key), read)
}

fn database(values: &mut Values) -> Checked<DatabaseConfig> {
    let dialect = values.text("url").and_then(|url| database_url::dialect(url).map_err(|_| Refused));
    let schema = values.text_or_none("schema").map(|schema| schema.map(str::to_owned));
    if matches!((&dialect, &schema), (Ok(Dialect::MySql | Dialect::Sqlite), Ok(Some(_)))) {
        values.refuse("schema", "only PostgreSQL has schemas; on MySQL use another database, on SQLite another file");
    }
    let durability = values.word("durability", &Durability::WORDS);
    if let (Ok(Dialect::Sqlite), Ok(Durability::Replicated | Durability::All)) = (&dialect, &durability) {
        values.refuse("durability", "a file of SQLite has no standby: \"local\" is all that there is");
    }
    Ok(DatabaseConfig {
        url: SecretUrl::new(values.text("url")?),
        dialect: dialect?,
        schema: schema?,
        environment: values.text("environment")?.to_owned(),
        durability: durability?,
    })
}

fn lease(values: &mut Values, dialect: Option<Dialect>) -> Checked<LeaseConfig> {
    let store = values.word("provider", &LEASE_STORES)?;
    let url = values.text_or_none("url")?.map(SecretUrl::new);
    let tls_ca = values.text("tls_ca")?.to_owned();
    let encrypted = store == LeaseStore::Redis && url.as_ref().is_some_and(|url| url.expose().starts_with("rediss"));
    if !tls_ca.is_empty() && !encrypted {
        values.refuse(
            "tls_ca",
            "only TLS needs it: lease.url = \"rediss://…\", \"rediss+sentinel://…\" or \"rediss+cluster://…\"",
        );
        return Err(Refused);
    }
    let provider = match (store, url) {
        (LeaseStore::Session, _) if dialect == Some(Dialect::Sqlite) => {
            values.refuse("provider", "a file of SQLite has no sessions: \"table\" is right there");
            return Err(Refused);
        }
        (LeaseStore::Session, Some(_)) => {
            values
                .refuse("provider", "the lease is in the outbox database: leave lease.url out, or set it to \"redis\"");
            return Err(Refused);
        }
        (LeaseStore::Session, None) => LeaseProvider::Session,
        (LeaseStore::Table, _) => LeaseProvider::Table,
        (LeaseStore::Redis, Some(url)) => LeaseProvider::Redis { url, tls_ca },
        (LeaseStore::Redis, None) => {
            values.refuse("provider", "needs lease.url, for example lease.url = \"redis://127.0.0.1:6379\"");
            return Err(Refused);
        }
    };
    Ok(LeaseConfig { provider, ttl: values.time("ttl")?, term: values.time("term")? })
}

fn dispatch(
    values: &mut Values,
    dialect: Option<Dialect>,
    provider: Option<&LeaseProvider>,
) -> Checked<DispatchConfig> {
    let wakeup = values.word("wakeup", &Wakeup::WORDS);
    if let (Ok(Wakeup::Notify), Some(Dialect::MySql | Dialect::Sqlite)) = (wakeup, dialect) {
        values.refuse(
            "wakeup",
            "only PostgreSQL can notify; leave it out: applications give hints where the lease is in Redis, else \
             dispatch.poll_interval sets the latency",
        );
    }
    if let (Ok(Wakeup::Redis), Some(LeaseProvider::Table | LeaseProvider::Session)) = (wakeup, provider) {
        values.refuse("wakeup", "hints are given on the Redis of the lease: set lease.url, or leave this out");
    }
    Ok(DispatchConfig {
        poll_interval: values.time("poll_interval")?,
        wakeup: wakeup?,
        max_in_flight: values.whole("max_in_flight")?,
        max_bytes: values.size("max_bytes")?,
        drain_timeout: values.time("drain_timeout")?,
    })
}

fn admin(values: &mut Values) -> Checked<AdminConfig> {
    let listen: SocketAddr = values.text("listen")?.parse().map_err(|_| Refused)?;
    let secret = |name| values.text_or_none(name).map(|secret| secret.map(SecretText::new));
    let names = ["token", "retry_token", "read_token", "metrics_token"];
    let [token, retry_token, read_token, metrics_token] = names.map(secret);
    let tokens = [token?, retry_token?, read_token?, metrics_token?];
    if tokens.iter().all(Option::is_none) && !is_on_loopback(listen) {
        values.refuse(
            "listen",
            "beyond loopback the listener needs admin.token (OUTBOX_ADMIN__TOKEN) or another token; or listen on 127.0.0.1",
        );
    }
    // Each allows less than those before it.
    for (nth, name) in names.iter().enumerate() {
        let same =
            tokens[nth].as_ref().and_then(|token| tokens[..nth].iter().position(|other| other.as_ref() == Some(token)));
        if let Some(same) = same {
            values.refuse(
                name,
                format!("it is the same as admin.{}: whoever has it could do more than it is for", names[same]),
            );
        }
    }
    let [token, retry_token, read_token, metrics_token] = tokens;
    let user_header = values.text_or_none("user_header")?.map(str::parse).transpose().map_err(|_| Refused)?;
    let operators = values.list("operators", str::parse)?;
    if user_header.is_none() && !operators.is_empty() {
        values.refuse("operators", "a proxy must name people: set admin.user_header, or leave this out");
    }
    Ok(AdminConfig {
        listen,
        instance: values.text_or_none("instance")?.map(str::to_owned),
        token,
        retry_token,
        read_token,
        metrics_token,
        read_payloads: values.flag("read_payloads")?,
        user_header,
        operators,
    })
}

/// Whether only this machine can reach a listener at this address. The address may be one of IPv4 that is written as
/// one of IPv6: `::ffff:127.0.0.1`.
pub fn is_on_loopback(listen: SocketAddr) -> bool {
    listen.ip().to_canonical().is_loopback()
}

fn telemetry(values: &mut Values) -> Checked<TelemetryConfig> {
    Ok(TelemetryConfig {
        otlp_endpoint: values.text_or_none("otlp_endpoint")?.map(SecretUrl::new),
        trace_url: values.text_or_none("trace_url")?.map(str::to_owned),
        log_format: values.word("log_format", &LogFormat::WORDS)?,
        log_level: values.word("log_level", &LOG_LEVELS)?,
    })
}
