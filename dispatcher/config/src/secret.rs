//! Secrets, and the values that may be shown without them.

use std::fmt;
use std::path::PathBuf;

use outbox_adapters::http::{Secret, SecretPlace};
use outbox_adapters::shape::Shape;
use toml::Value;

/// The text in place of a secret.
pub(super) const HIDDEN: &str = "***";

/// A secret in memory. Only [`SecretText::expose`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself: never for a log line, an error or a page.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// A URL that may carry a password. `Display` and `Debug` show it without.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(String);

impl SecretUrl {
    pub(super) fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The URL with its password, for the client that connects.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text of a key, which must not be empty.
pub(super) fn plain(name: &str, value: Option<&Value>) -> Result<String, String> {
    let text = value.and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| format!("has no {name}"))
}

/// Reads a secret: a text, or where to find it. Errors never repeat the text.
pub(super) fn parse(name: &str, value: Option<&Value>) -> Result<Secret, String> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Ok(Secret::Literal(text.clone())),
        Some(Value::Table(table)) if table.len() == 1 => match (table.get("env"), table.get("file")) {
            (env @ Some(_), None) => plain("env", env).map(|name| Secret::SecretPlace(SecretPlace::Env(name))),
            (None, file @ Some(_)) => {
                plain("file", file).map(|path| Secret::SecretPlace(SecretPlace::File(PathBuf::from(path))))
            }
            _ => Err(format!("has a {name} that is neither a text nor {{ env }} nor {{ file }}")),
        },
        Some(Value::String(_)) | None => Err(format!("has no {name}")),
        Some(_) => Err(format!("has a {name} that is neither a text nor {{ env }} nor {{ file }}")),
    }
}

/// Whether nothing may be shown of what stands at `path` in a setting of this shape. The path leads into a table.
pub(super) fn is_secret(shape: Shape, path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match shape {
        Shape::Token => true,
        Shape::SecretUrl(_) => !matches!(path.as_slice(), ["env" | "file"]),
        Shape::Secrets { .. } => !matches!(path.as_slice(), [.., "env" | "file"]),
        Shape::Auth => !matches!(path.as_slice(), [.., "env" | "file"] | ["basic", "user"] | ["header", "name"]),
        Shape::Headers => path.len() != 1 || is_secret_header(path[0]),
        // A target may be one, as the URLs of chat rooms are.
        Shape::Outcome => path == ["target"],
        Shape::Text(text) => text.is_hidden,
        Shape::Flag
        | Shape::Word(_)
        | Shape::Whole(..)
        | Shape::Number(..)
        | Shape::Time(..)
        | Shape::TimeOr { .. }
        | Shape::Size(..)
        | Shape::File
        | Shape::List { .. } => false,
    }
}

/// Whether the value of a header may be a secret, by its name. Credentials belong in `auth`, but people will put them among
/// other headers.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_lowercase();
    ["auth", "key", "token", "secret", "cookie", "signature", "password"].iter().any(|word| name.contains(word))
}

/// Whether a text may be a key, in plain or in base64. People will put one where the path of its file belongs.
pub(super) fn is_key(text: &str) -> bool {
    let encoded = "LS0tLS1CRUdJTi";
    text.contains('\n') || text.contains("-----BEGIN") || text.contains("\"private_key\"") || text.starts_with(encoded)
}

