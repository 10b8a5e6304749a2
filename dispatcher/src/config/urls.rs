//! Which URLs may stand where. Errors never repeat the URL: it may hold a password.

use url::Url;

use super::Dialect;

/// What `database.url` may be.
pub(super) const DATABASE: &str =
    "sqlite://PATH, postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE";
/// What an endpoint of the web may be.
pub(super) const WEB: &str = "a URL with http:// or https://";
/// What the base of targets may be.
pub(super) const BASE: &str = "a URL with http:// or https://, without user, query and fragment";

/// The database that a URL leads to.
pub(super) fn database(text: &str) -> Result<Dialect, String> {
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

/// A URL of the web.
pub(super) fn web(text: &str) -> Result<Url, String> {
    let url = parse(text)?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err("this is not a URL of the web".to_owned()),
    }
}

/// A URL of the web that paths are appended to.
pub(super) fn base(text: &str) -> Result<(), String> {
    let url = web(text)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user in it: credentials belong in `auth`".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it has a query or a fragment, and paths are appended to it".to_owned());
    }
    Ok(())
}

fn parse(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|why| {
        let hint = if text.contains('@') { " (write / as %2F, # as %23 and @ as %40 in a password)" } else { "" };
        format!("this is not a URL: {why}{hint}")
    })
}
