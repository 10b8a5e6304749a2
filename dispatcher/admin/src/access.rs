//! Who may do what: the roles, the tokens that give them, and where none is needed.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use outbox_desk::Action;
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
    /// Ask questions, and send again what is there.
    Retry,
    /// Ask questions and make changes.
    Operate,
}

impl Role {
    /// The role that a change needs.
    pub(crate) const fn of(change: Action) -> Self {
        match change {
            Action::Redrive | Action::Replay | Action::Retry => Self::Retry,
            Action::Cancel | Action::Edit | Action::Undo | Action::Purge | Action::Prune => Self::Operate,
        }
    }

    /// The role in a word, for people.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Metrics => "scrapes",
            Self::Read => "reads only",
            Self::Retry => "sends again",
            Self::Operate => "operates",
        }
    }

    /// What a client of this role hears that asks for what it may not.
    pub(crate) const fn refused(self) -> &'static str {
        match self {
            Self::Metrics => "admin.metrics_token is for /metrics alone: all else needs another token",
            Self::Read => "admin.read_token only reads: changes need admin.token, or admin.retry_token to send again",
            Self::Retry => {
                "you may retry, redrive and replay: all else needs admin.token, and your name in admin.operators where that is set"
            }
            // It may everything.
            Self::Operate => "",
        }
    }
}

/// The tokens that give a role. Without any token, every client that reaches the listener may do everything.
#[derive(Clone, Default)]
pub struct Tokens {
    /// `admin.token`: may ask and change.
    pub operate: Option<Arc<str>>,
    /// `admin.retry_token`: may ask, and send again what is there.
    pub retry: Option<Arc<str>>,
    /// `admin.read_token`: may ask.
    pub read: Option<Arc<str>>,
    /// `admin.metrics_token`: may read the metrics.
    pub metrics: Option<Arc<str>>,
    /// Who of the people that a proxy names may do what their token allows. None: all.
    pub operators: Option<Operators>,
}

/// The people who operate, as a proxy names them. All others send again at most, whatever their token allows.
#[derive(Clone)]
pub struct Operators {
    /// `admin.user_header`.
    pub header: HeaderName,
    /// `admin.operators`.
    pub names: BTreeSet<String>,
}

impl Operators {
    /// The role of whoever is named in these headers, where their token gives this one. A program that comes by no proxy has no name.
    fn limit(&self, role: Role, headers: &HeaderMap) -> Role {
        let mut named = headers.get_all(&self.header).iter().map(|name| std::str::from_utf8(name.as_bytes()));
        let all_operate = named.all(|name| name.is_ok_and(|name| self.names.contains(name.trim())));
        if all_operate { role } else { role.min(Role::Retry) }
    }
}

impl Tokens {
    /// The tokens of the listener, by the settings.
    pub fn of(config: &Config) -> Self {
        Self::under(config, config.admin.user_header.as_ref())
    }

    /// The same, where the proxy names people by this header: that of the settings of the start, which only a restart changes.
    pub fn under(config: &Config, user_header: Option<&HeaderName>) -> Self {
        let token = |token: &Option<SecretText>| token.as_ref().map(|token| Arc::from(token.expose()));
        Self {
            operate: token(&config.admin.token),
            retry: token(&config.admin.retry_token),
            read: token(&config.admin.read_token),
            metrics: token(&config.admin.metrics_token),
            operators: user_header
                .cloned()
                .filter(|_| !config.admin.operators.is_empty())
                .map(|header| Operators { header, names: config.admin.operators.iter().cloned().collect() }),
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

    fn all(&self) -> [&Option<Arc<str>>; 4] {
        [&self.operate, &self.retry, &self.read, &self.metrics]
    }

    /// The role of the client that sends these headers.
    pub(crate) fn role(&self, headers: &HeaderMap) -> Option<Role> {
        self.role_by_token(headers).map(|role| self.limited(role, headers))
    }

    /// The same, whoever the person is that a proxy names.
    pub(crate) fn role_by_token(&self, headers: &HeaderMap) -> Option<Role> {
        if !self.needed() {
            return Some(Role::Operate);
        }
        self.role_of(headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).and_then(credentials)?)
    }

    /// What is left of a role where a proxy names the person.
    pub(crate) fn limited(&self, role: Role, headers: &HeaderMap) -> Role {
        self.operators.as_ref().map_or(role, |operators| operators.limit(role, headers))
    }

    /// The role that a text gives, where it is a token. The time that the comparison takes tells at most the length of a token.
    pub(crate) fn role_of(&self, shown: &[u8]) -> Option<Role> {
        let is = |token: &Option<Arc<str>>| token.as_ref().is_some_and(|token| shown.ct_eq(token.as_bytes()).into());
        // All are compared, whatever the first comparison says.
        match self.all().map(is) {
            [true, ..] => Some(Role::Operate),
            [_, true, ..] => Some(Role::Retry),
            [_, _, true, _] => Some(Role::Read),
            [.., true] => Some(Role::Metrics),
            [false, false, false, false] => None,
        }
    }
}

/// Says which tokens are set. Their text stays out of logs.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("operate", &self.operate.is_some())
            .field("retry", &self.retry.is_some())
            .field("read", &self.read.is_some())
            .field("metrics", &self.metrics.is_some())
            .finish_non_exhaustive()
    }
}

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
        let tokens = Tokens { operate: Some("s3cret".into()), read: Some("s3cret too".into()), ..Tokens::default() };
        let shown = format!("{tokens:?}");
        assert!(shown.contains("operate: true") && !shown.contains("s3cret"), "{shown}");
    }
}
