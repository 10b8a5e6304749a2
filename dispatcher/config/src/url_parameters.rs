//! The parameters of URLs. The clients of databases and of Redis pass over a name that they do not know, so a misspelt
//! `sslmode` would leave a connection unprotected.

use url::form_urlencoded;

use super::Dialect;

/// A name that is less similar than this is not suggested.
const NEAR: f64 = 0.6;

/// What the client of one kind of server reads after the `?`.
pub(super) struct Parameters {
    /// The server, for messages.
    of: &'static str,
    /// The names that the client reads. Those of one group mean the same, and the first is suggested.
    known: &'static [&'static [&'static str]],
    /// Names of other clients, and what to do here.
    elsewhere: &'static [(&'static str, &'static str)],
}

/// What sqlx reads in a URL of PostgreSQL. It also reads `options[NAME]`.
const POSTGRES: Parameters = Parameters {
    of: "PostgreSQL",
    known: &[
        &["sslmode", "ssl-mode"],
        &["sslrootcert", "ssl-root-cert", "ssl-ca"],
        &["sslcert", "ssl-cert"],
        &["sslkey", "ssl-key"],
        &["host"],
        &["hostaddr"],
        &["port"],
        &["dbname"],
        &["user"],
        &["password"],
        &["application_name"],
        &["options"],
        &["statement-cache-capacity"],
    ],
    elsewhere: &[
        ("ssl", VERIFY_POSTGRES),
        ("requiressl", VERIFY_POSTGRES),
        ("sslfactory", VERIFY_POSTGRES),
        (
            "channelbinding",
            "leave it out: this program knows no channel binding, and sslmode=verify-full proves whose the server is",
        ),
        ("gssencmode", "leave it out: this program knows no GSS encryption"),
        ("currentschema", "write the setting database.schema"),
        ("schema", "write the setting database.schema"),
        ("searchpath", "write the setting database.schema"),
        ("connecttimeout", OWN_LIMITS),
        ("sockettimeout", OWN_LIMITS),
        ("logintimeout", OWN_LIMITS),
        ("statementtimeout", OWN_LIMITS),
        ("targetsessionattrs", ONE_HOST),
        ("targetservertype", ONE_HOST),
        ("pgbouncer", THE_SERVER),
        ("preparethreshold", THE_SERVER),
    ],
};

/// What sqlx reads in a URL of MySQL and MariaDB.
const MYSQL: Parameters = Parameters {
    of: "MySQL and MariaDB",
    known: &[
        &["ssl-mode", "sslmode"],
        &["ssl-ca", "sslca"],
        &["ssl-cert", "sslcert"],
        &["ssl-key", "sslkey"],
        &["socket"],
        &["charset"],
        &["collation"],
        &["timezone", "time-zone"],
        &["statement-cache-capacity"],
    ],
    elsewhere: &[
        ("usessl", VERIFY_MYSQL),
        ("requiressl", VERIFY_MYSQL),
        ("ssl", VERIFY_MYSQL),
        ("tls", VERIFY_MYSQL),
        ("verifyservercertificate", VERIFY_MYSQL),
        ("trustservercertificate", VERIFY_MYSQL),
        ("sslverifyidentity", VERIFY_MYSQL),
        ("serversslcert", "write ssl-ca=FILE"),
        ("trustcertificatekeystoreurl", "write ssl-ca=FILE, a file in PEM"),
        ("servertimezone", UTC),
        ("connectiontimezone", UTC),
        ("loc", UTC),
        ("parsetime", "leave it out"),
        ("useunicode", UTF8),
        ("characterencoding", UTF8),
        ("connecttimeout", OWN_LIMITS),
        ("sockettimeout", OWN_LIMITS),
        ("timeout", OWN_LIMITS),
        ("autoreconnect", "leave it out: this program connects anew by itself"),
        ("allowpublickeyretrieval", "leave it out: over TLS no key is asked for"),
        ("unixsocket", "write socket=PATH"),
    ],
};

/// What sqlx reads in a URL of SQLite.
const SQLITE: Parameters =
    Parameters { of: "SQLite", known: &[&["mode"], &["cache"], &["immutable"], &["vfs"]], elsewhere: &[] };

/// What the client of Redis reads.
const REDIS: Parameters = Parameters {
    of: "Redis",
    known: &[&["protocol"]],
    elsewhere: &[
        ("ssl", REDISS),
        ("tls", REDISS),
        ("usessl", REDISS),
        ("sslcertreqs", REDISS),
        ("sslcacerts", "write the setting lease.tls_ca"),
        ("timeout", OWN_LIMITS),
        ("connecttimeout", OWN_LIMITS),
        ("sockettimeout", OWN_LIMITS),
        ("db", "write the number of the database after the host: redis://HOST/2"),
        ("database", "write the number of the database after the host: redis://HOST/2"),
        ("user", "write it before the host: redis://USER:PASSWORD@HOST"),
        ("username", "write it before the host: redis://USER:PASSWORD@HOST"),
        ("password", "write it before the host: redis://:PASSWORD@HOST"),
    ],
};

/// What this program reads in a URL with sentinels.
const SENTINEL: Parameters = Parameters {
    of: "Redis with sentinels",
    known: &[&["sentinel_user"], &["sentinel_password"]],
    elsewhere: &[
        ("ssl", REDISS_SENTINEL),
        ("tls", REDISS_SENTINEL),
        ("sentinelusername", "write sentinel_user"),
        (
            "password",
            "write it before the hosts: redis+sentinel://:PASSWORD@HOST/SERVICE; that of the sentinels is sentinel_password",
        ),
        ("db", "write the number of the database after the service: …/SERVICE/2"),
    ],
};

/// What this program reads in a URL with nodes of a cluster: nothing.
const CLUSTER: Parameters = Parameters {
    of: "Redis in a cluster",
    known: &[],
    elsewhere: &[
        ("ssl", REDISS_CLUSTER),
        ("tls", REDISS_CLUSTER),
        ("sentineluser", OF_SENTINELS),
        ("sentinelpassword", OF_SENTINELS),
        ("password", "write it before the hosts: redis+cluster://:PASSWORD@HOST,HOST"),
        ("db", "leave it out: a cluster has the database 0 only"),
    ],
};

const VERIFY_POSTGRES: &str =
    "write sslmode=verify-full, or sslmode=require, which encrypts and checks no certificate, or sslmode=disable";
const VERIFY_MYSQL: &str = "write ssl-mode=VERIFY_IDENTITY, or ssl-mode=REQUIRED, which encrypts and checks no certificate, or ssl-mode=DISABLED";
const REDISS: &str = "for TLS the URL begins with rediss://";
const REDISS_SENTINEL: &str = "for TLS the URL begins with rediss+sentinel://";
const REDISS_CLUSTER: &str = "for TLS the URL begins with rediss+cluster://";
const OF_SENTINELS: &str = "sentinels are named by redis+sentinel://HOST,HOST/SERVICE";
const OWN_LIMITS: &str = "leave it out: this program has time limits of its own";
pub(super) const GOES_TO_ONE_HOST: &str =
    "this program goes to one host, which is to lead to the primary; name that one";
const ONE_HOST: &str = "leave it out: this program goes to the one host of the URL, which is to lead to the primary";
const THE_SERVER: &str = "leave it out: this program goes to the server itself, not through a pooler of transactions";
const UTC: &str = "leave it out: this program speaks in UTC";
const UTF8: &str = "leave it out: this program speaks utf8mb4";

/// Checks the parameters of `database.url`.
pub(super) fn of_database(url: &str, dialect: Dialect) -> Result<(), String> {
    let parameters = match dialect {
        Dialect::Postgres => &POSTGRES,
        Dialect::MySql => &MYSQL,
        Dialect::Sqlite => &SQLITE,
    };
    let given = given(url);
    parameters.check(&given)?;
    values(&given, dialect)
}

/// Checks the parameters of `lease.url`.
pub(super) fn of_redis(url: &str) -> Result<(), String> {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let parameters = match scheme.split_once('+') {
        Some((_, "sentinel")) => &SENTINEL,
        Some((_, "cluster")) => &CLUSTER,
        _ => &REDIS,
    };
    parameters.check(&given(url))
}

/// The parameters of a URL.
fn given(url: &str) -> Vec<(String, String)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

impl Parameters {
    fn check(&self, given: &[(String, String)]) -> Result<(), String> {
        given.iter().find(|(name, _)| !self.reads(name)).map_or(Ok(()), |(name, _)| Err(self.refusal(name)))
    }

