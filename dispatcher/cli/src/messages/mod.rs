//! `outbox messages`: lists messages, shows and explains one message, retries, cancels and replays.

mod cancel;
mod command;
mod explain;
mod filter;
mod list;
mod named;
mod replay;
mod retry;
mod selection;
mod show;
mod waiting;

pub(super) use command::{MessagesCommand, messages};
pub(super) use named::{find, ids_of};
pub(super) use selection::table_of;
pub(super) use show::show;
