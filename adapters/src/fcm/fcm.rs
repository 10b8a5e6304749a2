//! Delivery over the FCM HTTP v1 API: `POST {base_url}/v1/projects/{project}/messages:send`
//! (<https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send>).
//!
//! `kind` describes the kind to the program, `request` makes the body, `key_file` reads the key of a service account, `token`
//! keeps the access token, `response` decides what an answer means. FCM has no idempotency key. So a repeated request carries
//! ids that make it replace the first one on the device.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use outbox_schema::{FcmTarget, plain_name};
use outbox_store::{DeadReason, Outcome, Scope};
use tokio::time::Instant;
use url::Url;

use super::key_file::KeyFile;
use super::response::{CHANNEL_WAIT, Fault};
use super::settings::Settings;
use super::token::{Source, Token, Tokens};
use crate::adapter::{Adapter, Answer, Delivery, Permit};
use crate::recorder::Recorder;
use crate::setup::{Setup, SetupError, connect_patience, kept};
use crate::transport::connections::{Connections, Request};
use crate::transport::exchange::{HeadAlone, Read};
use crate::transport::network::Guard;
use crate::transport::network::tls::Tls;
use crate::transport::no_answer::NoAnswer;

/// How long the rate takes to rise from zero after a rest
/// (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>).
pub(crate) const RAMP_UP: Duration = Duration::from_mins(1);

/// How long a channel waits when it has no access token.
const NO_TOKEN_WAIT: Duration = Duration::from_secs(30);

/// A configured channel of kind `fcm`.
#[derive(Debug)]
pub struct FcmChannel {
    connections: Connections,
    send_url: Url,
    project: String,
    /// The kinds of targets that rows may name, and the setting that lists them.
    targets: super::request::Targets,
    tokens: Tokens,
    timeout: Duration,
    at_most_once: bool,
}

impl FcmChannel {
    /// Sets the channel `name` up without a request: the first delivery fetches the first token. `timeout` is the
    /// deadline of an attempt that has none of its own. `at_most_once` says that the channel's policy for rows in doubt is
    /// `dead_letter`. No row names where a message goes, so nothing keeps the channel from the dispatcher's own listener.
    ///
    /// # Errors
    /// [`SetupError`] names the key and what is allowed.
    pub fn new(name: &str, settings: &Settings, timeout: Duration, at_most_once: bool) -> Result<Self, SetupError> {
        let setup = Setup { channel: name };
        let guard = Arc::new(Guard::new(name, &settings.allow_networks, None));
        let base = setup.base_url(&settings.base_url, "`credentials`", &guard)?;
        let (source, project) = credentials(setup, settings, &base)?;
        let send_url = format!("{}/v1/projects/{project}/messages:send", base.as_str().trim_end_matches('/'));
        let send_url = Url::parse(&send_url).map_err(|error| setup.error("base_url", error.to_string()))?;
        let tls = Tls::new(setup.tls(&settings.tls_ca, settings.tls_roots, &["h2", "http/1.1"])?);
        let (patience, kept) = (connect_patience(timeout), kept(at_most_once, settings.max_connection_age));
        let connections = Connections::new(HeadAlone::MeansNothing, guard, tls, patience, kept);
        let targets = super::request::Targets::new(name, &settings.targets);
        Ok(Self { connections, send_url, project, targets, tokens: Tokens::new(source, base), timeout, at_most_once })
    }

    async fn send(&self, call: &Call, token: &Token, deadline: Instant) -> Result<Read, NoAnswer> {
        let Ok(mut bearer) = HeaderValue::try_from(format!("Bearer {}", token.secret)) else {
            return Err(NoAnswer::NotSent("the access token is not a header value: check credentials".to_owned()));
        };
        bearer.set_sensitive(true);
        Ok(self.connections.send(&self.request(call, bearer), deadline).await?.read(deadline).await)
    }

    fn request(&self, call: &Call, bearer: HeaderValue) -> Request {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer), (CONTENT_TYPE, json)]);
        let Call { body, permit, recorder } = call.clone();
        Request { method: Method::POST, url: self.send_url.clone(), headers, body, permit, recorder }
    }

    /// Sends a request, and sends it once more with a new token where FCM refused the kept one: it may have been
    /// revoked.
    async fn send_with_token(&self, call: &Call, deadline: Instant) -> Result<(Read, Arc<Token>), Answer> {
        let token = self.token(deadline).await?;
        let read = self.send(call, &token, deadline).await.map_err(unanswered)?;
        if read.status.is_success() || super::response::classify(&read) != Fault::Unauthenticated {
            return Ok((read, token));
        }
        self.tokens.forget(&token);
        let renewed = self.token(deadline).await?;
        match self.send(call, &renewed, deadline).await {
            Ok(read) => Ok((read, renewed)),
            // The answer of FCM to the first request then stands.
            Err(NoAnswer::NotPermitted) => Ok((read, token)),
            Err(no_answer) => Err(unanswered(no_answer)),
        }
    }

    async fn token(&self, deadline: Instant) -> Result<Arc<Token>, Answer> {
        self.tokens.get(deadline).await.map_err(|error| {
            let outcome = Outcome::Defer { scope: Scope::Channel, until: NO_TOKEN_WAIT };
            Answer::failed(outcome, format!("cannot get an access token; the channel waits: {error}"))
        })
    }

    fn answer(&self, read: &Read, token: &Token, target: &FcmTarget) -> Answer {
        let status_code = read.status.as_u16();
        if read.status.is_success() {
            return Answer::delivered(status_code, receipt(&read.body));
        }
        let fault = super::response::classify(read);
        let (outcome, error) = super::response::judge(read, fault, target, self.at_most_once);
        Answer {
            busy_for: super::response::busy_for(&outcome, fault, &read.headers),
            about: fault.about(read.status),
            outcome,
            status_code: Some(status_code),
            error: Some(error),
            excerpt: read.excerpt(&[&token.secret]),
            timed_out: false,
            known: false,
        }
    }
}

