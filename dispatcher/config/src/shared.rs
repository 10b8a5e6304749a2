//! The settings that all replicas of a fleet must share. Which replica polls changes, and what happens to a message must not.

use std::collections::BTreeMap;

use outbox_adapters::shape::{Item, Shape};
use outbox_adapters::values::Given;
use toml::Value;

use super::parse::parse;
use super::setting::Setting;
use super::{Config, units};

impl Config {
    /// The settings in force that all replicas must share, without secrets: the lease, hints, the retention, alerts, channels, and
    /// recurring messages.
    /// A setting at its default is left out, so that a release with a new setting has the same as the release before.
    /// Where a replica has read its settings anew, `started` are those of its start.
    pub fn shared(&self, started: &Self) -> BTreeMap<String, String> {
        let reloaded = self.settings.iter().filter(|setting| setting.key.is_reloadable());
        let of_the_start = started.settings.iter().filter(|setting| !setting.key.is_reloadable());
        let shared = of_the_start.chain(reloaded).filter(|setting| is_shared(setting) && !is_default(setting));
        shared.map(|setting| (setting.key.to_string(), shown(setting))).collect()
    }
}

fn is_default(setting: &Setting) -> bool {
    // Of a table, an empty one alone is the default.
    plain(setting.row.shape, &setting.value) == plain(setting.row.shape, &setting.row.default)
}

/// Whether all replicas must share the setting. Secrets are not compared: nothing that follows from them may be written
/// into the database. Each machine may keep its files elsewhere.
fn is_shared(setting: &Setting) -> bool {
    let parts: Vec<&str> = setting.key.parts().iter().map(String::as_str).collect();
    if !matches!(
        parts.as_slice(),
        ["retention" | "alerts" | "lease" | "channels" | "recurring", ..] | ["dispatch", "wakeup"]
    ) {
        return false;
    }
    match setting.row.shape {
        Shape::File | Shape::Token | Shape::SecretUrl(_) | Shape::Auth | Shape::Secrets { .. } => false,
        Shape::Headers | Shape::Outcome | Shape::Text(_) => !setting.is_secret(),
        Shape::Flag
        | Shape::Word(_)
        | Shape::Whole(..)
        | Shape::Number(..)
        | Shape::Time(..)
        | Shape::TimeOr { .. }
        | Shape::Size(..)
        | Shape::List { .. } => true,
    }
}

fn shown(setting: &Setting) -> String {
    plain(setting.row.shape, &setting.shown()).to_string()
}

/// The value in one writing, by what the setting may be: of a time, `60s` is `1m`. A text stays as it is.
fn plain(shape: Shape, value: &Value) -> Value {
    match (shape, parse(shape, value)) {
        (Shape::List { item, .. }, Ok(Given::List(items))) => {
            Value::Array(items.iter().map(|text| plain_item(item, text)).collect())
        }
        (_, Ok(Given::Time(Some(time)))) => Value::String(units::format_time(time)),
        (_, Ok(Given::Size(bytes))) => Value::String(units::format_size(bytes)),
        (_, Ok(Given::Number(number))) => number.to_string().parse().unwrap_or_else(|_| value.clone()),
        _ => value.clone(),
    }
}

