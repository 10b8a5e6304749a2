//! The connections that requests travel on.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::allowance::Limited;

/// A connection, encrypted or not.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

/// A connection without TLS.
pub(crate) type Tcp = Limited<TcpStream>;