/// The value at `path` in a setting of this shape, as TOML with every secret hidden.
pub(super) fn shown(shape: Shape, path: &[String], value: &Value) -> Value {
    let hideable = match value {
        Value::String(text) => !text.is_empty(),
        // These are checked piece by piece: some pieces say only where a secret is kept.
        Value::Array(_) | Value::Table(_) => false,
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => true,
    };
    if hideable && is_secret(shape, path) {
        return Value::String(HIDDEN.to_owned());
    }
    match value {
        Value::String(text) if is_key(text) => Value::String(HIDDEN.to_owned()),
        Value::String(text) => Value::String(without_password(text)),
        Value::Array(items) => Value::Array(items.iter().map(|item| shown(shape, path, item)).collect()),
        Value::Table(items) => {
            let at = |name: &String| [path, std::slice::from_ref(name)].concat();
            Value::Table(items.iter().map(|(name, item)| (name.clone(), shown(shape, &at(name), item))).collect())
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => value.clone(),
    }
}

/// Whether a [`shown`] value hides something.
pub(super) fn hides(shown: &Value) -> bool {
    match shown {
        Value::String(text) => text == HIDDEN,
        Value::Array(items) => items.iter().any(hides),
        Value::Table(items) => items.values().any(hides),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => false,
    }
}

/// Hides the password in anything that looks like a URL. The text is not parsed: a URL that does not parse often has a
/// password with a `/`, `#` or `@` in it, and is about to be shown in an error.
pub(super) fn without_password(text: &str) -> String {
    hide_query(&hide_user_info(text))
}

fn hide_user_info(text: &str) -> String {
    let Some((before, host)) = text.rsplit_once('@') else { return text.to_owned() };
    // An `@` is common in paths of the web and of files, and rare in those of databases.
    if text.starts_with("sqlite:") || (text.starts_with("http") && url::Url::parse(text).is_ok_and(|url| is_open(&url)))
    {
        return text.to_owned();
    }
    let (scheme, user_info) = match before.find("://") {
        Some(at) => before.split_at(at + 3),
        None => before.split_at(before.find(':').map_or(0, |colon| colon + 1)),
    };
    // Nobody knows whether the `@` ends a password or is in that of the query, so nothing behind the user is shown.
    if user_info.split_once('?').is_some_and(|(_, query)| query.split('&').any(is_secret_pair)) {
        return format!("{scheme}{}:{HIDDEN}", user_info.split([':', '/', '?']).next().unwrap_or_default());
    }
    match user_info.split_once(':') {
        Some((user, _)) => format!("{scheme}{user}:{HIDDEN}@{host}"),
        // `https://TOKEN@host` is the usual form of a token. A database URL has a user there.
        None if scheme.starts_with("http") => format!("{scheme}{HIDDEN}@{host}"),
        None => format!("{scheme}{user_info}@{host}"),
    }
}

fn is_open(url: &url::Url) -> bool {
    url.username().is_empty() && url.password().is_none()
}

/// Hides passwords in a query: `?user=me&password=…`, as JDBC and libpq allow.
fn hide_query(text: &str) -> String {
    let Some((before, query)) = text.split_once('?') else { return text.to_owned() };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if is_secret_pair(pair) => format!("{name}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    format!("{before}?{}", query.split('&').map(hide).collect::<Vec<_>>().join("&"))
}

/// Whether a parameter of a query, with its value, is a secret.
fn is_secret_pair(pair: &str) -> bool {
    pair.split_once('=').is_some_and(|(name, _)| means_a_secret(&name.to_lowercase()))
}

/// Whether a parameter of this name holds a secret, also where it is misspelt.
fn means_a_secret(name: &str) -> bool {
    let words = ["password", "passphrase", "pass", "pwd", "token", "secret"];
    let near = |part: &str| words.iter().any(|word| strsim::normalized_damerau_levenshtein(part, word) > 0.6);
    words.iter().any(|word| name.contains(word)) || name.split(['_', '-', '.']).any(near)
}

#[cfg(test)]
mod tests {
    use outbox_adapters::shape::Text;

    use super::*;

    #[test]
    fn a_password_is_hidden_wherever_a_url_can_have_one() {
        for (url, shown) in [
            ("postgres://app:s3cret@db/x", "postgres://app:***@db/x"),
            ("postgres://app:s3/c@r#et@db:5432/x", "postgres://app:***@db:5432/x"),
            ("redis://:s3cret@cache", "redis://:***@cache"),
            ("postgres://app@db/x", "postgres://app@db/x"),
            ("https://s3cret@collector", "https://***@collector"),
            ("postgres:app:s3cret@db", "postgres:app:***@db"),
            ("jdbc:mysql://db/x?user=me&password=s3cret&ssl=1", "jdbc:mysql://db/x?user=me&password=***&ssl=1"),
            ("postgres://db/x?pasword=s3cret&user=me", "postgres://db/x?pasword=***&user=me"),
            ("redis+sentinel://one/x?sentinel_psasword=s3cret", "redis+sentinel://one/x?sentinel_psasword=***"),
            ("redis+sentinel://one:1/x?sentinel_password=s3/@#?cret", "redis+sentinel://one:***"),
            ("postgres://app:s3?password=s3@cret@db/x", "postgres://app:***"),
            ("postgres://db/x?user=me&password=s3@cret&sslmode=require", "postgres://db:***"),
            ("postgres://db/x?sslmode=require&host=h", "postgres://db/x?sslmode=require&host=h"),
            ("sqlite://c:/me@home/outbox.db", "sqlite://c:/me@home/outbox.db"),
            ("https://hooks.example/@me", "https://hooks.example/@me"),
        ] {
            assert_eq!(without_password(url), shown);
            assert_eq!(format!("{:?}", SecretUrl::new(url)), shown);
        }
    }

    #[test]
    fn tokens_and_credentials_are_hidden_but_not_where_they_come_from() {
        let hidden = |shape: Shape, path: &[&str]| {
            let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
            shown(shape, &path, &Value::String("s3cret".into())).as_str() == Some(HIDDEN)
        };
        let (list, url) = (Shape::Secrets { allowed: "" }, Shape::SecretUrl(Text::new("", |_| Ok(()))));
        for (shape, path) in [
            (Shape::Token, &[][..]),
            (Shape::Auth, &["bearer"]),
            (Shape::Auth, &[]),
            (Shape::Headers, &["X-Api-Key"]),
            (Shape::Outcome, &["target"]),
            (list, &[]),
            (url, &[]),
        ] {
            assert!(hidden(shape, path), "{shape:?} {path:?}");
        }
        for (shape, path) in [
            (Shape::Auth, &["bearer", "env"][..]),
            (Shape::Auth, &["basic", "user"]),
            (Shape::Headers, &["X-Source"]),
            (Shape::Outcome, &["channel"]),
            (list, &["env"]),
            (url, &["file"]),
            (Shape::File, &[]),
        ] {
            assert!(!hidden(shape, path), "{shape:?} {path:?}");
        }
        assert_eq!(format!("{:?}", SecretText::new("s3cret")), HIDDEN);
    }
}
