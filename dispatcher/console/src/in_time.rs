//! What is asked beside the loop: each question has a time, and each failure words for the log.

use std::fmt::Display;
use std::time::Duration;

use outbox_adapters::LeaseError;
use outbox_desk::DeskError;
use outbox_store::{APPLY_GRANTS, QueryError};

/// A failure of the database or of the lease store.
pub(crate) trait Failure: Display {
    /// Whether the database refused because its role lacks a right.
    fn lacks_rights(&self) -> bool;
}

impl Failure for QueryError {
    fn lacks_rights(&self) -> bool {
        self.lacks_rights()
    }
}

impl Failure for DeskError {
    fn lacks_rights(&self) -> bool {
        self.lacks_rights()
    }
}

impl Failure for LeaseError {
    fn lacks_rights(&self) -> bool {
        false
    }
}

/// The answer, within this time; or why there is none.
pub(crate) async fn in_time<T, E: Failure>(
    limit: Duration,
    asked: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.lacks_rights() => Err(format!("{error}{APPLY_GRANTS}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {limit:?}")),
    }
}
