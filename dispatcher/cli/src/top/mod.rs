//! `outbox top`: the outbox as a view of the whole terminal, which keeps itself up to date.

mod look;
mod table;
mod top;
mod view;

use look::{Look, Seen};
pub(super) use top::{TopArgs, top};
