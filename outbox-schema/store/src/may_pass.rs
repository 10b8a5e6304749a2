//! Whether what failed at the start of a command or of a replica is worth another try.

use crate::passing::passes;
use crate::{ConnectError, SchemaError, tls};

/// Whether a server may be there a moment later: it cannot be reached, does not answer, starts, or has no connection to spare.
/// A wrong password, an unknown database and a server that cannot be verified stay so until somebody mends them.
fn of_a_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => passes(error.as_ref()),
        sqlx::Error::Io(_) => !tls::is_unverified(error),
        sqlx::Error::PoolTimedOut => true,
        // The connection ended before the server said whether it speaks TLS. The driver takes the end for a zero, which no server
        // sends.
        sqlx::Error::Protocol(words) => words.contains("SSLRequest: 0x00"),
        _ => false,
    }
}

impl ConnectError {
    /// Whether it may be worth to try again, with the settings as they are.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connect(source) => of_a_connection(source),
            Self::NoWriter { .. } => true,
            Self::Scheme { .. }
            | Self::Unsupported(_)
            | Self::Unverified { .. }
            | Self::NoFile { .. }
            | Self::Folder { .. } => false,
        }
    }
}

impl SchemaError {
    /// Whether it may be worth to ask again, with the tables as they are.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Database(source) => of_a_connection(source),
            Self::Absent { .. }
            | Self::Foreign { .. }
            | Self::Unreadable { .. }
            | Self::Encoding { .. }
            | Self::Unfinished
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::OlderFunctions { .. }
            | Self::Environment { .. }
            | Self::EnvironmentName { .. } => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{ConnectOptions, Database};

    #[tokio::test]
    async fn a_server_that_ends_the_connection_before_its_first_word_may_be_there_a_moment_later() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://nobody@127.0.0.1:{}/none", server.local_addr().unwrap().port());
        let ends = tokio::spawn(async move {
            loop {
                let (mut connection, _) = server.accept().await.unwrap();
                // The request for TLS is read, so that the end is no reset.
                let _ = tokio::io::AsyncReadExt::read(&mut connection, &mut [0; 8]).await;
            }
        });
        let options = ConnectOptions { url: &url, schema: None, connections: 1 };
        let error = Database::connect(&options).await.unwrap_err();
        ends.abort();
        assert!(error.may_pass(), "{error}");
    }
}
