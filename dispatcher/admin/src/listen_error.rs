//! Why the listener cannot start.

use std::io;
use std::net::SocketAddr;

/// The listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken, is not one of this machine, or is not allowed.
    #[error("admin.listen = \"{listen}\" cannot be listened on: {source}; choose a free address of this machine")]
    Bind {
        /// The configured address.
        listen: SocketAddr,
        /// The words of the operating system.
        source: io::Error,
    },
    /// Other machines reach the listener, and no token is set.
    #[error(
        "admin.listen = \"{listen}\" can be reached from other machines and no token of [admin] is set: set \
         admin.token, or listen on 127.0.0.1"
    )]
    Exposed {
        /// The configured address.
        listen: SocketAddr,
    },
    /// A token is empty: it would let every client in.
    #[error("a token of [admin] is empty: set a secret, or leave the key out and listen on 127.0.0.1")]
    EmptyToken,
}
