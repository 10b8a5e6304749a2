//! A client of the replica at one URL.

use std::fmt::Write as _;
use std::time::Duration;

use outbox_adapters::http::CLIENT_HEADER;
use outbox_admin::api::{CheckQuery, Kind, PREFIX, Page, Problem};
use outbox_console::check::CheckReport;
use outbox_console::explain::Explanation;
use outbox_console::health::replicas::ReplicaStatus;
use outbox_console::health::status::Status;
use outbox_desk::{AuditFilter, AuditPage, DeskError, OperationEntry, OperationPage};
use outbox_schema::MessageId;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::filtered::Filtered;

/// The longest time to connect to a replica.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The longest time for a question. A replica gives up on a question sooner.
const QUESTION_LIMIT: Duration = Duration::from_secs(40);

/// The longest time for a change.
pub(super) const CHANGE_LIMIT: Duration = Duration::from_mins(15);

/// A client of the replica at one URL.
#[derive(Debug, Clone)]
pub(crate) struct Replica {
    pub(super) base: Url,
    token: Option<HeaderValue>,
    client: Client,
}

/// The error of a request to a replica.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// No replica is at the URL, or the network is in the way.
    #[error("the replica at {url} does not answer: {source}{}", if *speaks_plainly { PLAIN } else { "" })]
    Unreachable {
        /// The URL of the replica.
        url: Url,
        /// The error of the HTTP client.
        source: reqwest::Error,
        /// Whether it was asked by TLS, and answers without.
        speaks_plainly: bool,
    },
    /// The request cannot be encoded.
    #[error("the request cannot be written: {0}")]
    Unasked(Box<dyn std::error::Error + Send + Sync>),
    /// The replica refused the request, and gave a reason.
    #[error("the replica at {url} says: {problem}")]
    Refused {
        /// The URL of the replica.
        url: Url,
        /// The problem that the replica names.
        problem: Box<Problem>,
    },
    /// The operator stopped a change: the replica ends it after its present batch.
    #[error("the replica was told to stop after its present batch")]
    Left,
    /// The server at the URL is no replica, or a replica of another release.
    #[error("{url} answers {status}, but not as an outbox replica of this release does: is it admin.listen of one?")]
    Foreign {
        /// The URL of the request.
        url: Url,
        /// The status code of the answer.
        status: StatusCode,
    },
}

/// The URL or the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplicaSetupError {
    /// The URL is not one of a replica. The error does not repeat the URL, since the URL may hold a password.
    #[error("--url: {reason}; it must be where admin.listen of a replica is reached, such as http://127.0.0.1:8640")]
    Url {
        /// The fault in the URL.
        reason: String,
    },
    /// No HTTP header can carry the token.
    #[error("the token of [admin] has characters that no HTTP header can carry")]
    Token,
    /// The HTTP client could not be made.
    #[error(transparent)]
    Client(#[from] reqwest::Error),
}

impl ReplicaSetupError {
    /// Whether the URL or the token is wrong. If not, this machine is the cause.
    pub(crate) fn is_misuse(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Token => true,
            Self::Client(_) => false,
        }
    }
}

