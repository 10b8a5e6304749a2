//! What a lease store said, in words for people.

use std::error::Error;

use redis::{ErrorKind, RedisError};

type Source = dyn Error + Send + Sync + 'static;

/// Whether the store answered. An error that it reports is an answer too.
pub(super) fn said(error: &Source) -> &'static str {
    match error.downcast_ref::<RedisError>() {
        Some(error) if is_answer(error) => "answered with an error",
        Some(_) => "did not answer",
        None => outbox_schema::words::said(error.downcast_ref()),
    }
}

/// The words of the store, or of its client.
pub(super) fn words(error: &Source) -> String {
    error.downcast_ref().map_or_else(|| outbox_schema::words::words_of(error), words_of_redis)
}

fn is_answer(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(_)
            | ErrorKind::Extension
            | ErrorKind::AuthenticationFailed
            | ErrorKind::UnexpectedReturnType
            | ErrorKind::MasterNameNotFoundBySentinel
            | ErrorKind::RESP3NotSupported
    )
}

/// What Redis said of each command of a transaction, once: the client adds their places.
pub(super) fn words_of_redis(error: &RedisError) -> String {
    let Some(errors) = error.clone().into_server_errors() else {
        return match error.kind() {
            // What the client says of itself ends with the name of a kind.
            ErrorKind::AuthenticationFailed => {
                "the user or the password is wrong, or the user is gone: a restart of Redis forgets a \
                                                user that stands neither in redis.conf nor in its ACL file"
                    .to_owned()
            }
            _ => error.to_string(),
        };
    };
    let said = |error: &redis::ServerError| match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    };
    let mut words: Vec<String> = errors.iter().map(|(_, error)| said(error)).collect();
    // A transaction that was given up says so beside the reason.
    if words.iter().any(|words| !words.starts_with("EXECABORT")) {
        words.retain(|words| !words.starts_with("EXECABORT"));
    }
    words.dedup();
    words.join("; ")
}
