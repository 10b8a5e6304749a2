//! `outbox channels`: lists the channels of the settings, and tries one out.

mod command;
mod list;
mod test;

pub(super) use command::{ChannelsCommand, channels};
