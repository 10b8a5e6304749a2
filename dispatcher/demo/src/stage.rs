//! The directory of a demo: the database, the settings of its replicas, their logs. The demo leaves it behind.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::json;

/// The most messages that are claimed and not yet marked: a crash can leave this many in doubt.
pub(super) const MAX_IN_FLIGHT: usize = 32;

/// The channel that is told of outcomes: of every dead letter, and of every push that was delivered.
pub(super) const TOLD: &str = "told";

/// The place of a demo.
#[derive(Debug)]
pub(super) struct Stage {
    /// The directory.
    pub(super) directory: PathBuf,
}

impl Stage {
    /// A new directory, or `directory`, which must not hold a demo already.
    pub(super) fn set(directory: Option<PathBuf>) -> anyhow::Result<Self> {
        let directory = match directory {
            None => tempfile::Builder::new().prefix("outbox-demo-").tempdir()?.keep(),
            Some(directory) => {
                std::fs::create_dir_all(&directory)
                    .with_context(|| format!("the directory {} cannot be made", directory.display()))?;
                directory
            }
        };
        let stage = Self { directory: directory.canonicalize()? };
        if stage.database().exists() {
            bail!("{} is there already: give --keep-dir another directory", stage.database().display());
        }
        Ok(stage)
    }

    /// The SQLite file.
    pub(super) fn database(&self) -> PathBuf {
        self.directory.join("outbox.db")
    }

    /// The settings file.
    pub(super) fn config(&self) -> PathBuf {
        self.directory.join("outbox.toml")
    }

    /// The setting `database.url`.
    pub(super) fn database_url(&self) -> anyhow::Result<String> {
        let path = self.database();
        // SQLite URLs take options after a question mark, and percent signs before the code of a character.
        Ok(format!("sqlite://{}", text(&path)?.replace('%', "%25").replace('?', "%3F")))
    }

    /// Writes the settings of a fleet whose messages all go to `receiver`.
    pub(super) fn write_settings(&self, receiver: SocketAddr) -> anyhow::Result<()> {
        let key = self.directory.join("service-account.json");
        write(&key, &service_account(receiver))?;
        write(&self.config(), &settings(&self.database_url()?, text(&key)?, receiver))
    }
}

/// The text of the settings. The times are short, so that a crash and its settling fit into half a minute. The defaults
/// are longer.
fn settings(database: &str, key: &str, receiver: SocketAddr) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let (database, key) = (quoted(database), quoted(key));
    format!(
        r#"# Written by `outbox demo`. Its receiver ended with it; the database can be looked at.

[database]
url = {database}

[lease]
ttl = "2s"
term = "3s"

[dispatch]
poll_interval = "100ms"
max_in_flight = {MAX_IN_FLIGHT}
drain_timeout = "5s"

[retry]
max_attempts = 4
base = "250ms"

[admin]
listen = "127.0.0.1:0"

[telemetry]
log_format = "json"

[channels.webhook]
kind = "http"
base_url = "http://{receiver}/hook"
allow_networks = ["127.0.0.0/8"]
timeout = "2s"
on_dead = {{ channel = "{TOLD}", target = "/outcomes" }}

[channels.push]
kind = "fcm"
base_url = "http://{receiver}"
allow_networks = ["127.0.0.0/8"]
credentials = {key}
timeout = "10s"
on_dead = {{ channel = "{TOLD}", target = "/outcomes" }}
on_success = {{ channel = "{TOLD}", target = "/outcomes" }}

[channels.{TOLD}]
kind = "http"
base_url = "http://{receiver}/hook"
allow_networks = ["127.0.0.0/8"]
timeout = "2s"
"#
    )
}

/// A key file like those that Google hands out for a service account. The key opens nothing.
fn service_account(receiver: SocketAddr) -> String {
    let account = json!({
        "type": "service_account",
        "project_id": "demo",
        "private_key": include_str!("throw_away_key.pem"),
        "client_email": "outbox@demo.iam.gserviceaccount.com",
        "token_uri": format!("http://{receiver}/token"),
    });
    format!("{account:#}\n")
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("the path {} is not UTF-8: give another --keep-dir", path.display()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;
    use outbox_config::{Config, Sources};

    #[test]
    fn the_settings_of_the_demo_are_settings() {
        let home = tempfile::tempdir().unwrap();
        let stage = Stage::set(Some(home.path().join("100% \"demo\""))).unwrap();
        stage.write_settings("127.0.0.1:4711".parse().unwrap()).unwrap();
        let text = std::fs::read_to_string(stage.config()).unwrap();
        let config = Config::load(&Sources { file: Some((stage.config(), text)), ..Sources::default() }).unwrap();
        assert_eq!(config.dispatch.max_in_flight, 32);
        assert!(config.database.url.expose().ends_with("/100%25 \"demo\"/outbox.db"));
        assert_eq!(config.channels.len(), 3);
    }
}
