//! What is done to many messages, by name.

use outbox_store::Status;

/// What is done to many messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Dead letters become due again.
    Redrive,
    /// Delivered messages are sent again.
    Replay,
    /// Messages that wait become dead letters.
    Cancel,
    /// Messages that wait are due now.
    Retry,
    /// Dead letters get another content.
    Edit,
    /// A redrive or a replay is taken back.
    Undo,
    /// Dead letters are deleted.
    Purge,
    /// Messages past their retention are removed.
    Prune,
}

/// The words of an action.
struct Words {
    /// Its name in the audit, in the API and on the page.
    name: &'static str,
    /// What the messages are afterwards. Outcomes count them by this word in JSON.
    done: &'static str,
    /// What the desk does meanwhile, for an error.
    doing: &'static str,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Redrive, Self::Replay, Self::Cancel, Self::Retry, Self::Edit, Self::Undo, Self::Purge, Self::Prune];

    const fn words(self) -> Words {
        let (name, done, doing) = match self {
            Self::Redrive => ("redrive", "redriven", "redriving dead letters"),
            Self::Replay => ("replay", "replayed", "replaying delivered messages"),
            Self::Cancel => ("cancel", "cancelled", "cancelling messages"),
            Self::Retry => ("retry", "retried", "retrying messages"),
            Self::Edit => ("edit", "edited", "editing dead letters"),
            Self::Undo => ("undo", "returned", "undoing a redrive or a replay"),
            Self::Purge => ("purge", "purged", "purging dead letters"),
            Self::Prune => ("prune", "removed", "removing what is past its retention"),
        };
        Words { name, done, doing }
    }

    /// The name of the action in the audit, in the API and on the page.
    pub const fn as_str(self) -> &'static str {
        self.words().name
    }

    /// What the messages are afterwards: `redriven`.
    pub const fn done(self) -> &'static str {
        self.words().done
    }

    /// What the desk does meanwhile, for an error.
    pub(crate) const fn doing(self) -> &'static str {
        self.words().doing
    }

    /// The action of this name. None: it is one of another release.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }

    /// The status of the messages that the action is for. None where they are found in another way.
    pub fn status(self) -> Option<Status> {
        match self {
            Self::Redrive | Self::Edit | Self::Purge => Some(Status::Dead),
            Self::Replay => Some(Status::Success),
            Self::Cancel | Self::Retry => Some(Status::Pending),
            Self::Undo | Self::Prune => None,
        }
    }

    /// Whether its batches hold all terms, so that no claim is being made meanwhile. On MySQL a claim reads in one statement which
    /// message of a key is first, and in a second one whether a dead letter halts that key. A redrive between the two would let the
    /// next message of the key go first.
    pub(super) fn holds_terms(self) -> bool {
        match self {
            Self::Redrive | Self::Cancel | Self::Retry | Self::Undo => true,
            Self::Replay | Self::Edit | Self::Purge | Self::Prune => false,
        }
    }
}
