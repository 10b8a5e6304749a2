//! From a message to a request. [`Composer::new`] prepares all that is the same for each request of a channel.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use outbox_schema::origin::check_plain;
use url::Url;

use super::headers::IDEMPOTENCY_KEY;
use super::settings::{Auth, AuthTo, Body, CloudEvents, IdempotencyKey, Method, Settings, Targets};
use super::signing::{self, Signer};
use super::{cloudevents, headers};
use crate::adapter::Delivery;
use crate::setup::{Setup, SetupError, origin};
use crate::transport::connections::Request;
use crate::transport::network::Guard;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The longest URL that the HTTP library accepts (`http::Uri`). Most servers accept less.
const URL_BYTES: usize = 65_534;

/// Makes the requests of one channel.
#[derive(Debug)]
pub(super) struct Composer {
    method: hyper::Method,
    base: Option<Url>,
    targets: Targets,
    headers: HeaderMap,
    /// The headers that rows may set. None: any.
    row_headers: Option<Vec<String>>,
    credential: Option<Credential>,
    auth_to: AuthTo,
    /// Whether the channel shows a certificate to the origin of `base`.
    certified: bool,
    signer: Option<Signer>,
    idempotency_key: IdempotencyKey,
    body: Body,
    cloudevents: CloudEvents,
    /// `channels.NAME`, for errors that say what to mend.
    channel: String,
}

/// The header of the channel's `auth`.
struct Credential {
    name: HeaderName,
    value: HeaderValue,
    /// The parts of the header that must not be shown, should a server echo them.
    secrets: Vec<String>,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) request: Request,
    /// Whether the request carries the channel's credential, or goes to the server that its certificate is for.
    pub(super) authorized: bool,
}

impl Composer {
    pub(super) fn new(setup: Setup<'_>, settings: &Settings, guard: &Guard) -> Result<Self, SetupError> {
        let base = match settings.base_url.as_str() {
            "" => None,
            text => Some(setup.base_url(text, "`auth`", guard)?),
        };
        let headers = headers::of_channel(settings).map_err(|problem| setup.error("headers", problem))?;
        let credential = settings.auth.as_ref().map(|auth| credential(setup, auth)).transpose()?;
        let signer = Signer::new(&settings.signing_keys).map_err(|problem| setup.error("signing_keys", problem))?;
        let method = match settings.method {
            Method::Post => hyper::Method::POST,
            Method::Put => hyper::Method::PUT,
            Method::Patch => hyper::Method::PATCH,
        };
        let (idempotency_key, channel) = (settings.idempotency_key, format!("channels.{}", setup.channel));
        let (body, cloudevents, certified) = (settings.body, settings.cloudevents, !settings.tls_cert.is_empty());
        let (targets, auth_to, row_headers) = (settings.targets, settings.auth_to, settings.row_headers.clone());
        Ok(Self {
            method,
            base,
            targets,
            headers,
            row_headers,
            credential,
            auth_to,
            certified,
            signer,
            idempotency_key,
            body,
            cloudevents,
            channel,
        })
    }

    /// Whether the channel sets this header to a value of its settings, which may be a key.
    pub(super) fn is_own(&self, name: &HeaderName) -> bool {
        self.headers.contains_key(name) && *name != CONTENT_TYPE
    }

    /// The URL under which a target that is not a URL is resolved.
    pub(super) fn base(&self) -> Option<&Url> {
        self.base.as_ref()
    }

    /// Whether the channel signs its requests.
    pub(super) fn signs(&self) -> bool {
        self.signer.is_some()
    }

    /// `channels.NAME`, for errors that name a setting.
    pub(super) fn channel(&self) -> &str {
        &self.channel
    }

    /// Texts that no excerpt may show.
    pub(super) fn secrets(&self) -> Vec<&str> {
        self.credential.iter().flat_map(|credential| &credential.secrets).map(String::as_str).collect()
    }