/// The request, without its token.
#[derive(Clone)]
struct Call {
    body: Bytes,
    permit: Arc<dyn Permit>,
    recorder: Option<Arc<dyn Recorder>>,
}

#[async_trait]
impl Adapter for FcmChannel {
    async fn deliver(&self, delivery: Delivery) -> Answer {
        let deadline = Instant::now() + delivery.deadline.unwrap_or(self.timeout);
        let composed = match super::request::compose(&delivery, &self.targets) {
            Ok(composed) => composed,
            Err(refused) => return Answer::failed(Outcome::Dead { reason: DeadReason::Permanent }, refused),
        };
        let Delivery { permit, recorder, .. } = delivery;
        let call = Call { body: Bytes::from(composed.body), permit, recorder };
        match self.send_with_token(&call, deadline).await {
            Ok((read, token)) => self.answer(&read, &token, &composed.target),
            Err(answer) => answer,
        }
    }

    fn examine(&self, delivery: Delivery) -> Result<String, String> {
        let composed = super::request::compose(&delivery, &self.targets)?;
        let Delivery { permit, recorder, .. } = delivery;
        let call = Call { body: Bytes::from(composed.body), permit, recorder };
        let mut bearer = HeaderValue::from_static("Bearer");
        bearer.set_sensitive(true);
        Ok(self.request(&call, bearer).as_curl())
    }

    async fn check(&self) -> Result<String, String> {
        let token = self.tokens.get(Instant::now() + self.timeout).await;
        match token {
            Ok(token) => {
                let minutes = token.remaining().as_secs() / 60;
                Ok(format!("project {}: has an access token for {minutes} more minutes", self.project))
            }
            Err(error) => Err(format!("project {}: cannot get an access token: {error}", self.project)),
        }
    }
}

fn unanswered(no_answer: NoAnswer) -> Answer {
    match no_answer {
        // Every message goes to the same place, so an unreachable place is no fault of the message.
        NoAnswer::Impossible(error) => {
            Answer::failed(Outcome::Defer { scope: Scope::Channel, until: CHANNEL_WAIT }, error)
        }
        NoAnswer::NotPermitted
        | NoAnswer::NotSent(_)
        | NoAnswer::Refused(_)
        | NoAnswer::InDoubt(_)
        | NoAnswer::TimedOut(_)
        | NoAnswer::Accepted(_) => no_answer.into_answer(),
    }
}

/// FCM's id of the accepted message, where the body has it. The message is delivered even without it.
fn receipt(body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Accepted {
        name: String,
    }
    let name = serde_json::from_slice::<Accepted>(body).ok()?.name;
    Some(name).filter(|name| name.len() <= 512 && !name.contains(char::is_control))
}

/// The source of tokens, and the project.
fn credentials(setup: Setup<'_>, settings: &Settings, base: &Url) -> Result<(Source, String), SetupError> {
    let mut project = settings.project_id.clone();
    let source = if settings.credentials.is_empty() {
        Source::Default
    } else {
        let path = PathBuf::from(&settings.credentials);
        let key = KeyFile::read(&path, base).map_err(|problem| setup.error("credentials", problem))?;
        if project.is_empty() {
            project = key.project_id.unwrap_or_default();
        }
        Source::KeyFile(path)
    };
    if project.is_empty() {
        return Err(setup.error("project_id", "is not set, and no credentials file names one: give the project's id"));
    }
    match check_project_id(&project) {
        Ok(()) => Ok((source, project)),
        Err(problem) => Err(setup.error("project_id", format!("{project:?}: {problem}; allowed is {PROJECT_ID}"))),
    }
}

/// The characters that [`check_project_id`] allows, in words.
pub(crate) const PROJECT_ID: &str = "lower-case letters, digits, \"-\", \".\" and \":\"";

/// A length in bytes that no project id exceeds.
const PROJECT_ID_LONGEST: usize = 128;

/// Checks the id of a Google project. Older ids such as `domain.com:project` are allowed too
/// (<https://cloud.google.com/resource-manager/docs/creating-managing-projects>).
///
/// # Errors
/// What the id must not contain.
pub(crate) fn check_project_id(id: &str) -> Result<(), String> {
    plain_name::check(id, PROJECT_ID_LONGEST, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::receipt;

    proptest! {
        #[test]
        fn whatever_fcm_answers_a_receipt_is_a_short_text_on_one_line(
            body in proptest::collection::vec(any::<u8>(), 0..200), name in ".{0,600}",
        ) {
            for body in [body, serde_json::json!({ "name": name }).to_string().into_bytes()] {
                let fits = |receipt: String| receipt.len() <= 512 && !receipt.contains(char::is_control);
                prop_assert!(receipt(&body).is_none_or(fits));
            }
        }
    }
}
