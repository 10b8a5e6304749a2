//! Who may do what: the roles, the tokens that give them, and where none is needed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::listen_error::ListenError;
use outbox_config::{Config, SecretText, is_on_loopback};

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Read the metrics.
    Metrics,
    /// Ask questions.
    Read,
    /// Ask questions and make changes.
    Operate,
}

/// The tokens that give a role. Without any token, every client that reaches the listener may do everything.
#[derive(Clone, Default)]
pub struct Tokens {
    /// `admin.token`: may ask and change.
    pub operate: Option<Arc<str>>,
    /// `admin.read_token`: may ask.
    pub read: Option<Arc<str>>,
    /// `admin.metrics_token`: may read the metrics.
    pub metrics: Option<Arc<str>>,
}

impl Tokens {
    /// The tokens of the listener, by the settings.
    pub fn of(config: &Config) -> Self {
        let token = |token: &Option<SecretText>| token.as_ref().map(|token| Arc::from(token.expose()));
        Self {
            operate: token(&config.admin.token),
            read: token(&config.admin.read_token),
            metrics: token(&config.admin.metrics_token),
        }
    }

    /// Checks that the tokens are enough for a listener at this address.
    ///
    /// # Errors
    /// A token is empty, or there is none and other machines reach the listener.
    pub fn guard(&self, listen: SocketAddr) -> Result<(), ListenError> {
        if self.all().into_iter().flatten().any(|token| token.is_empty()) {
            return Err(ListenError::EmptyToken);
        }
        if !self.needed() && !is_on_loopback(listen) {
            return Err(ListenError::Exposed { listen });
        }
        Ok(())
    }

    /// Whether clients need a token.
    pub fn needed(&self) -> bool {
        self.all().into_iter().any(Option::is_some)
    }

    fn all(&self) -> [&Option<Arc<str>>; 3] {
        [&self.operate, &self.read, &self.metrics]
    }

    /// The role of the client that sends these headers.
    pub(crate) fn role(&self, headers: &HeaderMap) -> Option<Role> {
        if !self.needed() {
            return Some(Role::Operate);
        }
        self.role_of(headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).and_then(credentials)?)
    }

    /// The role that a text gives, where it is a token. The time that the comparison takes tells at most the length of a token.
    pub(crate) fn role_of(&self, shown: &[u8]) -> Option<Role> {
        let is = |token: &Option<Arc<str>>| token.as_ref().is_some_and(|token| shown.ct_eq(token.as_bytes()).into());
        // All are compared, whatever the first comparison says.
        match self.all().map(is) {
            [true, ..] => Some(Role::Operate),
            [_, true, _] => Some(Role::Read),
            [.., true] => Some(Role::Metrics),
            [false, false, false] => None,
        }
    }
}

/// Says which tokens are set. Their text stays out of logs.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("operate", &self.operate.is_some())
            .field("read", &self.read.is_some())
            .field("metrics", &self.metrics.is_some())
            .finish()
    }
}

/// What a client hears that may only read.
pub(crate) const ONLY_READS: &str = "admin.read_token only reads: changes need admin.token";

/// What a client without a token hears that asks by a name of the DNS.
pub(crate) const ANOTHER_NAME: &str =
    "without a token, ask by an IP address or as localhost: another name may be that of a page on the web";

/// Whether a request without a token was meant for this address. A web page can make its own name resolve to loopback.
/// Only this header then tells its requests from those of a person.
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// What follows `Bearer`, a word in which case does not matter (RFC 7235, 2.1).
fn credentials(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, credentials) = authorization.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_in_no_debug_output() {
        let tokens = Tokens { operate: Some("s3cret".into()), read: Some("s3cret too".into()), metrics: None };
        let shown = format!("{tokens:?}");
        assert!(shown.contains("operate: true") && !shown.contains("s3cret"), "{shown}");
    }
}
