//! The settings that all replicas of a fleet must share. Which replica polls changes, and what happens to a message must not.

use std::collections::BTreeMap;

use outbox_adapters::shape::Shape;
use toml::Value;

use super::setting::Setting;
use super::{Config, units};

impl Config {
    /// The settings in force that all replicas must share, without secrets: the lease, hints, the retention, alerts, and channels.
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
    plain(&setting.value) == plain(&setting.row.default)
}

/// Whether all replicas must share the setting. Secrets are not compared: nothing that follows from them may be written
/// into the database. Each machine may keep its files elsewhere.
fn is_shared(setting: &Setting) -> bool {
    let parts: Vec<&str> = setting.key.parts().iter().map(String::as_str).collect();
    if !matches!(parts.as_slice(), ["retention" | "alerts" | "lease" | "channels", ..] | ["dispatch", "wakeup"]) {
        return false;
    }
    match setting.row.shape {
        Shape::File | Shape::Token | Shape::SecretUrl(_) | Shape::Auth | Shape::Secrets { .. } => false,
        Shape::Headers | Shape::Outcome => !setting.is_secret(),
        Shape::Flag
        | Shape::Word(_)
        | Shape::Whole(..)
        | Shape::Number(..)
        | Shape::Time(..)
        | Shape::TimeOr { .. }
        | Shape::Size(..)
        | Shape::Text(_)
        | Shape::List { .. } => true,
    }
}

fn shown(setting: &Setting) -> String {
    plain(&setting.shown()).to_string()
}

/// The value in its shortest writing: `60s` is `1m`.
fn plain(value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    let time = units::parse_time(text).map(units::format_time);
    let plain = time.or_else(|_| units::parse_size(text).map(units::format_size));
    Value::String(plain.unwrap_or_else(|_| text.clone()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Sources;

    fn shared(file: &str) -> BTreeMap<String, String> {
        let config =
            Config::load(&Sources { file: Some(("outbox.toml".into(), file.to_owned())), ..Sources::default() });
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
    fn no_secret_and_nothing_that_follows_from_one_is_shared() {
        let file = "[lease]\nurl = \"redis://me:s3cret@cache\"\n[channels.http]\nkind = \"http\"\nbase_url = \"https://a.example\"\n\
                    auth = { bearer = \"s3cret\" }\nheaders = { X-Api-Key = \"s3cret\", X-Source = \"shop\" }\n";
        let told = shared(file);
        assert!(!format!("{told:?}").contains("s3cret"), "{told:?}");
        assert_eq!(told.get("channels.http.headers.X-Source").map(String::as_str), Some("\"shop\""), "{told:?}");
        assert_eq!(shared(&file.replace("s3cret", "other")), told);
    }
}
