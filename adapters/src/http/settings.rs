//! The settings of a channel of kind `http`: `[channels.NAME]`. `kind` reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::statuses::Statuses;
use crate::setup::TlsRoots;

/// `[channels.NAME]` of kind `http`. Every value comes from the settings file or the embedded default file.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// The URL under which a target that is not a URL is resolved: `https://host/path`. Empty: every target is a URL.
    pub base_url: String,
    /// The method of every request.
    pub method: Method,
    /// Headers of every request. A row's own header of the same name replaces one.
    pub headers: BTreeMap<String, String>,
    /// The URLs that rows may name.
    pub targets: Targets,
    /// The headers that rows may set. None: any but those that no row may set.
    pub row_headers: Option<Vec<String>>,
    /// The credential of the channel.
    pub auth: Option<Auth>,
    /// Where the credential goes.
    pub auth_to: AuthTo,
    /// Keys that sign each request (Standard Webhooks 1.0). None: requests are not signed.
    pub signing_keys: Vec<Secret>,
    /// How the message's idempotency key is sent.
    pub idempotency_key: IdempotencyKey,
    /// The part of the payload that is the body.
    pub body: Body,
    /// Whether messages are sent as events.
    pub cloudevents: CloudEvents,
    /// Statuses of failures to which a message is sent again.
    pub retry_statuses: Vec<Statuses>,
    /// Statuses of failures that make a message a dead letter.
    pub dead_statuses: Vec<Statuses>,
    /// Statuses of failures by which a receiver says that it knew the idempotency key already.
    pub known_statuses: Vec<Statuses>,
    /// The header of an answer by which a receiver says so. Empty: none.
    pub known_header: String,
    /// Networks that are not public and that this channel may reach.
    pub allow_networks: Vec<IpNet>,
    /// Networks that this channel may not reach, whatever is allowed.
    pub deny_networks: Vec<IpNet>,
    /// Whether the channel speaks to `https://` alone.
    pub https_only: bool,
    /// The ports that the channel may reach. Empty: all of them.
    pub ports: Vec<u16>,
    /// A PEM file of certificate authorities that are trusted. Empty: none.
    pub tls_ca: String,
    /// The authorities that are trusted besides.
    pub tls_roots: TlsRoots,
    /// A PEM file with the channel's certificate, and with those between it and its authority. With a `base_url` the
    /// channel shows it only to that origin. Empty: none.
    pub tls_cert: String,
    /// The PEM file of the certificate's private key.
    pub tls_key: String,
    /// The age from which a connection takes no more requests.
    pub max_connection_age: Duration,
    /// Whether this is the channel that there is as long as none is configured, for errors.
    pub is_implied: bool,
}

impl fmt::Debug for Settings {
    /// Leaves out the values of headers: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            base_url,
            method,
            headers,
            targets,
            row_headers,
            auth,
            auth_to,
            signing_keys,
            idempotency_key,
            body,
            cloudevents,
            retry_statuses,
            dead_statuses,
            known_statuses,
            known_header,
            allow_networks,
            deny_networks,
            https_only,
            ports,
            tls_ca,
            tls_roots,
            tls_cert,
            tls_key,
            max_connection_age,
            is_implied,
        } = self;
        f.debug_struct("Settings")
            .field("base_url", base_url)
            .field("method", method)
            .field("headers", &headers.keys())
            .field("targets", targets)
            .field("row_headers", row_headers)
            .field("auth", auth)
            .field("auth_to", auth_to)
            .field("signing_keys", signing_keys)
            .field("idempotency_key", idempotency_key)
            .field("body", body)
            .field("cloudevents", cloudevents)
            .field("retry_statuses", retry_statuses)
            .field("dead_statuses", dead_statuses)
            .field("known_statuses", known_statuses)
            .field("known_header", known_header)
            .field("allow_networks", allow_networks)
            .field("deny_networks", deny_networks)
            .field("https_only", https_only)
            .field("ports", ports)
            .field("tls_ca", tls_ca)
            .field("tls_roots", tls_roots)
            .field("tls_cert", tls_cert)
            .field("tls_key", tls_key)
            .field("max_connection_age", max_connection_age)
            .field("is_implied", is_implied)
            .finish()
    }
}