    fn reads(&self, name: &str) -> bool {
        let names = || self.known.iter().copied().flatten();
        // PostgreSQL's `options[statement_timeout]` sets what the server knows by that name.
        let option = names().any(|known| *known == "options") && name.starts_with("options[") && name.ends_with(']');
        option || names().any(|known| *known == name)
    }

    fn refusal(&self, name: &str) -> String {
        // What is no name may be the rest of a password.
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte)) || name.is_empty() {
            return "what follows the ? is no parameter (write ? as %3F in a password or a path)".to_owned();
        }
        let advice = match self.elsewhere.iter().find(|(other, _)| *other == bare(name)) {
            Some((_, advice)) => (*advice).to_owned(),
            None => self.nearest(name).map_or_else(|| self.all(), |meant| format!("did you mean {meant}?")),
        };
        format!("`{name}` is no parameter of a URL of {}: {advice}", self.of)
    }

    fn all(&self) -> String {
        let names: Vec<_> = self.known.iter().filter_map(|group| group.first().copied()).collect();
        if names.is_empty() {
            return "it has none".to_owned();
        }
        format!("the parameters are {}", names.join(", "))
    }

    /// The name that was most likely meant, if one is near.
    fn nearest(&self, name: &str) -> Option<&'static str> {
        let score = |known: &str| strsim::normalized_damerau_levenshtein(&bare(name), &bare(known));
        let best = |group: &&'static [&'static str]| {
            let scores = group.iter().map(|known| score(known));
            Some((scores.fold(0.0, f64::max), *group.first()?))
        };
        let scored = self.known.iter().filter_map(best).filter(|(score, _)| *score >= NEAR);
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
    }
}

