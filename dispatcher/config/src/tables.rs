//! Reads the settings that are tables.

use std::collections::BTreeMap;

use outbox_adapters::http::{Auth, IdempotencyKey, check_header};
use outbox_store::{OutcomeTarget, TargetTemplate, TemplateError};
use toml::{Table, Value};

use super::secret::{parse as secret, plain};

/// Reads headers by name. None in place of a value that is no text.
pub(super) fn headers(table: Table) -> BTreeMap<String, Option<String>> {
    table.into_iter().map(|(name, value)| (name, value.as_str().map(str::to_owned))).collect()
}

/// What is wrong with a table that names another channel and a target of it.
pub(super) enum WrongOutcome {
    Table(String),
    /// Its key `target`.
    Target(TemplateError),
}

/// Reads another channel and a target of it, if the table is not empty.
pub(super) fn outcome(table: &Table) -> Result<Option<OutcomeTarget>, WrongOutcome> {
    if table.is_empty() {
        return Ok(None);
    }
    if let Some(other) = table.keys().find(|key| !["channel", "target"].contains(&key.as_str())) {
        return Err(WrongOutcome::Table(format!("has {other:?}, which does not exist")));
    }
    let text = |name: &str| plain(name, table.get(name)).map_err(WrongOutcome::Table);
    let (channel, target) = (text("channel")?, text("target")?);
    let target = TargetTemplate::parse(&target).map_err(WrongOutcome::Target)?;
    Ok(Some(OutcomeTarget { channel, target }))
}

/// Reads credentials, if there are any.
pub(super) fn auth(table: &Table) -> Result<Option<Auth>, String> {
    let mut entries = table.iter();
    let (Some((name, value)), others) = (entries.next(), entries.count()) else { return Ok(None) };
    if others > 0 {
        return Err("says more than one way to authenticate".to_owned());
    }
    let auth = match name.as_str() {
        "bearer" => Auth::Bearer(secret("bearer", Some(value))?),
        "basic" => {
            let [user, password] = pair("basic", value, ["user", "password"])?;
            Auth::Basic { user: plain("user", user)?, password: secret("password", password)? }
        }
        "header" => {
            let [name, value] = pair("header", value, ["name", "value"])?;
            let name = plain("name", name)?;
            // The value may not be at hand yet. Only the name of the header is checked: a credential may use any other.
            check_header(&name, "", IdempotencyKey::Off)?;
            Auth::Header { name, value: secret("value", value)? }
        }
        other => return Err(format!("has {other:?}, which is no way to authenticate")),
    };
    Ok(Some(auth))
}

/// Reads a table with two keys and no others.
fn pair<'v>(of: &str, value: &'v Value, names: [&str; 2]) -> Result<[Option<&'v Value>; 2], String> {
    let table = value.as_table().ok_or_else(|| format!("has a {of} that is not a table"))?;
    match table.keys().find(|key| !names.contains(&key.as_str())) {
        Some(other) => Err(format!("has {of}.{other}, which does not exist")),
        None => Ok(names.map(|name| table.get(name))),
    }
}
