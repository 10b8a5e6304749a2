//! Credentials and signing keys of HTTP channels.

use outbox_adapters::http::{Auth, IdempotencyKey, Secret, check_header};
use toml::{Table, Value};

use crate::read::Reader;
use crate::secret::{parse as secret, plain};

const ALLOWED: &str = "one of { bearer = SECRET }, { basic = { user = \"me\", password = SECRET } } or \
    { header = { name = \"X-Api-Key\", value = SECRET } }, where SECRET is a text, { env = \"NAME\" } or { file = \"PATH\" }";

const KEYS: &str = "a list of texts such as \"whsec_…\", { env = \"NAME\" } or { file = \"PATH\" }";

/// Reads the credentials, if there are any.
#[allow(clippy::option_option, reason = "the outer one: refused; the inner one: the channel has none")]
pub(super) fn auth(read: &mut Reader<'_>) -> Option<Option<Auth>> {
    let table = read.table("auth", ALLOWED)?;
    match parse(&table) {
        Ok(auth) => Some(auth),
        Err(why) => {
            read.refuse_table("auth", format!("{why}; allowed is {ALLOWED}"));
            None
        }
    }
}

/// Reads the keys that sign requests. Their content is checked when the channel is set up.
pub(super) fn signing_keys(read: &mut Reader<'_>) -> Option<Vec<Secret>> {
    read.read("signing_keys", KEYS, |value| match value {
        Value::Array(keys) => keys.iter().map(|key| secret("key", Some(key))).collect(),
        one => Ok(vec![secret("key", Some(one))?]),
    })
}

fn parse(table: &Table) -> Result<Option<Auth>, String> {
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
