//! A message that cannot be enqueued.

/// The fault of a message that was not inserted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidMessage {
    /// The column with the fault.
    pub field: &'static str,
    /// What is wrong with the column, and what is allowed.
    pub problem: String,
}

impl InvalidMessage {
    pub(crate) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}
