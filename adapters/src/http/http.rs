//! Delivery over HTTP: the payload is the body, unchanged.
//!
//! `kind` describes the kind to the program, `request` makes the request, `cloudevents` makes an event of it, `signing` signs
//! it, and `response` decides what its answer means. An answer 2xx means delivered, whatever becomes of its body. Redirects are
//! never followed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::rules::Rules;
use super::settings::Settings;
use super::signing::SIGNATURE;
use crate::adapter::{About, Adapter, Answer, Delivery};
use crate::retry_after::busy_for;
use crate::setup::{Setup, SetupError, connect_patience, kept, origin};
use crate::transport::connections::Connections;
use crate::transport::exchange::HeadAlone;
use crate::transport::network::resolver::Resolver;
use crate::transport::network::tls::Tls;
use crate::transport::network::{Guard, port_of};
use async_trait::async_trait;
use outbox_store::{DeadReason, Outcome};
use tokio::time::{Instant, timeout};
use url::Url;

/// A configured channel of kind `http`. Its requests share its connections, which are kept.
#[derive(Debug)]
pub struct HttpChannel {
    connections: Connections,
    guard: Arc<Guard>,
    composer: super::request::Composer,
    rules: Rules,
    timeout: Duration,
    at_most_once: bool,
    keeps_answers: bool,
}

impl HttpChannel {
    /// Sets the channel `name` up. `timeout` is the deadline of an attempt that has none of its own. `at_most_once` says that the
    /// channel's policy for rows in doubt is `dead_letter`. `own` is the address of the dispatcher's listener, which no message
    /// may reach.
    ///
    /// # Errors
    /// [`SetupError`] names the key and what is allowed.
    pub fn new(
        name: &str,
        settings: &Settings,
        timeout: Duration,
        at_most_once: bool,
        own: Option<SocketAddr>,
    ) -> Result<Self, SetupError> {
        let setup = Setup { channel: name };
        let guard = Arc::new(Guard {
            denied: settings.deny_networks.clone(),
            https_only: settings.https_only,
            ports: settings.ports.clone(),
            is_implied: settings.is_implied,
            ..Guard::new(name, &settings.allow_networks, own)
        });
        let composer = super::request::Composer::new(setup, settings, &guard)?;
        let plain = setup.tls(&settings.tls_ca, settings.tls_roots, &["h2", "http/1.1"])?;
        let tls = if settings.tls_cert.is_empty() {
            Tls::new(plain)
        } else {
            let certified = setup.certified(&plain, &settings.tls_cert, &settings.tls_key)?;
            Tls::new(plain).with_certificate(certified, composer.base().cloned())
        };
        let (patience, kept) = (connect_patience(timeout), kept(at_most_once, settings.max_connection_age));
        let connections = Connections::new(HeadAlone::MayBeActedUpon, Arc::clone(&guard), tls, patience, kept);
        let rules = Rules::new(settings);
        Ok(Self { connections, guard, composer, rules, timeout, at_most_once, keeps_answers: false })
    }

    /// The same channel, which also tells the beginning of the answer to a delivery where `keeps` is true.
    #[must_use]
    pub fn keeping_answers(self, keeps: bool) -> Self {
        Self { keeps_answers: keeps, ..self }
    }
}

#[async_trait]
impl Adapter for HttpChannel {
    async fn deliver(&self, delivery: Delivery) -> Answer {
        let deadline = Instant::now() + delivery.deadline.unwrap_or(self.timeout);
        let composed = match self.composer.compose(delivery, &self.guard) {
            Ok(composed) => composed,
            Err(refused) => return Answer::failed(Outcome::Dead { reason: DeadReason::Permanent }, refused),
        };
        let answered = match self.connections.send(&composed.request, deadline).await {
            Ok(answered) => answered,
            Err(no_answer) => return no_answer.into_answer(),
        };
        let status = answered.status();
        let knew = self.rules.knew(answered.headers());
        if status.is_success() && composed.request.recorder.is_none() && !self.keeps_answers {
            answered.drain(deadline).await;
            return Answer { known: knew, ..Answer::delivered(status.as_u16(), None) };
        }
        let read = answered.read(deadline).await;
        if status.is_success() {
            let excerpt = read.excerpt(&self.composer.secrets());
            return Answer { excerpt, known: knew, ..Answer::delivered(status.as_u16(), None) };
        }
        let asked = super::response::Asked {
            to: origin(&composed.request.url),
            authorized: composed.authorized,
            signed: self.composer.signs(),
            at_most_once: self.at_most_once,
            rules: &self.rules,
            channel: self.composer.channel(),
        };
        let (outcome, error) = super::response::judge(&read, asked);
        let known = matches!(outcome, Outcome::Delivered { .. });
        Answer {
            busy_for: busy_for(&outcome, &read.headers),
            about: if super::response::is_of_target(status) { About::Target } else { About::Unsaid },
            outcome,
            status_code: Some(status.as_u16()),
            error: Some(error).filter(|_| !known),
            excerpt: read.excerpt(&self.composer.secrets()),
            timed_out: false,
            known,
        }
    }

    fn examine(&self, delivery: Delivery) -> Result<String, String> {
        let mut request = self.composer.compose(delivery, &self.guard)?.request;
        for (name, value) in &mut request.headers {
            // For some minutes a signature is as good as the key.
            if *name == SIGNATURE || self.composer.is_own(name) {
                value.set_sensitive(true);
            }
        }
        Ok(request.as_curl())
    }

    async fn check(&self) -> Result<String, String> {
        let Some(base) = self.composer.base() else {
            return Ok("every target is a URL of its own; none was tried".to_owned());
        };
        let resolved = timeout(self.timeout, resolve(base, &self.guard)).await;
        let to = origin(base);
        match resolved {
            Ok(Ok(addresses)) => Ok(format!("{to} is at {}; it was not tried", addresses.join(", "))),
            Ok(Err(problem)) => Err(format!("{to}: {problem}")),
            Err(_) => Err(format!("{to}: its name was not resolved within {:?}", self.timeout)),
        }
    }
}

/// The addresses of a base URL that the channel may reach.
async fn resolve(base: &Url, guard: &Arc<Guard>) -> Result<Vec<String>, String> {
    let host = base.host_str().unwrap_or_default();
    let Some(name) = base.domain() else { return Ok(vec![host.to_owned()]) };
    let resolved = Resolver::new(Arc::clone(guard)).resolve(name, port_of(base)).await;
    let addresses = resolved.map_err(|error| error.to_string())?;
    let addresses: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
    if addresses.is_empty() { Err("its name has no address".to_owned()) } else { Ok(addresses) }
}