/// The URL of a replica, to which paths are appended.
pub(crate) fn base(url: &str) -> Result<Url, ReplicaSetupError> {
    let wrong = |reason: &str| ReplicaSetupError::Url { reason: reason.to_owned() };
    let mut base = Url::parse(url).map_err(|why| wrong(&format!("this is not a URL: {why}")))?;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(wrong("it does not begin with http:// or https://"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(wrong("it has a user or a password in it, and a replica asks for admin.token instead"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(wrong("it has a query or a fragment, and paths are appended to it"));
    }
    base.set_path(base.path().trim_end_matches('/').to_owned().as_str());
    Ok(base)
}

impl Replica {
    /// A client of the replica at `url`. The client sends `token` where there is one.
    pub(crate) fn new(url: &str, token: Option<&str>) -> Result<Self, ReplicaSetupError> {
        let base = base(url)?;
        let token = match token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))) {
            Some(Ok(mut token)) => {
                token.set_sensitive(true);
                Some(token)
            }
            Some(Err(_)) => return Err(ReplicaSetupError::Token),
            None => None,
        };
        outbox_adapters::ensure_crypto_provider();
        // A redirect could send the token elsewhere.
        let client =
            Client::builder().no_proxy().redirect(redirect::Policy::none()).connect_timeout(CONNECT_LIMIT).build()?;
        Ok(Self { base, token, client })
    }

    /// Whether the token would cross a network unencrypted.
    pub(crate) fn sends_token_in_the_open(&self) -> bool {
        let is_near = match self.base.host() {
            Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        self.token.is_some() && self.base.scheme() == "http" && !is_near
    }

    /// The status of the outbox.
    pub(crate) async fn status(&self) -> Result<Status, DeskError> {
        Ok(self.ask("status", &()).await?)
    }

    /// Whether the replica can use all that its settings name.
    pub(crate) async fn check(&self, strict: bool) -> Result<CheckReport, DeskError> {
        Ok(self.ask("check", &CheckQuery { strict }).await?)
    }

    /// The replicas of the outbox.
    pub(crate) async fn replicas(&self) -> Result<Vec<ReplicaStatus>, DeskError> {
        Ok(self.ask("replicas", &()).await?)
    }

    /// A page of the audit.
    pub(crate) async fn audits(
        &self,
        filter: &AuditFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<AuditPage, DeskError> {
        let page = Page { after: after.map(|id| id.to_string()), limit: Some(limit) };
        Ok(self.ask("audit", &Filtered { filter, page }).await?)
    }

    /// A page of the operations.
    pub(crate) async fn operations(&self, after: Option<i64>, limit: u32) -> Result<OperationPage, DeskError> {
        let page = Page { after: after.map(|id| id.to_string()), limit: Some(limit) };
        Ok(self.ask("operations", &page).await?)
    }

    /// One operation.
    pub(crate) async fn operation(&self, id: i64) -> Result<Option<OperationEntry>, DeskError> {
        if_there(self.ask(&format!("operations/{id}"), &()).await)
    }

    /// Explains why a message has not been sent and why it was sent twice, by the replica's settings.
    pub(crate) async fn explain(&self, id: MessageId) -> Result<Option<Explanation>, DeskError> {
        if_there(self.ask(&format!("messages/{id}/explain"), &()).await)
    }

    /// Asks a question, with the fields of `query` as parameters.
    pub(super) async fn ask<T: DeserializeOwned>(&self, path: &str, query: &impl Serialize) -> Result<T, ReplicaError> {
        let mut url = self.url(path);
        // Without the query, the question would be about everything.
        let query = serde_urlencoded::to_string(query).map_err(|error| ReplicaError::Unasked(error.into()))?;
        url.set_query(Some(&query).filter(|query| !query.is_empty()).map(String::as_str));
        self.send(Method::GET, url, None, QUESTION_LIMIT).await
    }

    /// Asks a question that is too long for a URL, with `body` as JSON.
    pub(super) async fn ask_of<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ReplicaError> {
        self.send(Method::POST, self.url(path), Some(in_json(body)?), QUESTION_LIMIT).await
    }

    /// Asks for a change, with `body` as JSON.
    pub(super) async fn change<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ReplicaError> {
        self.send(Method::POST, self.url(path), Some(in_json(body)?), CHANGE_LIMIT).await
    }

    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{PREFIX}/{path}", self.base.path().trim_end_matches('/')));
        url
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
        limit: Duration,
    ) -> Result<T, ReplicaError> {
        let request = self.request(method, &url, body, limit).header(ACCEPT, "application/json");
        let answer = request.send().await.map_err(|source| self.unreachable(source))?;
        self.whole(&url, answer).await
    }

    pub(super) fn request(&self, method: Method, url: &Url, body: Option<Vec<u8>>, limit: Duration) -> RequestBuilder {
        let mut request = self.client.request(method, url.clone()).timeout(limit);
        request = request.header(CLIENT_HEADER, "1");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        request
    }

    pub(super) fn unreachable(&self, source: reqwest::Error) -> ReplicaError {
        let speaks_plainly = self.base.scheme() == "https" && is_no_tls(&source);
        ReplicaError::Unreachable { url: self.base.clone(), source: source.without_url(), speaks_plainly }
    }

    /// Reads an answer that is one JSON text.
    pub(super) async fn whole<T: DeserializeOwned>(&self, url: &Url, answer: Response) -> Result<T, ReplicaError> {
        let status = answer.status();
        let text = answer.bytes().await.map_err(|source| self.unreachable(source))?;
        let foreign = || ReplicaError::Foreign { url: url.clone(), status };
        if status.is_success() {
            return serde_json::from_slice(&text).map_err(|_| foreign());
        }
        let problem = serde_json::from_slice::<Problem>(&text).map_err(|_| foreign())?;
        Err(ReplicaError::Refused { url: self.base.clone(), problem: Box::new(problem) })
    }
}

/// What to do where TLS meets a listener without TLS, as every replica's own is.
const PLAIN: &str = ": it speaks plain HTTP, so write http:// (a proxy before it may speak TLS)";

/// Whether the answer to the greeting of TLS is none of TLS. The type of that error is one of rustls, deep in the causes.
fn is_no_tls(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if one.to_string().contains("InvalidContentType") {
            return true;
        }
        cause = one.source();
    }
    false
}

