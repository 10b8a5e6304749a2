//! A question or a change beside the path of messages that failed.

use outbox_schema::words::{said, words};

use crate::rights::lacks_rights;

/// The database did not answer, or refused.
#[derive(Debug, thiserror::Error)]
#[error("the outbox database {} ({doing}): {}", said(Some(source)), words(source))]
pub struct QueryError {
    /// The work that the question was for, in words.
    pub doing: &'static str,
    /// The words of the database or of its client.
    pub source: sqlx::Error,
}

impl QueryError {
    /// Whether the database cannot take a value of the request, such as a text with NUL on PostgreSQL.
    pub fn is_about_a_value(&self) -> bool {
        let sqlx::Error::Database(error) = &self.source else { return false };
        // https://www.postgresql.org/docs/current/errcodes-appendix.html (Class 22, Data Exception). MySQL has the same
        // class.
        error.code().is_some_and(|code| code.starts_with("22"))
    }

    /// Whether the database refused because its role lacks a right.
    pub fn lacks_rights(&self) -> bool {
        lacks_rights(&self.source)
    }
}
