//! What the commands share: the database behind the settings, opened and found to be ours.

use std::sync::Arc;

use outbox_schema::migrate::{Meta, SchemaState};
use outbox_schema::{Database, Desk};
use uuid::Uuid;

use crate::config::{Config, Dialect, SecretUrl};
use crate::telemetry::{self, Telemetry, TelemetryError};
use crate::wiring;

/// Connections of a command that looks or writes once.
const FEW: u32 = 2;

/// Opens the outbox of the settings for a command.
pub(super) async fn open(config: &Config) -> anyhow::Result<Database> {
    let database = wiring::database(config, FEW).await?;
    database.require(&config.database.environment).await?;
    Ok(database)
}

/// Opens the outbox of the settings for a person who asks.
pub(super) async fn desk(config: &Config) -> anyhow::Result<Arc<dyn Desk>> {
    Ok(open(config).await?.desk())
}

/// The outbox that `run` is to dispatch. An embedded database that has none yet is given one: there is nobody
/// else who could have made it.
pub(super) async fn require_or_create(config: &Config, database: &Database) -> anyhow::Result<Meta> {
    let environment = &config.database.environment;
    if config.database.dialect == Dialect::Sqlite && database.schema_state().await? == SchemaState::Absent {
        let made = database.migrate(environment).await?;
        tracing::info!(database = %config.database.url, "run.tables_created");
        return Ok(made.meta);
    }
    Ok(database.require(environment).await?)
}

/// Logs, and traces and metrics where an endpoint is set.
pub(super) fn telemetry(config: &Config) -> Result<Telemetry, TelemetryError> {
    let settings = &config.telemetry;
    // gcp_auth logs the bodies of failed token requests.
    let level = format!("{},gcp_auth=error", settings.log_level);
    telemetry::start(&telemetry::Settings {
        log_format: settings.log_format,
        log_level: Some(&level),
        otlp_endpoint: settings.otlp_endpoint.as_ref().map(SecretUrl::expose),
        instance: &Uuid::new_v4().to_string(),
    })
}

/// Who asks for a change: `--by`, else the user of the system.
pub(super) fn author(by: Option<String>) -> String {
    by.or_else(|| std::env::var("USER").ok()).filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}
