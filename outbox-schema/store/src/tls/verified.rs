//! Servers are verified beyond this machine, unless the URL says otherwise.

use std::net::IpAddr;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

/// Whether what is sent to `host` stays on this machine.
pub fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Whether the URL has one of these parameters.
fn says(url: &str, names: &[&str]) -> bool {
    Url::parse(url).is_ok_and(|url| url.query_pairs().any(|(key, _)| names.contains(&&*key)))
}

/// What says how the server is to be verified.
const MODE: [&str; 2] = ["sslmode", "ssl-mode"];

/// What names the authority of its certificate. Nobody names one to have nothing verified.
const AUTHORITY: [&str; 4] = ["sslrootcert", "ssl-root-cert", "ssl-ca", "sslca"];

/// The options for `url`, and whether the server is verified though the URL does not ask for it.
pub(crate) fn of_postgres(url: &str, options: PgConnectOptions) -> (PgConnectOptions, bool) {
    let near = postgres_is_near(&options) && !says(url, &AUTHORITY);
    if near || says(url, &MODE) || std::env::var_os("PGSSLMODE").is_some() {
        return (options, false);
    }
    (options.ssl_mode(PgSslMode::VerifyFull), true)
}

/// The same for MySQL and MariaDB.
pub(crate) fn of_mysql(url: &str, options: MySqlConnectOptions) -> (MySqlConnectOptions, bool) {
    let near = mysql_is_near(&options) && !says(url, &AUTHORITY);
    if near || says(url, &MODE) {
        return (options, false);
    }
    (options.ssl_mode(MySqlSslMode::VerifyIdentity), true)
}

pub(super) fn postgres_is_near(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    options.get_socket().is_some() || host.starts_with('/') || is_this_machine(host)
}

pub(super) fn mysql_is_near(options: &MySqlConnectOptions) -> bool {
    options.get_socket().is_some() || is_this_machine(options.get_host())
}

/// Whether a connection failed because the server could not be verified.
pub(crate) fn is_unverified(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        // A certificate that rustls refuses.
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;
    use crate::url_forms::with_host;

    fn verifies_postgres(url: &str) -> bool {
        let (options, by_default) = of_postgres(url, url.parse().unwrap());
        let verifies = matches!(options.get_ssl_mode(), PgSslMode::VerifyFull);
        assert_eq!(by_default, verifies && !url.contains("verify-full"), "{url}");
        verifies
    }

    fn verifies_mysql(url: &str) -> bool {
        let (options, by_default) = of_mysql(url, url.parse().unwrap());
        let verifies = matches!(options.get_ssl_mode(), MySqlSslMode::VerifyIdentity);
        assert_eq!(by_default, verifies && !url.contains("VERIFY_IDENTITY"), "{url}");
        verifies
    }

    #[test]
    fn a_server_beyond_this_machine_is_verified_unless_its_url_says_otherwise() {
        for host in ["db", "db.example:5432", "10.0.0.5", "0.0.0.0", "[2001:db8::1]:5432", "localhost.example"] {
            for scheme in ["", "sslrootcert=/etc/ca.pem", "application_name=sslmode"] {
                assert!(verifies_postgres(&format!("postgres://u:p@{host}/shop?{scheme}")), "{host} {scheme}");
            }
            assert!(verifies_mysql(&format!("mysql://u:p@{host}/shop")), "{host}");
            assert!(verifies_mysql(&format!("mysql://u:p@{host}/shop?ssl-ca=/etc/ca.pem")), "{host}");
            for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
                assert!(!verifies_postgres(&format!("postgres://u:p@{host}/shop?sslmode={mode}")), "{host} {mode}");
            }
            for mode in ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA"] {
                assert!(!verifies_mysql(&format!("mysql://u:p@{host}/shop?ssl-mode={mode}")), "{host} {mode}");
            }
            assert!(verifies_postgres(&format!("postgres://u:p@{host}/shop?sslmode=verify-full")), "{host}");
            assert!(verifies_mysql(&format!("mysql://u:p@{host}/shop?ssl-mode=VERIFY_IDENTITY")), "{host}");
        }
    }

    #[test]
    fn what_stays_on_this_machine_needs_no_tls() {
        for host in ["localhost", "LOCALHOST:5432", "127.0.0.1", "127.3.2.1:5432", "[::1]:5432", "[::ffff:127.0.0.1]"] {
            assert!(!verifies_postgres(&format!("postgres://u:p@{host}/shop")), "{host}");
            assert!(!verifies_mysql(&format!("mysql://u:p@{host}/shop")), "{host}");
        }
        assert!(!verifies_postgres("postgresql:///shop?host=/run/postgresql"));
        assert!(!verifies_postgres("postgres://%2Frun%2Fpostgresql/shop"));
        assert!(!verifies_postgres(&with_host("postgres://u:p@/shop?host=/cloudsql/a:b:c")));
        assert!(verifies_postgres(&with_host("postgres://u:p@/shop?host=db.example")));
        assert!(!verifies_mysql("mysql://u@db/shop?socket=/run/mysqld.sock"));
    }

    #[test]
    fn whoever_names_an_authority_has_the_server_verified_by_it() {
        assert!(verifies_postgres("postgres://u:p@localhost/shop?sslrootcert=/etc/ca.pem"));
        assert!(verifies_mysql("mysql://u:p@127.0.0.1/shop?ssl-ca=/etc/ca.pem"));
        assert!(!verifies_postgres("postgres://u:p@localhost/shop?sslrootcert=/etc/ca.pem&sslmode=verify-ca"));
    }
}
