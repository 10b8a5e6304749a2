//! What Redis says to a client that it takes no connection of: that it is in protected mode, or that it has too many clients.
//!
//! The server says so before it is asked, and closes. The client library drops what answers no question, so that its error is
//! "broken pipe".

use std::time::Duration;

use redis::{ConnectionAddr, RedisError, Value};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The longest wait for these words. A server that takes the client says nothing.
const LIMIT: Duration = Duration::from_millis(300);

/// Longer than any of these texts.
const BYTES: usize = 2048;

/// Connects once more, and listens. None where the server says nothing, or speaks TLS.
pub(super) async fn why(server: &ConnectionAddr) -> Option<RedisError> {
    let ConnectionAddr::Tcp(host, port) = server else { return None };
    let mut said = Vec::new();
    let listening = async {
        let stream = TcpStream::connect((host.as_str(), *port)).await.ok()?;
        stream.take(BYTES as u64).read_to_end(&mut said).await.ok()
    };
    // What had come by then counts.
    let _ = tokio::time::timeout(LIMIT, listening).await;
    match redis::parse_redis_value(&said) {
        Ok(Value::ServerError(error)) => Some(error.into()),
        Ok(_) | Err(_) => None,
    }
}