    /// The request for a message. The error says what is wrong with its row and what to do about it.
    pub(super) fn compose(&self, delivery: Delivery, guard: &Guard) -> Result<Composed, String> {
        let url = self.url(&delivery)?;
        guard.check(&url).map_err(|forbidden| format!("the target cannot be reached: {forbidden}"))?;
        let credential = self.credential.as_ref().filter(|_| self.auth_to == AuthTo::Any || self.is_of_base(&url));
        let mut headers = self.headers.clone();
        if let Some(row) = &delivery.headers {
            headers::overlay(&mut headers, row, |name| self.permit(name))?;
        }
        let known = cloudevents::Known {
            key: &delivery.idempotency_key,
            created_at: delivery.created_at,
            channel: &self.channel,
        };
        let mut body = self.body(delivery.payload)?;
        match self.cloudevents {
            CloudEvents::Off => (),
            CloudEvents::Binary => cloudevents::binary(&mut headers, known)?,
            CloudEvents::Structured => body = cloudevents::structured(&mut headers, &body, known)?,
        }
        if let Some(credential) = credential {
            headers.insert(credential.name.clone(), credential.value.clone());
        }
        if let Some(key) = self.idempotency_key(&delivery.idempotency_key)? {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if let Some(signer) = &self.signer {
            signer.sign(&mut headers, &delivery.idempotency_key, SystemTime::now(), body.as_bytes())?;
        }
        // A trace context that is no header value is no reason not to deliver.
        for (name, value) in [(TRACEPARENT, &delivery.traceparent), (TRACESTATE, &delivery.tracestate)] {
            if let Some(value) = value.as_ref().and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let (permit, recorder) = (delivery.permit, delivery.recorder);
        let request = Request { method: self.method.clone(), url, headers, body: Bytes::from(body), permit, recorder };
        // Without a base_url any server may be asked, and few servers ask for a certificate.
        let certified = self.certified && self.is_of_base(&request.url);
        Ok(Composed { request, authorized: credential.is_some() || certified })
    }

    fn body(&self, payload: String) -> Result<String, String> {
        match self.body {
            Body::Json => Ok(payload),
            Body::Text => serde_json::from_str(&payload).map_err(|_| {
                format!("the payload is no text: {}.body is \"text\", so write the body as a JSON string", self.channel)
            }),
        }
    }

    /// Whether this URL has the origin of the channel's `base_url`. The credential goes there alone, unless `auth_to` says
    /// otherwise: a row must not be able to send it elsewhere.
    fn is_of_base(&self, url: &Url) -> bool {
        self.base.as_ref().is_some_and(|base| base.origin() == url.origin())
    }

    /// Whether a row may set this header. The error names the setting that is against it.
    fn permit(&self, name: &HeaderName) -> Result<(), String> {
        let of_auth = |credential: &Credential| *name == credential.name || *name == AUTHORIZATION;
        let owner = if self.credential.as_ref().is_some_and(of_auth) {
            "the channel's auth"
        } else if *name == IDEMPOTENCY_KEY && self.idempotency_key != IdempotencyKey::Off {
            "the channel (idempotency_key is not \"off\")"
        } else if self.signer.is_some() && signing::HEADERS.contains(name) {
            "the channel's signing_keys"
        } else {
            let listed = |all: &Vec<String>| all.iter().any(|one| one.eq_ignore_ascii_case(name.as_str()));
            return if self.row_headers.as_ref().is_none_or(listed) {
                Ok(())
            } else {
                Err(format!("the header {name} is not among {}.row_headers: leave it out of the row", self.channel))
            };
        };
        Err(format!("the header {name} is set by {owner}: leave it out of the row"))
    }

    fn url(&self, delivery: &Delivery) -> Result<Url, String> {
        let target = delivery.target.as_str();
        // The URL parser would drop tabs and line ends. The request would then go to another URL than the written one.
        if target.contains(|c: char| c.is_control() || c == ' ') {
            return Err("the target holds a space or a control character: percent-encode it".to_owned());
        }
        if self.targets == Targets::Paths && !is_plain_path(target) {
            return Err(format!(
                "{}.targets is \"paths\": write a path below its base_url, without dot segments, \";\", \"\\\" and \
                 encoded slashes, like /orders/created",
                self.channel
            ));
        }
        let url = match (Url::parse(target), &self.base) {
            (Ok(url), _) => url,
            (Err(url::ParseError::RelativeUrlWithoutBase), Some(base)) => return fitting(under(base, target)?),
            (Err(url::ParseError::RelativeUrlWithoutBase), None) => {
                return Err(format!(
                    "the target is not a URL: write one like https://host/path, or give {}.base_url",
                    self.channel
                ));
            }
            (Err(error), _) => {
                return Err(format!("the target is not a URL ({error}): write one like https://host/path"));
            }
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the target has the scheme {:?}: only http and https are spoken", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("the target holds a user or a password: leave them out and set {}.auth", self.channel));
        }
        check_plain(&url, Some(&delivery.destination))?;
        fitting(url)
    }

    fn idempotency_key(&self, key: &str) -> Result<Option<HeaderValue>, String> {
        let value = match self.idempotency_key {
            IdempotencyKey::Off => return Ok(None),
            IdempotencyKey::Quoted => quoted(key).and_then(|text| HeaderValue::try_from(text).ok()),
            IdempotencyKey::Bare => HeaderValue::from_bytes(key.as_bytes()).ok(),
        };
        value.map(Some).ok_or_else(|| {
            format!(
                "the idempotency key cannot be sent as a header: use printable ASCII, or set {}.idempotency_key = \
                 \"bare\" (any text without control characters) or \"off\"",
                self.channel
            )
        })
    }
}

fn fitting(url: Url) -> Result<Url, String> {
    let bytes = url.as_str().len();
    if bytes > URL_BYTES {
        return Err(format!("the target is too long: it is {bytes} bytes as a URL, {URL_BYTES} are allowed"));
    }
    Ok(url)
}

/// Whether a target is a path, and every server reads the same segments in it. Some decode what is encoded, once or twice,
/// and some leave out what follows a semicolon; what they then find must not lead out of `base_url`.
fn is_plain_path(target: &str) -> bool {
    const READ_DIFFERENTLY: [&str; 6] = [";", "\\", "%2f", "%5c", "%3b", "%25"];
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let path = target[..end].to_ascii_lowercase();
    let dots = path.replace("%2e", ".");
    Url::parse(target).is_err()
        && !READ_DIFFERENTLY.iter().any(|text| path.contains(text))
        && !dots.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// A target that is a path, under the base URL, whatever it begins with.
fn under(base: &Url, target: &str) -> Result<Url, String> {
    let root = base.as_str().trim_end_matches('/');
    let path = target.strip_prefix('/').unwrap_or(target);
    let text = if path.is_empty() { base.as_str().to_owned() } else { format!("{root}/{path}") };
    let url = Url::parse(&text)
        .map_err(|error| format!("the target is not a path ({error}): write one like /orders/created"))?;
    // `..` has been resolved already, in any spelling.
    let inside =
        url.path() == base.path() || url.path().starts_with(&format!("{}/", base.path().trim_end_matches('/')));
    if url.origin() == base.origin() && inside {
        Ok(url)
    } else {
        Err(format!("the target leaves the base_url of its channel at {}: write it without \"..\"", origin(base)))
    }
}

/// The key as a structured-field string (RFC 8941, 3.3.3). None where it holds anything but printable ASCII.
fn quoted(key: &str) -> Option<String> {
    if !key.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return None;
    }
    Some(format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn credential(setup: Setup<'_>, auth: &Auth) -> Result<Credential, SetupError> {
    let refuse = |problem: String| setup.error("auth", problem);
    let (name, text, secrets) = match auth {
        Auth::Bearer(token) => {
            let token = token.reveal().map_err(refuse)?;
            (AUTHORIZATION, format!("Bearer {token}"), vec![token])
        }
        Auth::Basic { user, password } => {
            if user.contains(':') {
                return Err(refuse("the user of basic holds a colon, which ends a user: remove it".to_owned()));
            }
            let password = password.reveal().map_err(refuse)?;
            let encoded = STANDARD.encode(format!("{user}:{password}"));
            (AUTHORIZATION, format!("Basic {encoded}"), vec![password, encoded])
        }
        Auth::Header { name, value } => {
            let value = value.reveal().map_err(refuse)?;
            let (name, _) = headers::parse(name, &value).map_err(refuse)?;
            (name, value.clone(), vec![value])
        }
    };
    let mut value = HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| refuse("the secret holds a control character: check for a line end within it".to_owned()))?;
    value.set_sensitive(true);
    Ok(Credential { name, value, secrets })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_target_stays_under_the_base_url() {
        for (base, target, url) in [
            ("https://a.example", "/x", "https://a.example/x"),
            ("https://a.example/", "x", "https://a.example/x"),
            ("https://a.example/v1", "/x", "https://a.example/v1/x"),
            ("https://a.example/v1/", "x?y=1", "https://a.example/v1/x?y=1"),
            ("https://a.example/v1", "", "https://a.example/v1"),
            ("https://a.example/v1", "/", "https://a.example/v1"),
            ("https://a.example/v1", "//evil.example/x", "https://a.example/v1//evil.example/x"),
            ("https://a.example/v1", "\\\\evil.example/x", "https://a.example/v1///evil.example/x"),
            ("https://a.example/v1", "a/../b", "https://a.example/v1/b"),
        ] {
            let joined = under(&Url::parse(base).unwrap(), target).map(String::from);
            assert_eq!(joined.as_deref(), Ok(url), "{target} under {base}");
        }
    }

    #[test]
    fn a_plain_path_is_one_that_all_servers_read_alike() {
        for target in ["", "/", "x", "/orders/created", "orders?a=b/../c;d", "/a..b/...", "/%41", "/x#../y", "//host/x"]
        {
            assert!(is_plain_path(target), "{target}");
        }
        for target in [
            "https://a.example/v1/x",
            "http:/a.example/x",
            "javascript:x",
            "/..",
            "../admin",
            "/a/./b",
            "/%2e%2e/admin",
            "/.%2E/admin",
            "/..%2f..%2fadmin",
            "/..;/admin",
            "/..%3b/admin",
            "/a;b=c",
            "/a%2Fb",
            "/a%5cb",
            "\\\\host\\x",
            "/%252e%252e/admin",
        ] {
            assert!(!is_plain_path(target), "{target}");
        }
    }

    #[test]
    fn a_path_target_cannot_leave_the_base_url() {
        let base = Url::parse("https://a.example/v1").unwrap();
        for target in ["/../admin", "../v2", "x/%2e%2e/../../admin", "/..", "..\\admin", "../v1x"] {
            let refused = under(&base, target).expect_err(target);
            assert!(refused.contains("leaves the base_url"), "{refused}");
        }
    }

    #[test]
    fn a_quoted_key_is_a_structured_field_string() {
        assert_eq!(quoted("order-1").as_deref(), Some("\"order-1\""));
        assert_eq!(quoted(r#"a"b\c"#).as_deref(), Some(r#""a\"b\\c""#));
        assert_eq!(quoted("zoë"), None);
        assert_eq!(quoted("a\r\nb"), None);
    }
}
