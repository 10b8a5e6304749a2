//! A question or a change that failed.

use crate::rights::lacks_rights;
use crate::words::{said, words};

/// A question or a change that failed.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The database did not answer, or refused.
    #[error("the outbox database {} ({doing}): {}", said(Some(source)), words(source))]
    Database {
        /// What the desk was doing.
        doing: &'static str,
        /// The words of the database or of its client.
        source: sqlx::Error,
    },
    /// What is to be undone is not there.
    #[error("no redrive or replay has the audit entry {0}")]
    NothingToUndo(i64),
    /// The replica that is asked in place of the database failed, or was not reached.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

impl DeskError {
    /// Whether the database cannot take a value of the request, such as a text with NUL on PostgreSQL.
    pub fn is_about_a_value(&self) -> bool {
        let Self::Database { source: sqlx::Error::Database(error), .. } = self else { return false };
        // https://www.postgresql.org/docs/current/errcodes-appendix.html (Class 22, Data Exception). MySQL has the same
        // class.
        error.code().is_some_and(|code| code.starts_with("22"))
    }

    /// Whether the database refused because its role lacks a right.
    pub fn lacks_rights(&self) -> bool {
        matches!(self, Self::Database { source, .. } if lacks_rights(source))
    }
}
