//! What the words of an explanation, or of an event, mention: a page leads from there to more of it.

use outbox_schema::MessageId;

/// A place in words at which something is named that has a page of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The words that name it, as they stand in the sentence.
    pub words: String,
    /// The message, destination, term or other thing that the words name.
    pub subject: Subject,
}

/// A thing with a page of its own that the words of an explanation can name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named as the columns that they come from")]
pub enum Subject {
    /// A message.
    Message(MessageId),
    /// A destination, or the channel by whose name it is paused.
    Destination(String),
    /// A channel.
    Channel(String),
    /// The messages of an ordering key.
    OrderingKey(String),
    /// The messages of a tenant.
    Tenant(String),
    /// The term with this epoch.
    Term(i64),
    /// A change of many messages.
    Operation(i64),
    /// A target that is known to be gone.
    InvalidTarget { channel: String, target: String },
}

/// Causes that say what their sentences mention.
pub trait Mentions {
    /// Everything that the sentence mentions. Its words may stand in the sentence more than once, or not at all.
    fn mentions(&self) -> Vec<Mention>;
}

impl Mention {
    pub(super) fn new(words: impl Into<String>, subject: Subject) -> Self {
        Self { words: words.into(), subject }
    }

    pub(super) fn message(id: MessageId) -> Self {
        Self::new(format!("message {id}"), Subject::Message(id))
    }

    pub(super) fn term(epoch: i64) -> Self {
        Self::new(format!("epoch {epoch}"), Subject::Term(epoch))
    }

    pub(super) fn destination(name: &str) -> Self {
        Self::new(name, Subject::Destination(name.to_owned()))
    }

    pub(super) fn ordering_key(key: &str) -> Self {
        Self::new(format!("{key:?}"), Subject::OrderingKey(key.to_owned()))
    }

    pub(super) fn operation(id: i64) -> Self {
        Self::new(format!("audit {id}"), Subject::Operation(id))
    }
}
