//! What a database or its client said, in words for people.

use std::error::Error;

/// The words of a database, or of its client where the database did not answer, without what only a programmer of sqlx or of
/// PostgreSQL can use.
pub fn words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => {
            // sqlx adds the line of PostgreSQL's own source.
            #[cfg(feature = "postgres")]
            if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
                return error.message().to_owned();
            }
            error.to_string()
        }
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Tls(error) => format!("no TLS: {error}"),
        sqlx::Error::PoolTimedOut => "waited in vain for a connection".to_owned(),
        other => other.to_string(),
    }
}

/// The same of an error that may be one of sqlx.
pub fn words_of(error: &(dyn Error + Send + Sync + 'static)) -> String {
    error.downcast_ref().map_or_else(|| error.to_string(), words)
}

/// What became of a question, in words. An error that the database reports is an answer too.
pub fn said(error: Option<&sqlx::Error>) -> &'static str {
    match error {
        Some(sqlx::Error::Database(_)) => "answered with an error",
        Some(_) | None => "did not answer",
    }
}
