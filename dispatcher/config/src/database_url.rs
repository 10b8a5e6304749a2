//! The forms of `database.url`. Errors never repeat the URL, which may hold a password.

use outbox_store::url_forms::{names_several_hosts, with_host};
use url::Url;

use super::{Dialect, url_parameters};

/// The allowed forms, in words.
pub(super) const ALLOWED: &str =
    "sqlite://PATH, postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE";

/// The characters of a password that a URL takes for its own, and how they are written.
const IN_A_PASSWORD: &str = "write / as %2F, # as %23 and @ as %40 in a password";

/// The database that a URL leads to, where each of its parameters is one.
pub(super) fn dialect(text: &str) -> Result<Dialect, String> {
    let dialect = named(text)?;
    url_parameters::of_database(text, dialect)?;
    Ok(dialect)
}

fn named(text: &str) -> Result<Dialect, String> {
    if text.starts_with("jdbc:") {
        return Err("this is a JDBC URL: leave out \"jdbc:\" and write user and password before the host".to_owned());
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err("it does not begin with the name of a database and ://".to_owned());
    };
    match scheme {
        "sqlite" => sqlite(rest),
        "postgres" | "postgresql" => parse(text).map(|_| Dialect::Postgres),
        "mysql" | "mariadb" => match parse(text)?.path().trim_matches('/') {
            "" => Err("the name of the database is missing after the host".to_owned()),
            _ => Ok(Dialect::MySql),
        },
        _ => Err("this database is not supported".to_owned()),
    }
}

fn sqlite(rest: &str) -> Result<Dialect, String> {
    match rest.split('?').next().unwrap_or_default() {
        "" => Err("the path of the file is missing".to_owned()),
        ":memory:" => Err("a database in memory cannot be shared with your application; name a file".to_owned()),
        _ => Ok(Dialect::Sqlite),
    }
}

fn parse(text: &str) -> Result<Url, String> {
    if names_several_hosts(text) {
        return Err(format!("it names several hosts: {}", url_parameters::GOES_TO_ONE_HOST));
    }
    let url = Url::parse(&with_host(text)).map_err(|why| {
        if why == url::ParseError::EmptyHost {
            return "the host is missing after the @ (a socket is named by ?host=/PATH, on MySQL by ?socket=/PATH)"
                .to_owned();
        }
        let hint = if text.contains('@') { format!(" ({IN_A_PASSWORD})") } else { String::new() };
        format!("this is not a URL: {why}{hint}")
    })?;
    // What stands before the first / was taken for user, password and host.
    if url.path().contains('@') {
        return Err(format!("an @ stands behind the host ({IN_A_PASSWORD})"));
    }
    match url.fragment() {
        Some(_) => Err("it has a fragment (write # as %23 in a password)".to_owned()),
        None => Ok(url),
    }
}
