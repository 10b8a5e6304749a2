//! A message to enqueue.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::fcm;
use super::invalid::InvalidMessage;
use super::payload::Payload;
use crate::enqueue::fcm::{FcmTarget, Fields};
use crate::{Tags, TraceContext};

/// A message for [`enqueue`](crate::enqueue()). Only its channel, target and payload are required.
///
/// ```
/// use outbox_schema::{FcmTarget, NewMessage};
/// use std::time::Duration;
///
/// let order = serde_json::json!({ "order": 4711, "state": "shipped" });
/// let webhook = NewMessage::http("https://shop.example/hooks/orders")
///     .json(&order)
///     .idempotency_key("order-4711-shipped")
///     .ordering_key("order-4711");
/// let push = NewMessage::fcm(FcmTarget::Token("fGz1…".to_owned()))
///     .notification("On its way", "Order 4711 has been shipped")
///     .data("order", "4711")
///     .expires_in(Duration::from_hours(1));
/// # webhook.validate().unwrap();
/// ```
///
/// The setters may be called in any order. Nothing is checked before [`NewMessage::validate`].
///
/// Two messages are equal where everything that was set is equal, and bodies are compared as text. So a test can
/// compare the message that your code would enqueue.
#[derive(Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub(crate) kind: Kind,
    pub(crate) channel: String,
    pub(crate) target: String,
    pub(crate) payload: Payload,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) ordering_key: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) tags: Tags,
    pub(crate) priority: u8,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) due: Option<SendTime>,
    pub(crate) expires: Option<SendTime>,
    pub(crate) trace: Option<TraceContext>,
}

/// How the message was begun, which decides how much of it can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A message for any channel, whose kind is not known here.
    Any,
    /// A message for a channel of the kind `http`.
    Http,
    /// A message for a channel of the kind `fcm`.
    Fcm,
}

/// A point in time, as the application gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendTime {
    /// This long after the insert, by the database's clock.
    After(Duration),
    /// A time of the calendar.
    At(SystemTime),
}

impl NewMessage {
    /// A message whose payload is JSON text already. It reaches the database unchanged.
    pub fn new(channel: impl Into<String>, target: impl Into<String>, payload: impl Into<String>) -> Self {
        Self::of_kind(Kind::Any, channel.into(), target.into(), Payload::Text(payload.into()))
    }

    /// A request through the channel `http`, to a URL or to a path under the channel's `base_url`. The body is `null`
    /// until [`NewMessage::json`] sets one.
    pub fn http(url: impl Into<String>) -> Self {
        Self::of_kind(Kind::Http, "http".to_owned(), url.into(), Payload::Text("null".to_owned()))
    }

    /// A push message, through the channel `fcm`.
    #[allow(clippy::needless_pass_by_value, reason = "the target of a message is built for it")]
    pub fn fcm(target: FcmTarget) -> Self {
        Self::of_kind(Kind::Fcm, "fcm".to_owned(), target.to_string(), Payload::Fields(Fields::new()))
    }

    fn of_kind(kind: Kind, channel: String, target: String, payload: Payload) -> Self {
        Self {
            kind,
            channel,
            target,
            payload,
            headers: BTreeMap::new(),
            idempotency_key: None,
            ordering_key: None,
            tenant: None,
            tags: Tags::default(),
            priority: 0,
            max_attempts: None,
            due: None,
            expires: None,
            trace: None,
        }
    }

    /// The name of the configured channel that sends the message.
    #[must_use]
    pub fn channel(mut self, name: impl Into<String>) -> Self {
        self.channel = name.into();
        self
    }

    /// The payload. For FCM it is the whole `Message` object without its target, and replaces what was set before.
    #[must_use]
    pub fn json(mut self, payload: &(impl Serialize + ?Sized)) -> Self {
        self.payload = match serde_json::to_string(payload) {
            Ok(text) => Payload::Text(text),
            Err(error) => Payload::Broken(format!("it cannot be written as JSON: {error}")),
        };
        self
    }

    /// FCM: the title and the text that the device shows.
    #[must_use]
    pub fn notification(self, title: impl Into<String>, body: impl Into<String>) -> Self {
        let (title, body) = (title.into(), body.into());
        self.edit_fields("notification", |shown| {
            shown.insert("title".to_owned(), title.into());
            shown.insert("body".to_owned(), body.into());
        })
    }

    /// FCM: a value for the app. Call it once for each key. Keys and values are texts.
    #[must_use]
    pub fn data(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let (key, value) = (key.into(), value.into());
        self.edit_fields("data", |data| {
            data.insert(key, value.into());
        })
    }

    fn edit_fields(mut self, part: &str, edit: impl FnOnce(&mut Fields)) -> Self {
        self.payload = fcm::edit(self.payload, part, edit);
        self
    }

