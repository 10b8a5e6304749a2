//! A database of a test.

use uuid::Uuid;

/// A database of a test's own.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    /// As `database.url` takes it.
    pub url: String,
    /// The database on its server; SQLite: the path of the file.
    pub name: String,
}

/// The command that makes a certificate for this machine which signs itself and is an authority, as `openssl req -x509` makes them.
pub(super) fn make_own_authority(certificate: &str, key: &str) -> String {
    format!(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout {key} -out {certificate} -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost,IP:127.0.0.1 && chmod 600 {key}"
    )
}

/// Names no other test uses.
pub(super) fn fresh_name() -> String {
    format!("test_{}", Uuid::new_v4().simple())
}