/// Which URLs rows may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// Any URL that the channel may reach.
    Any,
    /// Paths below `base_url` alone.
    Paths,
}

impl Targets {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 2] = [("any", Self::Any), ("paths", Self::Paths)];
}

/// Where the credential of a channel goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthTo {
    /// The origin of `base_url` alone.
    BaseUrl,
    /// Every URL that a row names.
    Any,
}

impl AuthTo {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 2] = [("base_url", Self::BaseUrl), ("any", Self::Any)];
}

/// Methods that can carry a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
}

impl Method {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 3] = [("POST", Self::Post), ("PUT", Self::Put), ("PATCH", Self::Patch)];
}

/// How the idempotency key is sent: the header `Idempotency-Key`
/// (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyKey {
    /// As the draft says: a structured-field string (RFC 8941, 3.3.3), `"key"`. The key must be printable ASCII.
    Quoted,
    /// Unchanged, as most receivers took it before the draft: `key`.
    Bare,
    /// The key is not sent. Rows may set the header themselves.
    Off,
}

impl IdempotencyKey {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 3] = [("quoted", Self::Quoted), ("bare", Self::Bare), ("off", Self::Off)];
}

/// What of the payload is the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// The JSON of the payload, as the database returns it.
    Json,
    /// The text of the payload, which is a JSON string: XML, a form, or a body that was signed.
    Text,
}

impl Body {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 2] = [("json", Self::Json), ("text", Self::Text)];
}

/// Whether messages are sent as events of `CloudEvents` 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudEvents {
    /// Messages are not sent as events. Headers that begin with `ce-` are ordinary headers.
    Off,
    /// Events in binary mode: the payload is the body, and the attributes of the event are headers.
    Binary,
    /// Events in structured mode: the body is the whole event in JSON, with the payload as its data.
    Structured,
}

impl CloudEvents {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 3] =
        [("off", Self::Off), ("binary", Self::Binary), ("structured", Self::Structured)];
}

/// The credential of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `{ bearer = SECRET }`: `Authorization: Bearer …` (RFC 6750).
    Bearer(Secret),
    /// `{ basic = { user = "…", password = SECRET } }` (RFC 7617).
    Basic {
        /// The user, without a colon.
        user: String,
        /// The password.
        password: Secret,
    },
    /// `{ header = { name = "X-Api-Key", value = SECRET } }`.
    Header {
        /// The name of the header.
        name: String,
        /// The whole value of the header.
        value: Secret,
    },
}

/// A secret: `"literal"`, `{ env = "NAME" }` or `{ file = "path" }`. Read when what needs it is set up, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// The secret itself.
    Literal(String),
    /// The place of the secret.
    SecretPlace(SecretPlace),
}

/// Where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// An environment variable.
    Env(String),
    /// A file. One line end at its end is not part of the secret.
    File(PathBuf),
}

impl Secret {
    /// The secret itself: never for a log line, an error or a page.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn reveal(&self) -> Result<String, String> {
        let secret = match self {
            Self::Literal(text) => text.clone(),
            Self::SecretPlace(SecretPlace::Env(name)) => std::env::var(name)
                .map_err(|_| format!("the environment variable {name} is not set, or is not UTF-8"))?,
            Self::SecretPlace(SecretPlace::File(path)) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("the file {} cannot be read: {error}", path.display()))?;
                let line = text.strip_suffix('\n').unwrap_or(&text);
                line.strip_suffix('\r').unwrap_or(line).to_owned()
            }
        };
        if secret.is_empty() { Err("the secret is empty".to_owned()) } else { Ok(secret) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("***"),
            Self::SecretPlace(kept) => kept.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_secret_in_a_file_loses_one_line_end() {
        let path = std::env::temp_dir().join(format!("outbox-secret-{}", std::process::id()));
        std::fs::write(&path, "s3cret\r\n").unwrap();
        let secret = Secret::SecretPlace(SecretPlace::File(path.clone())).reveal();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(secret, Ok("s3cret".to_owned()));
        assert!(Secret::SecretPlace(SecretPlace::File(path)).reveal().unwrap_err().contains("cannot be read"));
    }
}