impl From<ReplicaError> for DeskError {
    fn from(error: ReplicaError) -> Self {
        Self::Elsewhere(Box::new(error))
    }
}

pub(super) fn in_json(body: &impl Serialize) -> Result<Vec<u8>, ReplicaError> {
    serde_json::to_vec(body).map_err(|error| ReplicaError::Unasked(error.into()))
}

/// A name as one segment of a path, <https://www.rfc-editor.org/rfc/rfc3986#section-2.1>.
pub(super) fn segment(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => segment.push(byte.into()),
            byte => drop(write!(segment, "%{byte:02X}")),
        }
    }
    segment
}

/// None where the replica answers that the thing is not there.
pub(super) fn if_there<T>(answer: Result<T, ReplicaError>) -> Result<Option<T>, DeskError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ReplicaError::Refused { problem, .. }) if problem.kind == Kind::NotThere => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_of_a_replica_is_refused_and_not_repeated() {
        for (url, said) in [
            ("http://me:s3cret@host", "a user or a password"),
            ("http://:s3cret@host", "a user or a password"),
            ("http://s3cret@host", "a user or a password"),
            ("me:s3cret@host", "does not begin with http"),
            ("http://me:s3/cret@host", "not a URL"),
            ("http://host?token=s3cret", "a query or a fragment"),
            ("s3cret", "not a URL"),
        ] {
            let refused = Replica::new(url, None).map_err(|error| (error.is_misuse(), error.to_string()));
            let is_right = |(misuse, why): &(bool, String)| *misuse && why.contains(said) && !why.contains("s3cret");
            assert!(refused.as_ref().is_err_and(is_right), "{url}: {refused:?}");
        }
    }

    #[test]
    fn paths_are_appended_to_the_url_of_a_replica() {
        for (url, asked) in [
            ("http://127.0.0.1:8640", "http://127.0.0.1:8640/api/v1/status"),
            ("https://proxy/outbox/", "https://proxy/outbox/api/v1/status"),
        ] {
            let asks = Replica::new(url, None).map(|replica| replica.url("status").to_string());
            assert!(asks.as_ref().is_ok_and(|asks| asks == asked), "{asks:?}");
        }
    }
}
