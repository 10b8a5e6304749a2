//! How the connections to a database are protected.

use std::fmt;

use sqlx::mysql::MySqlSslMode;
use sqlx::postgres::PgSslMode;

use super::verified::{mysql_is_near, postgres_is_near};
use crate::sql::{read, while_doing};
use crate::statement::Statement;
use crate::{Database, QueryError};

const ENCRYPTED: Statement = statement!("checks/encrypted");

/// How connections to a server are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Connections are encrypted, and the server has shown a certificate of an authority that is trusted.
    Verified,
    /// Connections are encrypted, and nobody has looked at the server's certificate.
    Unverified,
    /// Connections are in the clear.
    None,
}

impl fmt::Display for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verified => "TLS: verified",
            Self::Unverified => "TLS: unverified",
            Self::None => "TLS: none",
        })
    }
}

impl Database {
    /// Whether what is sent to the database stays on this machine.
    pub fn is_near(&self) -> bool {
        match self {
            Self::Postgres(pool) => postgres_is_near(&pool.connect_options()),
            Self::MySql(pool) => mysql_is_near(&pool.connect_options()),
            Self::Sqlite(_) => true,
        }
    }

    /// How the connections are protected. None for a file.
    pub async fn tls(&self) -> Result<Option<Tls>, QueryError> {
        let verified = match self {
            Self::Postgres(pool) => {
                matches!(pool.connect_options().get_ssl_mode(), PgSslMode::VerifyCa | PgSslMode::VerifyFull)
            }
            Self::MySql(pool) => {
                matches!(pool.connect_options().get_ssl_mode(), MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity)
            }
            Self::Sqlite(_) => return Ok(None),
        };
        let rows: Vec<(String, String)> =
            read(self, &ENCRYPTED, &[]).await.map_err(while_doing("asking whether the connection is encrypted"))?;
        let encrypted = rows.first().is_some_and(|(_, cipher)| !cipher.is_empty());
        Ok(Some(match (encrypted, verified) {
            (true, true) => Tls::Verified,
            (true, false) => Tls::Unverified,
            (false, _) => Tls::None,
        }))
    }
}
