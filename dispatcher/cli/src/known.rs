//! The flags by which messages are found that somebody knows something of.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use outbox_schema::{Tag, Tags};

use crate::session::Misuse;

#[derive(Debug, Args)]
pub(crate) struct KnownArgs {
    /// Only whose idempotency key begins so.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key_prefix: Option<String>,
    /// Only with this tag: `order=4711`. May be repeated: all must be there.
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    tags: Vec<Tag>,
    /// Only of this tenant: what the message says, else its destination.
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
}

impl KnownArgs {
    /// The tags, each once.
    pub(crate) fn tags(&self) -> Result<Tags, Misuse> {
        Tags::try_from(self.tags.clone()).map_err(Misuse::new)
    }
}

/// Reads the number of a row, of an operation or of an audit entry.
pub(super) fn number(text: &str) -> Result<i64, &'static str> {
    text.parse().map_err(|_| "it must be a number: lists show it as ID")
}
