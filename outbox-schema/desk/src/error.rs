//! A question or a change that failed.

use outbox_store::QueryError;

/// A question or a change that failed.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The database did not answer, or refused.
    #[error(transparent)]
    Database(#[from] QueryError),
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
        matches!(self, Self::Database(error) if error.is_about_a_value())
    }

    /// Whether the database refused because its role lacks a right.
    pub fn lacks_rights(&self) -> bool {
        matches!(self, Self::Database(error) if error.lacks_rights())
    }
}

/// An error of the database, with what was asked of it.
pub(crate) fn while_doing(doing: &'static str) -> impl FnOnce(sqlx::Error) -> DeskError {
    move |source| QueryError { doing, source }.into()
}
