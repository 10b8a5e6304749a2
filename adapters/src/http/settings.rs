//! The settings of a channel of kind `http`: `[channels.NAME]`. The dispatcher reads and checks them (`config/check/channel.rs`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ipnet::IpNet;

/// `[channels.NAME]` of kind `http`. Every value comes from the settings file or the embedded default file.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// What a target that is not a URL is resolved under: `https://host/path`. Empty: every target is a URL.
    pub base_url: String,
    /// The method of every request.
    pub method: Method,
    /// Headers of every request. A row's own header of the same name takes its place.
    pub headers: BTreeMap<String, String>,
    /// The channel's credential. With a `base_url` it is sent to the origin of that only.
    pub auth: Option<Auth>,
    /// Keys that each request is signed with (Standard Webhooks 1.0). None: it is not signed.
    pub signing_keys: Vec<Secret>,
    /// How the message's idempotency key is sent.
    pub idempotency_key: IdempotencyKey,
    /// What of the payload is the body.
    pub body: Body,
    /// Whether messages are sent as events.
    pub cloudevents: CloudEvents,
    /// Networks that are not public and that this channel may reach all the same.
    pub allow_networks: Vec<IpNet>,
    /// A PEM file of certificate authorities trusted besides the system's. Empty: none.
    pub tls_ca: String,
    /// A PEM file of the channel's certificate, and of those between it and its authority. With a `base_url` it is shown to the
    /// origin of that only. Empty: none.
    pub tls_cert: String,
    /// The PEM file of its private key.
    pub tls_key: String,
}

impl fmt::Debug for Settings {
    /// Without the values of headers: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            base_url,
            method,
            headers,
            auth,
            signing_keys,
            idempotency_key,
            body,
            cloudevents,
            allow_networks,
            tls_ca,
            tls_cert,
            tls_key,
        } = self;
        f.debug_struct("Settings")
            .field("base_url", base_url)
            .field("method", method)
            .field("headers", &headers.keys())
            .field("auth", auth)
            .field("signing_keys", signing_keys)
            .field("idempotency_key", idempotency_key)
            .field("body", body)
            .field("cloudevents", cloudevents)
            .field("allow_networks", allow_networks)
            .field("tls_ca", tls_ca)
            .field("tls_cert", tls_cert)
            .field("tls_key", tls_key)
            .finish()
    }
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

/// How the idempotency key is sent: the header `Idempotency-Key`
/// (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyKey {
    /// As the draft says: a structured-field string (RFC 8941, 3.3.3), `"key"`. The key must be printable ASCII.
    Quoted,
    /// As it is, the way most receivers took it before the draft: `key`.
    Bare,
    /// Not at all: rows may set the header themselves.
    Off,
}

/// What of the payload is the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// The JSON of the payload, as the database returns it.
    Json,
    /// The text that the payload, a JSON string, stands for: XML, a form, or a body that was signed.
    Text,
}

/// Whether messages are sent as events of `CloudEvents` 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudEvents {
    /// They are not: headers that begin with `ce-` are headers as others.
    Off,
    /// In binary mode: the payload is the body, the attributes of the event are headers.
    Binary,
    /// In structured mode: the body is the whole event in JSON, with the payload as its data.
    Structured,
}

/// The credential of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `{ bearer = SECRET }`: `Authorization: Bearer …` (RFC 6750).
    Bearer(Secret),
    /// `{ basic = { user = "…", password = SECRET } }` (RFC 7617).
    Basic {
        /// Without a colon.
        user: String,
        /// The password.
        password: Secret,
    },
    /// `{ header = { name = "X-Api-Key", value = SECRET } }`.
    Header {
        /// The header's name.
        name: String,
        /// The header's whole value.
        value: Secret,
    },
}

/// A secret: `"literal"`, `{ env = "NAME" }` or `{ file = "path" }`. Read when the channel is set up, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// The secret itself.
    Literal(String),
    /// Where it is kept.
    Kept(Kept),
}

/// Where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// An environment variable.
    Env(String),
    /// A file; one line end at its end is not part of the secret.
    File(PathBuf),
}

impl Secret {
    /// The secret itself; else why it cannot be had.
    pub(super) fn reveal(&self) -> Result<String, String> {
        let secret = match self {
            Self::Literal(text) => text.clone(),
            Self::Kept(Kept::Env(name)) => std::env::var(name)
                .map_err(|_| format!("the environment variable {name} is not set, or is not UTF-8"))?,
            Self::Kept(Kept::File(path)) => {
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
            Self::Kept(kept) => kept.fmt(f),
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
        let secret = Secret::Kept(Kept::File(path.clone())).reveal();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(secret, Ok("s3cret".to_owned()));
        assert!(Secret::Kept(Kept::File(path)).reveal().unwrap_err().contains("cannot be read"));
    }
}