    /// HTTP: an extra header. A later value of the same name replaces an earlier one.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// The idempotency key, which makes this *one message*. A message that is enqueued again under the same key is
    /// reported as a duplicate and not sent again, as long as the first one is kept (`retention`). The receiver gets
    /// the key with each attempt.
    ///
    /// Make the key from the event and its receiver (`order-4711-shipped-device-3`). Without a key, the message gets a
    /// new time-ordered UUID.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// The ordering key. Messages of a channel with the same ordering key go out one at a time, in the order of their
    /// ids.
    #[must_use]
    pub fn ordering_key(mut self, key: impl Into<String>) -> Self {
        self.ordering_key = Some(key.into());
        self
    }

    /// The tenant: whom the message is sent for. While more is due than the poller can take, the tenants of a channel take
    /// turns, so that one with much to send keeps no other waiting. By default the tenant is the destination.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// A tag: what the customer knows of the message, such as the number of an order. People find the message by it. A later
    /// value of the same name replaces an earlier one. At most 16 tags, with names of up to 64 characters and values of up to
    /// 255.
    #[must_use]
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.set(name, value);
        self
    }

    /// The priority, 0 (the default) to 3. A higher priority goes first.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// The message is not sent before this long from now, by the database's clock. On MySQL and MariaDB the application's role needs
    /// a right of its own for this and for the other times: `mysql_times.sql`.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = Some(SendTime::After(delay));
        self
    }

    /// The message is not sent before this moment.
    #[must_use]
    pub fn due_at(mut self, moment: SystemTime) -> Self {
        self.due = Some(SendTime::At(moment));
        self
    }

    /// The message is not sent later than this long from now, by the database's clock. After that it is a dead letter,
    /// `expired`.
    #[must_use]
    pub fn expires_in(mut self, time: Duration) -> Self {
        self.expires = Some(SendTime::After(time));
        self
    }

    /// The message is not sent later than this moment. After that it is a dead letter, `expired`.
    #[must_use]
    pub fn expires_at(mut self, moment: SystemTime) -> Self {
        self.expires = Some(SendTime::At(moment));
        self
    }

    /// The number of attempts, the first included. The default is that of the channel.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// The W3C trace context of the request that enqueues the message. By default, with the feature `opentelemetry`, it
    /// is that of the current span ([`trace::current`](crate::enqueue::trace::current)).
    #[must_use]
    pub fn trace_context(mut self, context: TraceContext) -> Self {
        self.trace = Some(context);
        self
    }

    /// What a poller reads of the message to make its request.
    ///
    /// # Errors
    /// What is wrong with the message in itself, as [`validate`](Self::validate) says.
    pub fn content(&self) -> Result<Content<'_>, InvalidMessage> {
        self.validate()?;
        Ok(Content {
            channel: &self.channel,
            target: &self.target,
            payload: self.payload_text()?,
            headers: headers_text(&self.headers)?,
            idempotency_key: self.idempotency_key.as_deref(),
        })
    }

    /// The payload as JSON text.
    pub(crate) fn payload_text(&self) -> Result<Cow<'_, str>, InvalidMessage> {
        match &self.payload {
            Payload::Text(text) => Ok(text.into()),
            Payload::Fields(fields) => serde_json::to_string(fields)
                .map(Cow::Owned)
                .map_err(|error| InvalidMessage::new("payload", format!("it cannot be written as JSON: {error}"))),
            Payload::Broken(problem) => Err(InvalidMessage::new("payload", problem.clone())),
        }
    }
}

/// The parts of a message of which its request is made.
#[derive(Clone)]
pub struct Content<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The target.
    pub target: &'a str,
    /// The payload: JSON text. A database may write it in another way.
    pub payload: Cow<'a, str>,
    /// The headers: a JSON object as text. None where there is none.
    pub headers: Option<String>,
    /// The idempotency key. None: it is minted when the message is enqueued.
    pub idempotency_key: Option<&'a str>,
}

impl Content<'_> {
    /// The bytes that count towards the `max_message_bytes` of a channel.
    pub fn bytes(&self) -> u64 {
        let bytes = self.payload.len() + self.target.len() + self.headers.as_ref().map_or(0, String::len);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// Names the message, as [`NewMessage`] does.
impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("channel", &self.channel)
            .field("idempotency_key", &self.idempotency_key)
            .finish_non_exhaustive()
    }
}

/// Headers as the column holds them.
pub(crate) fn headers_text(headers: &BTreeMap<String, String>) -> Result<Option<String>, InvalidMessage> {
    if headers.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(headers).map(Some).map_err(|error| InvalidMessage::new("headers", error.to_string()))
}

/// Names the message. Bodies, headers and targets stay out of logs.
impl fmt::Debug for NewMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewMessage")
            .field("channel", &self.channel)
            .field("idempotency_key", &self.idempotency_key)
            .finish_non_exhaustive()
    }
}
