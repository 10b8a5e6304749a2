//! A time limit for the loop's calls to the database: a connection may be dead without a sign.

use outbox_schema::StoreError;
use outbox_schema::database::STATEMENT_LIMIT;

/// The answer of the store, or an error where it takes longer than any statement may.
pub(crate) async fn in_time<T>(
    doing: &'static str,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let too_late = || format!("nothing came within {STATEMENT_LIMIT:?}");
    tokio::time::timeout(STATEMENT_LIMIT, answer)
        .await
        .unwrap_or_else(|_| Err(StoreError::Unavailable { doing, source: too_late().into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_that_says_nothing_is_unavailable_after_a_while() {
        let silence = std::future::pending::<Result<(), StoreError>>();
        let error = in_time("claiming messages", silence).await.map_err(|error| error.to_string());
        let said = "the outbox database did not answer (claiming messages): nothing came within 15s";
        assert_eq!(error, Err(said.to_owned()));
    }
}