/// An item of a list: a number, where the list may have numbers.
fn plain_item(item: Item, text: &str) -> Value {
    let number = match item {
        Item::Whole(..) | Item::Code { .. } => text.parse().ok(),
        Item::Text(_) => None,
    };
    number.map_or_else(|| Value::String(text.to_owned()), Value::Integer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Sources;

    fn shared(file: &str) -> BTreeMap<String, String> {
        shared_with(file, &[])
    }

    fn shared_with(file: &str, environment: &[(&str, &str)]) -> BTreeMap<String, String> {
        let config = Config::load(&Sources {
            file: Some(("outbox.toml".into(), file.to_owned())),
            environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            flags: Vec::new(),
        });
        let config = config.unwrap();
        config.shared(&config)
    }

    #[test]
    fn what_decides_over_messages_is_shared_and_what_is_of_one_machine_is_not() {
        let base = "[channels.http]\nkind = \"http\"\n";
        let plain = shared(base);
        for own in [
            "[dispatch]\nmax_in_flight = 7\n",
            "[admin]\ninstance = \"web-1\"\nlisten = \"127.0.0.1:9\"\n",
            "[telemetry]\nlog_level = \"debug\"\n",
            "[database]\nurl = \"sqlite://elsewhere.db\"\n",
        ] {
            assert_eq!(shared(&format!("{own}{base}")), plain, "{own}");
        }
        for common in ["[lease]\nttl = \"5s\"\n", "[lease]\nurl = \"redis://cache\"\n", "[retention]\ndead = \"1d\"\n"]
        {
            assert_ne!(shared(&format!("{common}{base}")), plain, "{common}");
        }
        assert_ne!(shared(&format!("{base}allow_networks = [\"10.0.0.0/8\"]\n")), plain);
        assert_ne!(shared(&format!("{base}max_age = \"1h\"\n")), plain);
    }

    #[test]
    fn a_default_that_is_written_out_is_the_same_as_none_and_so_is_another_writing_of_a_time() {
        let base = "[channels.http]\nkind = \"http\"\n";
        assert_eq!(shared(&format!("[lease]\nttl = \"10000ms\"\n{base}timeout = \"15s\"\n")), shared(base));
        let minute = |text: &str| shared(&format!("[lease]\nterm = \"{text}\"\n{base}"));
        assert_eq!(minute("1m"), minute("60s"));
    }

    #[test]
    fn a_setting_of_the_environment_is_the_same_as_in_the_file() {
        let base = "[channels.http]\nkind = \"http\"\n";
        for (key, file, variable, value) in [
            ("rate", "10", "RATE", "10"),
            ("rate", "10.0", "RATE", "10"),
            ("rate", "2.5", "RATE", "2.50"),
            ("factor", "3", "FACTOR", "3"),
            ("max_attempts", "7", "MAX_ATTEMPTS", " 7"),
            ("max_message_bytes", "\"1024 KiB\"", "MAX_MESSAGE_BYTES", "1MiB"),
            ("timeout", "\"90s\"", "TIMEOUT", "1m 30s"),
            ("ports", "[443, 8443]", "PORTS", "443,8443"),
            ("ports", "443", "PORTS", "443"),
            ("retry_statuses", "[409, \"4xx\"]", "RETRY_STATUSES", "409, 4xx"),
            ("allow_networks", "\"10.0.0.0/8\"", "ALLOW_NETWORKS", "10.0.0.0/8"),
            ("https_only", "true", "HTTPS_ONLY", "true"),
        ] {
            let variable = format!("OUTBOX_CHANNELS__HTTP__{variable}");
            let of_file = shared(&format!("{base}{key} = {file}\n"));
            assert_eq!(shared_with(base, &[(&variable, value)]), of_file, "{key} = {file}, {variable}={value}");
        }
    }

    #[test]
    fn a_text_that_looks_like_a_time_a_size_or_a_number_is_a_text() {
        let header =
            |value: &str| shared(&format!("[channels.http]\nkind = \"http\"\nheaders = {{ X-Max = \"{value}\" }}\n"));
        for (one, other) in [("60s", "1m"), ("1 KiB", "1024 B"), ("10", "10.0")] {
            assert_ne!(header(one), header(other));
            assert_eq!(header(one)["channels.http.headers.X-Max"], format!("\"{one}\""));
        }
    }

    #[test]
    fn no_secret_and_nothing_that_follows_from_one_is_shared() {
        let file = "[lease]\nurl = \"redis://me:s3cret@cache\"\n[channels.http]\nkind = \"http\"\nbase_url = \"https://a.example\"\n\
                    auth = { bearer = \"s3cret\" }\nheaders = { X-Api-Key = \"s3cret\", X-Source = \"shop\" }\n";
        let told = shared(file);
        assert!(!format!("{told:?}").contains("s3cret"), "{told:?}");
        assert_eq!(told.get("channels.http.headers.X-Source").map(String::as_str), Some("\"shop\""), "{told:?}");
        assert_eq!(shared(&file.replace("s3cret", "other")), told);
    }
}
