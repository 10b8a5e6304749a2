//! What operators and their tools do with an outbox: ask for its state and for the history of a message, and cancel,
//! edit and redrive by hand. Nothing here is on the path of a message. What it shares with the poller's work is in
//! `outbox-schema`.
//!
//! [`Desk`] and [`ByHand`] are what a database and a replica can be asked alike. The functions ask a database only.

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
mod hazards;
mod held_back;
mod in_doubt;
mod invalid_targets;
mod jobs;
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
mod queries;
mod recurring;
mod redrive;
mod replay;
mod replicas;
mod report;
mod retry;
mod selection;
mod statements;
mod tag_names;
mod terms;
mod told;
mod undo;

pub use answers::{Cancelled, Edited, Refusal, Skipped, Undoable};
pub use audits::{AuditAction, AuditFilter, AuditPage, LOOKED_AT, ListedAudit, audits};
pub use author::{Author, Pace};
pub use content_edit::{ContentEdit, HeadersBefore, MoveTarget, Unfit};
pub use dead::GROUPS;
pub use dead_letter::{DeadLetter, DeadLetterPage};
pub use deaths::{Deaths, deaths};
pub use destinations::{DestinationEntry, HeldUp, Paused, Resumed, destination};
pub use edit::Revised;
pub use error::DeskError;
pub use facts::{Backlog, COUNTED, Earlier, EarlierDead, MessageClock, MessageFacts, facts};
pub use figures::{ChannelFigures, FiguresFilter, FiguresPoint, FiguresSeries, LONGEST_LATENCY_MS, Span};
pub use halted::{HaltedKey, HaltedKeyPage, HaltedVitals, KeyCursor};
pub use hazards::{durability, hidden_system, prepared_transactions, strangers_may_create};
pub use held_back::{HeldBack, Snapshot, held_back};
pub use in_doubt::InDoubt;
pub use invalid_targets::{Cleared, InvalidTarget, InvalidTargetPage, InvalidTargetSelection};
pub use jobs::{JobAction, JobDone, JobEnds, JobEntry, JobRunEntry, JobRunPage};
pub use lock_holders::lock_holders;
pub use message_selection::{CountedGroups, MESSAGE_GROUPS, MessageGroup, MessageSelection, message_groups_within};
pub use messages::{MessageFilter, MessagePage, MessageSummary, summaries};
pub use operations::{
    Action, Because, Change, Left, OperationEntry, OperationPage, OperationStatus, Operations, Ordered, Outcome, Sent,
    Stopped, begin, operation, operations,
};
pub use port::{ByHand, Desk};
pub use preview::Preview;
pub use progress::{Progress, UNWATCHED, Watch};
pub use recurring::{RecurringAction, RecurringDone, RecurringEntry};
pub use replay::ReplayManner;
pub use replicas::{
    ChannelRunsBy, Counted, Heartbeat, RefusedSettings, Replica, ReplicaEntry, ReplicaRow, RetentionRunsBy, RunsBy,
    current_terms, fleet, forget_silent_replicas, heartbeat, open_terms, replica_ended, replicas,
};
pub use report::{
    AttemptEntry, AuditEntry, ChannelVitals, CurrentTerm, DeadGroup, Length, MessageRecord, NamingClaim,
    PausedDestination, TenantVitals, TermEntry, Vitals,
};
pub use selection::{Cursor, DeadLetterFilter, Moment, Selection};
pub use tag_names::tag_names;
pub use terms::{TermCursor, TermFilter, TermPage, term_page};
pub use told::{OutcomeMessage, ToldMessage};
