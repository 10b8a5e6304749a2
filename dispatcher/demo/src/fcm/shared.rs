//! What the stand-in knows and how it is told to behave.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::answer::{Refusal, refusal};
use super::message::{self, Message};
use super::tokens::{PROJECT, Tokens};

/// How it behaves. What is left out stays as it is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// How long an answer takes, in milliseconds.
    pub latency_ms: Option<u64>,
    /// Whether the token endpoint answers 503.
    pub tokens_down: Option<bool>,
    /// For how many seconds access tokens hold that are handed out from now on.
    pub token_seconds: Option<u64>,
    /// Revokes every access token.
    #[serde(default)]
    pub revoke: bool,
    /// Sends GOAWAY on every connection.
    #[serde(default)]
    pub goaway: bool,
    /// Closes connections that were idle for so many milliseconds; 0: never.
    pub idle_ms: Option<u64>,
    /// A quota: only so many sends in each window.
    pub quota: Option<Quota>,
}

/// So many sends in a window; further ones are answered 429.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// 0: every send is refused. None: there is no quota.
    pub sends: Option<u32>,
    /// Length of the window, in milliseconds.
    pub window_ms: u64,
    /// `Retry-After`, in seconds, if it is sent.
    pub retry_after: Option<u32>,
}

/// A send, as it came and was answered.
#[derive(Debug, Clone, Serialize)]
pub struct Received {
    /// `data.idempotency_key`.
    pub key: String,
    /// `token:abc`; empty where the message could not be read.
    pub target: String,
    /// What it was answered.
    pub status: u16,
    /// `errorCode`, empty where it was accepted or FCM had no part in the answer.
    pub code: String,
    /// The message, where it could be read.
    pub message: Value,
    /// When it came.
    #[serde(skip)]
    pub arrived: Instant,
}

/// What stands on the screen of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// A later one with the same tag takes its place.
    pub tag: Option<String>,
    /// What it says.
    pub notification: Value,
}

/// Counts, as `GET /control` tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Sends, however they were answered.
    pub received: usize,
    /// Sends that were answered 200.
    pub accepted: usize,
    /// Requests of access tokens.
    pub tokens_asked: usize,
    /// Connections so far.
    pub connections: usize,
    /// Connections now.
    pub open_connections: usize,
    /// Most connections at one time.
    pub most_connections: usize,
}

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) goaway: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    tokens: Tokens,
    latency: Duration,
    idle: Option<Duration>,
    quota: Option<Window>,
    received: Vec<Received>,
    by_key: HashMap<String, usize>,
    screens: HashMap<String, Vec<Shown>>,
    connections: usize,
    open_connections: usize,
    most_connections: usize,
}

#[derive(Debug)]
struct Window {
    quota: Quota,
    began: Instant,
    sent: u32,
}

