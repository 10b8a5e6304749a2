//! An error of the store, by what the caller must do about it.

use outbox_schema::words::{said, words_of};

use crate::{Epoch, Shard, passing};

/// An error of the store, by what the caller must do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Step down: the database has a later term.
    #[error("epoch {epoch} of shard {shard} is over: the database has a later term")]
    Fenced {
        /// The shard.
        shard: Shard,
        /// The epoch that is over.
        epoch: Epoch,
    },
    /// Try again later: the database is not reachable, too slow, restarted, out of connections, read-only or out of
    /// disk, or there was a deadlock.
    #[error("the outbox database {} ({doing}): {}", said(source.downcast_ref()), words_of(source.as_ref()))]
    Unavailable {
        /// What the store was doing.
        doing: &'static str,
        /// The words of the database or of its client.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Do not repeat the call as it is: the database refuses a value or the statement.
    #[error("the outbox database refused ({doing}): {}", words_of(source.as_ref()))]
    Refused {
        /// What the store was doing.
        doing: &'static str,
        /// The words of the database.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// Whether the database answered, and said that it would not.
    pub fn is_an_answer(&self) -> bool {
        match self {
            Self::Fenced { .. } => true,
            Self::Unavailable { source, .. } | Self::Refused { source, .. } => {
                matches!(source.downcast_ref(), Some(sqlx::Error::Database(_)))
            }
        }
    }

    /// Whether the database refused because its role lacks a right.
    pub fn lacks_rights(&self) -> bool {
        let (Self::Unavailable { source, .. } | Self::Refused { source, .. }) = self else { return false };
        source.downcast_ref().is_some_and(crate::lacks_rights)
    }

    /// Whether the server takes no writes any more: after a failover it may be the standby of another one.
    pub fn is_of_a_reader(&self) -> bool {
        let Self::Unavailable { source, .. } = self else { return false };
        matches!(source.downcast_ref(), Some(sqlx::Error::Database(error)) if passing::is_of_a_reader(error.as_ref()))
    }

    /// The error that the database's client reports for a statement. Each dialect says whether an error of the database
    /// is about the statement's values, and so would come again.
    pub(crate) fn of(
        doing: &'static str,
        error: sqlx::Error,
        about_data: impl FnOnce(&dyn sqlx::error::DatabaseError) -> bool,
    ) -> Self {
        let about_data = match &error {
            sqlx::Error::Database(database) => about_data(database.as_ref()),
            sqlx::Error::Encode(_) => true,
            _ => false,
        };
        let source = error.into();
        if about_data { Self::Refused { doing, source } } else { Self::Unavailable { doing, source } }
    }
}
