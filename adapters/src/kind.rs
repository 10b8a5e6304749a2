//! A kind of channel, as it describes itself. The program knows of a kind no more than this.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::Adapter;
use crate::setup::SetupError;
use crate::shape::Shapes;
use crate::values::{Checked, Values};

/// A kind of channel.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The word of the settings.
    pub name: &'static str,
    /// Its settings as a file of TOML: each with its default, below what it means. They come beside those of every channel; one of
    /// the same name comes in its place.
    pub defaults: &'static str,
    /// What each of them may be. A setting of every channel that is left out may be what it may be elsewhere.
    pub shapes: Shapes,
    /// Reads the settings of a channel, and checks what has to fit together.
    pub read: fn(&mut Values) -> Checked<Arc<dyn ChannelSettings>>,
}

/// The settings of one channel that its kind alone has, checked.
pub trait ChannelSettings: Any + fmt::Debug + Send + Sync {
    /// Sets the channel up, without a request.
    ///
    /// # Errors
    /// [`SetupError`] names the key and what is allowed.
    fn build(&self, channel: &ChannelSetup<'_>) -> Result<Arc<dyn Adapter>, SetupError>;

    /// The shortest wait before a retry, whatever the backoff draws.
    fn retry_floor(&self) -> Duration {
        Duration::ZERO
    }

    /// How long a rate takes to rise from zero after a rest. None: it is there at once.
    fn rise(&self) -> Option<Duration> {
        None
    }

    /// Whether the channel sends the payload's JSON, whatever JSON it is.
    fn sends_json(&self) -> bool;

    /// Where its messages go. Empty: to the URLs that rows name.
    fn base_url(&self) -> &str;

    /// Whether a target is a URL, or a path below [`base_url`](Self::base_url).
    fn takes_urls(&self) -> bool;

    /// The payload of a message that tests the channel and does no harm.
    fn test_payload(&self) -> &'static str;

    /// What a strict installation would not leave so: each key, and what it lets happen with what to write instead.
    fn remarks(&self) -> Vec<(&'static str, String)>;
}

impl dyn ChannelSettings {
    /// The settings of a kind. None where they are of another one.
    pub fn downcast_ref<T: ChannelSettings>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// What a channel is set up with beside its own settings.
#[derive(Debug, Clone, Copy)]
pub struct ChannelSetup<'a> {
    /// The name of the channel, for errors.
    pub name: &'a str,
    /// The deadline of an attempt that has none of its own.
    pub timeout: Duration,
    /// Whether the policy for rows in doubt is `dead_letter`.
    pub at_most_once: bool,
    /// Whether the beginning of the answer to a delivery is kept.
    pub keeps_answers: bool,
    /// The address of the dispatcher's listener, which no message may reach.
    pub own: SocketAddr,
}
