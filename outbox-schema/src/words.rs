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
                let message = error.message().to_owned();
                let is_shared = error.code().is_some_and(|code| OF_SHARED_SESSIONS.contains(&code.as_ref()));
                return if is_shared { format!("{message}: a pooler {SHARES_SESSIONS}") } else { message };
            }
            error.to_string()
        }
        sqlx::Error::Io(error) => of_tls(error.to_string()),
        sqlx::Error::Tls(error) => format!("no TLS: {}", of_tls(error.to_string())),
        sqlx::Error::Configuration(error) if error.is::<url::ParseError>() => {
            format!("the URL cannot be read: {error}")
        }
        sqlx::Error::Configuration(error) => of_tls(error.to_string()),
        sqlx::Error::PoolTimedOut => "waited in vain for a connection".to_owned(),
        other => other.to_string(),
    }
}

/// A prepared statement is there already, or no more: only in a session that another connection has too
/// (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
#[cfg(feature = "postgres")]
const OF_SHARED_SESSIONS: [&str; 2] = ["42P05", "26000"];

/// What a pooler does to whoever cannot share a session, and what to do about it.
pub const SHARES_SESSIONS: &str = "shares its sessions, as PgBouncer does with pool_mode = transaction: connect to the server \
    itself, or have the pooler keep sessions (pool_mode = session), and start it anew";

/// The beginnings of what the parser of PEM says. It quotes the file, which may be a key, as numbers.
const OF_PEM: [&str; 4] = ["missing section end", "illegal section start", "base64 decode", "no items found"];

/// The text of an error about TLS or its files, without what it quotes.
fn of_tls(text: String) -> String {
    if OF_PEM.iter().any(|beginning| text.starts_with(beginning)) {
        return "a file that the URL names for TLS is no PEM: give \"-----BEGIN CERTIFICATE-----\" in those of sslrootcert (ssl-ca) \
                and sslcert (ssl-cert), and a private key without a password in that of sslkey (ssl-key), each with its line breaks"
            .to_owned();
    }
    own_authority(&text, NO_AUTHORITY).unwrap_or(text)
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

/// The words in place of `text`, where rustls refused a server for a certificate that is an authority. `cure` is what to do where the
/// certificate signs itself.
pub fn own_authority(text: &str, cure: &str) -> Option<String> {
    text.contains("CaUsedAsEndEntity").then(|| {
        format!(
            "the server's certificate is itself an authority's (CA:TRUE), as that of `openssl req -x509` is: {cure}"
        )
    })
}

/// What to do where no setting can name the certificate of a server as its own authority.
pub const NO_AUTHORITY: &str = "give the server one that is none, by `openssl req -x509 … -addext \
    basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:HOST`, or one that an authority has signed (docs/deploy.md, \
    \"Certificates of your own\")";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_about_a_file_of_tls_quotes_the_file() {
        for quoted in [
            "illegal section start: [77, 73, 73]",
            "missing section end marker: [77, 73, 73]",
            "base64 decode error: x",
        ] {
            for error in [sqlx::Error::Tls(quoted.into()), sqlx::Error::Configuration(quoted.into())] {
                let told = words(&error);
                assert!(told.contains("with its line breaks") && !told.contains("77"), "{told}");
            }
        }
    }
}