/// A name without the marks and capitals in which clients differ.
fn bare(name: &str) -> String {
    name.chars().filter(|c| !"_-".contains(*c)).map(|c| c.to_ascii_lowercase()).collect()
}

/// The words of `sslmode`. The last two, after those that check nothing, verify the server.
const POSTGRES_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
const MYSQL_MODES: [&str; 5] = ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];

/// Checks the values that decide whether the server is verified, and those that this program sets itself.
fn values(given: &[(String, String)], dialect: Dialect) -> Result<(), String> {
    let value = |names: &[&str]| given.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
    let modes: &[&str] = match dialect {
        Dialect::Postgres => &POSTGRES_MODES,
        Dialect::MySql => &MYSQL_MODES,
        Dialect::Sqlite => {
            return match value(&["mode"]) {
                Some((_, mode)) if mode == "memory" => {
                    Err("a database in memory cannot be shared with your application; name a file".to_owned())
                }
                _ => Ok(()),
            };
        }
    };
    let mode = value(&["sslmode", "ssl-mode"]);
    let authority = value(&["sslrootcert", "ssl-root-cert", "ssl-ca", "sslca"]);
    let is = |mode: &str, word: &str| mode.eq_ignore_ascii_case(word);
    match (mode, authority) {
        (Some((name, mode)), _) if !modes.iter().any(|word| is(mode, word)) => {
            Err(format!("{name} is one of {}", modes.join(", ")))
        }
        (Some((name, mode)), Some((file, _))) if !modes[modes.len() - 2..].iter().any(|word| is(mode, word)) => {
            Err(format!(
                "{name}={mode} checks no certificate, so {file} would be for nothing: write {name}={}, or leave {file} out",
                modes[modes.len() - 1]
            ))
        }
        _ => own_values(given),
    }
}