impl Shared {
    pub(super) fn new(tokens: Tokens, latency: Duration) -> Arc<Self> {
        let state = State {
            tokens,
            latency,
            idle: None,
            quota: None,
            received: Vec::new(),
            by_key: HashMap::new(),
            screens: HashMap::new(),
            connections: 0,
            open_connections: 0,
            most_connections: 0,
        };
        Arc::new(Self { state: Mutex::new(state), goaway: watch::channel(0).0 })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn grant(&self, form: &[u8]) -> (u16, Value) {
        self.state().tokens.grant(form)
    }

    pub(super) fn key_file(&self) -> String {
        self.state().tokens.key_file()
    }

    pub(super) fn latency(&self) -> Duration {
        self.state().latency
    }

    pub(super) fn idle_limit(&self) -> Option<Duration> {
        self.state().idle
    }

    /// Counts a connection until what is returned is dropped.
    pub(super) fn connected(self: &Arc<Self>) -> Connected {
        let mut state = self.state();
        state.connections += 1;
        state.open_connections += 1;
        state.most_connections = state.most_connections.max(state.open_connections);
        Connected(self.clone())
    }

    pub(super) fn behave(&self, behaviour: &Behaviour) {
        let mut state = self.state();
        if let Some(latency) = behaviour.latency_ms {
            state.latency = Duration::from_millis(latency);
        }
        if let Some(is_down) = behaviour.tokens_down {
            state.tokens.is_down = is_down;
        }
        if let Some(lifetime) = behaviour.token_seconds {
            state.tokens.lifetime = Duration::from_secs(lifetime);
        }
        if behaviour.revoke {
            state.tokens.revoke();
        }
        if let Some(idle) = behaviour.idle_ms {
            state.idle = (idle > 0).then(|| Duration::from_millis(idle));
        }
        if let Some(quota) = behaviour.quota {
            state.quota = quota.sends.map(|_| Window { quota, began: Instant::now(), sent: 0 });
        }
        drop(state);
        if behaviour.goaway {
            self.goaway.send_modify(|times| *times += 1);
        }
    }

    /// Takes a send: the name of the message, or why it is refused. What is counted here, counts, whether or not the
    /// sender learns of it.
    pub(super) fn take(&self, project: &str, authorization: Option<&str>, body: &[u8]) -> Result<String, Refusal> {
        let read = message::read(body);
        let mut state = self.state();
        let answer = state.judge(project, authorization, &read);
        let (status, code) = match &answer {
            Ok(_) => (200, String::new()),
            Err(refusal) => (refusal.status, refusal.code.clone()),
        };
        let (key, target, message) = match &read {
            Ok(message) => (message.key(), format!("{}:{}", message.kind, message.target), message.fields.clone()),
            Err(_) => (String::new(), String::new(), Value::Null),
        };
        if status == 200 {
            *state.by_key.entry(key.clone()).or_default() += 1;
        }
        state.received.push(Received { key, target, status, code, message, arrived: Instant::now() });
        answer
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    pub(super) fn accepted(&self) -> HashMap<String, usize> {
        self.state().by_key.clone()
    }

    pub(super) fn shown_on(&self, target: &str) -> Vec<Shown> {
        self.state().screens.get(target).cloned().unwrap_or_default()
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.state();
        Counts {
            received: state.received.len(),
            accepted: state.by_key.values().sum(),
            tokens_asked: state.tokens.asked,
            connections: state.connections,
            open_connections: state.open_connections,
            most_connections: state.most_connections,
        }
    }
}

impl State {
    fn judge(
        &mut self,
        project: &str,
        authorization: Option<&str>,
        read: &Result<Message, Refusal>,
    ) -> Result<String, Refusal> {
        if !self.tokens.permits(authorization) {
            return Err(Refusal::unauthenticated());
        }
        if project != PROJECT {
            return Err(Refusal::google(403, "PERMISSION_DENIED", "Permission denied on resource project."));
        }
        if let Some(window) = &mut self.quota
            && !window.has_room()
        {
            return Err(Refusal::quota("project:demo-project", window.quota.retry_after));
        }
        let message = read.as_ref().map_err(Clone::clone)?;
        let target = format!("{}:{}", message.kind, message.target);
        let is_first = || !self.received.iter().any(|earlier| earlier.target == target);
        if let Some(refusal) = refusal(&message.target, is_first) {
            return Err(refusal);
        }
        if let Some(notification) = message.notification() {
            let screen = self.screens.entry(target).or_default();
            let tag = message.tag();
            screen.retain(|shown| tag.is_none() || shown.tag != tag);
            screen.push(Shown { tag, notification });
        }
        Ok(format!("projects/{PROJECT}/messages/{}", self.received.len() + 1))
    }
}

impl Window {
    fn has_room(&mut self) -> bool {
        if self.began.elapsed() >= Duration::from_millis(self.quota.window_ms) {
            (self.began, self.sent) = (Instant::now(), 0);
        }
        self.sent += 1;
        self.quota.sends.is_none_or(|sends| self.sent <= sends)
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connected(Arc<Shared>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.state().open_connections -= 1;
    }
}
