//! Forms of URLs that hosts prescribe and the syntax of URLs does not have.

use std::borrow::Cow;

use url::form_urlencoded;

/// The URL of a database with a host where it has none after its user, and a parameter names the server, as
/// `postgres://user:password@/shop?host=/cloudsql/…`. The parameter goes before the host.
pub fn with_host(url: &str) -> Cow<'_, str> {
    let Some((scheme, authority, rest)) = parts(url) else { return Cow::Borrowed(url) };
    match authority.rsplit_once('@') {
        Some((user, port)) if (port.is_empty() || port.starts_with(':')) && names_a_server(rest) => {
            Cow::Owned(format!("{scheme}://{user}@localhost{port}{rest}"))
        }
        _ => Cow::Borrowed(url),
    }
}

/// Whether the URL names more than one host, before its path or in a parameter.
pub fn names_several_hosts(url: &str) -> bool {
    let Some((_, authority, rest)) = parts(url) else { return false };
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    // With an @ behind it, what stands before the first / is the beginning of a password.
    let in_front = hosts.contains(',') && !rest.split('?').next().unwrap_or_default().contains('@');
    in_front || parameters(rest).any(|(name, value)| matches!(&*name, "host" | "hostaddr") && value.contains(','))
}

fn names_a_server(rest: &str) -> bool {
    parameters(rest).any(|(name, value)| matches!(&*name, "host" | "hostaddr" | "socket") && !value.is_empty())
}

fn parameters(rest: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(rest.split_once('?').map_or("", |(_, query)| query).as_bytes())
}

/// The scheme, what stands between `://` and the path, and the rest.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    Some((scheme, authority, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_only_a_parameter_names_stands_in_no_place_of_its_own() {
        for (url, read) in [
            ("postgres://u:p@/x?host=/cloudsql/a:b:c", "postgres://u:p@localhost/x?host=/cloudsql/a:b:c"),
            ("postgres://u:p@:5433/x?host=db", "postgres://u:p@localhost:5433/x?host=db"),
            ("mysql://u:p@/x?socket=/cloudsql/a:b:c", "mysql://u:p@localhost/x?socket=/cloudsql/a:b:c"),
            ("postgres://u:p@/x", "postgres://u:p@/x"),
            ("postgres://u:p@db/x?host=/run", "postgres://u:p@db/x?host=/run"),
            ("postgres:///x?host=/run", "postgres:///x?host=/run"),
            ("sqlite://x.db", "sqlite://x.db"),
        ] {
            assert_eq!(with_host(url), read);
        }
    }

    #[test]
    fn a_comma_is_between_hosts_only_where_hosts_are() {
        for url in
            ["postgres://u:p@a:1,b:2/x", "postgres://a,b/x", "postgres:///x?host=a,b", "postgres://u:p@/x?host=a,b"]
        {
            assert!(names_several_hosts(url), "{url}");
        }
        for url in
            ["postgres://u:p,q@a/x", "postgres://u:p,q/r@a/x", "postgres://a/x,y?options=a,b", "sqlite://a,b.db/x@"]
        {
            assert!(!names_several_hosts(url), "{url}");
        }
    }
}