/// Refuses what this program sets on each connection whatever the URL says, unless it is the same.
fn own_values(given: &[(String, String)]) -> Result<(), String> {
    for (name, value) in given {
        let advice = match name.as_str() {
            "charset" if !value.eq_ignore_ascii_case("utf8mb4") => UTF8,
            "timezone" | "time-zone" if value != "+00:00" && value != "UTC" => UTC,
            _ => continue,
        };
        return Err(format!("{name}={value}: {advice}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [(&str, &Parameters); 5] = [
        ("postgres://u@h/x", &POSTGRES),
        ("mysql://u@h/x", &MYSQL),
        ("sqlite://x.db", &SQLITE),
        ("redis://h", &REDIS),
        ("redis+sentinel://h/x", &SENTINEL),
    ];

    fn checked(url: &str) -> Result<(), String> {
        match url.split_once(':').map_or("", |(scheme, _)| scheme) {
            "postgres" => of_database(url, Dialect::Postgres),
            "mysql" => of_database(url, Dialect::MySql),
            "sqlite" => of_database(url, Dialect::Sqlite),
            _ => of_redis(url),
        }
    }

    /// One slip of the fingers at this place of a name.
    fn misspelt(name: &str, at: usize, slip: u8, typed: char) -> String {
        let mut chars: Vec<char> = name.chars().collect();
        let at = at % chars.len();
        match slip % 5 {
            0 => drop(chars.remove(at)),
            1 => chars.insert(at, typed),
            2 => chars[at] = typed,
            3 if at + 1 < chars.len() => chars.swap(at, at + 1),
            _ => chars[at] = chars[at].to_ascii_uppercase(),
        }
        chars.into_iter().collect()
    }

    proptest! {
        #[test]
        fn no_misspelt_parameter_is_passed_over_and_the_nearest_is_named(
            kind in 0..ALL.len(), group in any::<prop::sample::Index>(), alias in any::<prop::sample::Index>(),
            at in 0..40usize, slip in any::<u8>(), typed in prop::char::range('a', 'z'),
        ) {
            let (url, parameters) = ALL[kind];
            let group: &[&str] = group.get::<&[&str]>(parameters.known);
            let name = misspelt(alias.get::<&str>(group), at, slip, typed);
            prop_assume!(!name.is_empty() && !parameters.reads(&name));
            let refused = checked(&format!("{url}?{name}=1")).expect_err(&name);
            prop_assert!(refused.contains(&format!("`{name}` is no parameter")), "{}", refused);
            let known_elsewhere = parameters.elsewhere.iter().any(|(other, _)| *other == bare(&name));
            // As near as the name that was meant, or nearer.
            let near = |group: &[&str]| {
                let distances = group.iter().map(|known| strsim::damerau_levenshtein(&bare(&name), &bare(known)));
                distances.min().unwrap_or_default()
            };
            let nearest = parameters.known.iter().filter(|other| near(other) <= near(group));
            let mut suggested = nearest.map(|other| format!("did you mean {}?", other[0]));
            // A slip in a name of a few letters leaves little of it.
            let too_short = name.len() <= 3;
            prop_assert!(known_elsewhere || too_short || suggested.any(|words| refused.contains(&words)), "{}", refused);
        }

        #[test]
        fn what_follows_the_question_mark_of_a_password_is_not_repeated(rest in "[a-z]{1,8}[@/:%!][a-z@]{1,8}") {
            for (url, _) in ALL {
                let refused = checked(&format!("{url}?{rest}")).expect_err(url);
                let secret = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
                prop_assert!(secret.len() < 4 || !refused.contains(secret), "{}", refused);
            }
        }
    }

    #[test]
    fn every_parameter_that_a_client_reads_is_allowed() {
        for (url, parameters) in ALL {
            for name in parameters.known.iter().copied().flatten() {
                let value = match *name {
                    "sslmode" | "ssl-mode" if url.starts_with("mysql") => "VERIFY_CA",
                    "sslmode" | "ssl-mode" => "verify-ca",
                    "charset" => "utf8mb4",
                    "timezone" | "time-zone" => "%2B00:00",
                    _ => "1",
                };
                assert_eq!(checked(&format!("{url}?{name}={value}")), Ok(()), "{url} {name}");
            }
        }
        assert_eq!(checked("postgres://u@h/x?options[geqo]=off&options=-c%20geqo%3Doff"), Ok(()));
        assert_eq!(checked("mysql://u@h/x?"), Ok(()));
    }

    #[test]
    fn the_spellings_of_other_clients_are_answered_with_those_of_this_one() {
        for (url, meant) in [
            ("mysql://u@h/x?sslMode=VERIFY_IDENTITY", "did you mean ssl-mode?"),
            ("mysql://u@h/x?ssl_mode=VERIFY_IDENTITY", "did you mean ssl-mode?"),
            ("mysql://u@h/x?useSSL=true&requireSSL=true", "write ssl-mode=VERIFY_IDENTITY"),
            ("mysql://u@h/x?requireSSL=true", "write ssl-mode=VERIFY_IDENTITY"),
            ("mysql://u@h/x?serverTimezone=UTC", "leave it out"),
            ("postgres://u@h/x?ssl=true", "write sslmode=verify-full"),
            ("postgres://u@h/x?sslmode=require&channel_binding=require", "leave it out"),
            ("postgres://u@h/x?currentSchema=shop", "database.schema"),
            ("postgres://u@h/x?sslRootCert=/ca.pem", "did you mean sslrootcert?"),
            ("redis://h?timeout=5&ssl=true", "leave it out"),
            ("redis://h?ssl=true", "rediss://"),
            ("redis+sentinel://h/x?sentinelPassword=p", "did you mean sentinel_password?"),
        ] {
            let refused = checked(url).expect_err(url);
            assert!(refused.contains(meant), "{url}: {refused}");
        }
    }

    #[test]
    fn a_value_that_would_verify_nothing_by_mistake_is_refused() {
        for (url, meant) in [
            ("postgres://u@h/x?sslmode=verify_full", "verify-full"),
            ("mysql://u@h/x?ssl-mode=true", "VERIFY_IDENTITY"),
            ("postgres://u@h/x?sslmode=require&sslrootcert=/ca.pem", "sslmode=verify-full"),
            ("mysql://u@h/x?ssl-ca=/ca.pem&ssl-mode=preferred", "ssl-mode=VERIFY_IDENTITY"),
            ("mysql://u@h/x?charset=latin1", "utf8mb4"),
            ("mysql://u@h/x?time-zone=%2B09:00", "UTC"),
            ("sqlite://x.db?mode=memory", "name a file"),
        ] {
            let refused = checked(url).expect_err(url);
            assert!(refused.contains(meant), "{url}: {refused}");
        }
        for url in ["postgres://u@h/x?sslmode=VERIFY-FULL&sslrootcert=/ca.pem", "mysql://u@h/x?ssl-ca=/ca.pem"] {
            assert_eq!(checked(url), Ok(()), "{url}");
        }
    }
}
