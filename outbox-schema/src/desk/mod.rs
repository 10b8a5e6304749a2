//! What operators and their tools do with an outbox: ask for its state and for the history of a message, and cancel,
//! edit and redrive by hand. Nothing here is on the path of a message. What it shares with the poller's work is in
//! `sql.rs`, `wire.rs`, `destination/` and `retention/`.

mod answers;
mod audits;
mod author;
mod by_hand;
mod cancel;
mod content_edit;
mod database;
mod dead;
mod dead_letter;
mod deaths;
mod destinations;
mod edit;
mod edit_all;
mod error;
mod facts;
mod figures;
mod finding;
mod halted;
mod held_back;
mod invalid_targets;
mod lock_holders;
mod message;
mod message_selection;
mod messages;
mod operation;
mod operations;
mod port;
mod preview;
mod progress;
mod prune;
mod redrive;
mod replay;
mod replicas;
mod report;
mod retry;
mod selection;
mod statements;
mod terms;
mod told;
mod undo;

pub use answers::{Cancelled, Edited, Refusal, Skipped, Undoable};
pub use audits::{AuditAction, AuditFilter, AuditPage, LOOKED_AT, ListedAudit};
pub use author::{Author, Pace};
pub use content_edit::{ContentEdit, HeadersBefore, MoveTarget, Unfit};
pub use dead::GROUPS;
pub use dead_letter::{DeadLetter, DeadLetterPage};
pub use deaths::Deaths;
pub use destinations::{DestinationEntry, HeldUp, Paused, Resumed};
pub use edit::Revised;
pub use error::DeskError;
pub use facts::{Backlog, COUNTED, Earlier, EarlierDead, MessageClock, MessageFacts};
pub use figures::{ChannelFigures, FiguresFilter, FiguresPoint, FiguresSeries, LONGEST_LATENCY_MS, Span};
pub use halted::{HaltedKey, HaltedKeyPage, HaltedVitals, KeyCursor};
pub use held_back::{HeldBack, Snapshot};
pub use invalid_targets::{Cleared, InvalidTarget, InvalidTargetPage, InvalidTargetSelection};
pub use message_selection::{CountedGroups, MESSAGE_GROUPS, MessageGroup, MessageSelection};
pub use messages::{MessageFilter, MessagePage, MessageSummary};
pub use operations::{
    Action, Because, Change, Left, OperationEntry, OperationPage, OperationStatus, Operations, Ordered, Outcome, Sent,
    Stopped,
};
pub use port::{ByHand, Desk};
pub use preview::Preview;
pub use progress::{Progress, UNWATCHED, Watch};
pub use replay::ReplayManner;
pub use replicas::{
    ChannelRunsBy, Counted, Heartbeat, RefusedSettings, Replica, ReplicaEntry, ReplicaRow, RetentionRunsBy, RunsBy,
};
pub use report::{
    AttemptEntry, AuditEntry, ChannelVitals, CurrentTerm, DeadGroup, Length, MessageRecord, NamingClaim,
    PausedDestination, TenantVitals, TermEntry, Vitals,
};
pub use selection::{Cursor, DeadLetterFilter, Moment, Selection};
pub use terms::{TermCursor, TermFilter, TermPage};
pub use told::{OutcomeMessage, ToldMessage};
