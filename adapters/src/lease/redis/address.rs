//! The forms of `lease.url`: one server, the sentinels that know which server is the primary, or nodes of a cluster.

use outbox_store::tls::{Tls, is_this_machine};
use outbox_store::url_forms::names_several_hosts;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use url::Url;

/// The port of a sentinel where the URL has none.
const SENTINEL_PORT: u16 = 26379;

/// The port of a node of a cluster where the URL has none.
const NODE_PORT: u16 = 6379;

/// The place of the lease.
pub(super) enum Address {
    /// The lease is on this server.
    Server(ConnectionInfo),
    /// The lease is on the server that the sentinels call the primary.
    Sentinels(Sentinels),
    /// The lease is on the node of a cluster that owns the slot of its key. These nodes know which one that is: at least one.
    Cluster(Vec<ConnectionInfo>),
}

/// The sentinels, and the connection settings of the primary that they name.
pub(super) struct Sentinels {
    /// The sentinels: at least one.
    pub(super) asked: Vec<ConnectionInfo>,
    /// The name under which the sentinels watch the primary.
    pub(super) service: String,
    /// The credentials and the database of the primary.
    pub(super) server: RedisConnectionInfo,
}

impl Address {
    /// Reads `lease.url`.
    ///
    /// # Errors
    /// What is wrong with the URL, for people. Never repeats the URL, which may hold a password.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("it does not begin with redis:// or its like")?;
        match scheme {
            "redis" | "rediss" => server(url).map(Self::Server),
            "redis+sentinel" => sentinels("redis", rest).map(Self::Sentinels),
            "rediss+sentinel" => sentinels("rediss", rest).map(Self::Sentinels),
            "redis+cluster" => cluster("redis", rest).map(Self::Cluster),
            "rediss+cluster" => cluster("rediss", rest).map(Self::Cluster),
            _ => Err("this is not a Redis URL".to_owned()),
        }
    }

    /// The address for errors, without credentials.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Server(info) => info.addr().to_string(),
            Self::Sentinels(Sentinels { asked, service, .. }) => format!("{service} (sentinels {})", listed(asked)),
            Self::Cluster(nodes) => format!("the cluster of {}", listed(nodes)),
        }
    }
}

fn listed(servers: &[ConnectionInfo]) -> String {
    servers.iter().map(|info| info.addr().to_string()).collect::<Vec<_>>().join(", ")
}

/// The address of the node that a cluster names, as `HOST:PORT`. A node that does not know its host leaves that out: it is the
/// host of the node that was asked.
pub(super) fn node_named(named: &str, asked: &ConnectionInfo) -> Option<ConnectionInfo> {
    let (host, port) = named.rsplit_once(':')?;
    let (ConnectionAddr::Tcp(own, _) | ConnectionAddr::TcpTls { host: own, .. }) = asked.addr() else { return None };
    let host = if host.is_empty() { own } else { host };
    Some(reached_as(asked, host.to_owned(), port.parse().ok()?))
}

/// A server elsewhere, reached as that one is: with its protection and its login.
pub(super) fn reached_as(that: &ConnectionInfo, host: String, port: u16) -> ConnectionInfo {
    let addr = match that.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        _ => ConnectionAddr::Tcp(host, port),
    };
    that.clone().set_addr(addr)
}

/// How the connections to a Redis are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisLink {
    /// The protection by TLS.
    pub tls: Tls,
    /// Whether what is sent stays on this machine. Sentinels and nodes of a cluster may name a server that is elsewhere.
    pub is_near: bool,
    /// The server, or the first sentinel, to which a password goes in the clear, beyond this machine.
    in_the_clear: Option<String>,
}

impl RedisLink {
    /// The protection that `lease.url` asks for.
    ///
    /// # Errors
    /// What is wrong with the URL, for people.
    pub fn of(url: &str) -> Result<Self, String> {
        let (servers, primary, names_others) = match Address::parse(url)? {
            Address::Server(info) => (vec![info], None, false),
            Address::Sentinels(Sentinels { asked, server, .. }) => (asked, Some(server), true),
            Address::Cluster(nodes) => (nodes, None, true),
        };
        let mut logins = servers.iter().map(ConnectionInfo::redis_settings).chain(&primary);
        let has_password = logins.any(|login| login.password().is_some());
        let encrypted = servers.iter().all(|info| matches!(info.addr(), ConnectionAddr::TcpTls { .. }));
        let far = servers.iter().map(ConnectionInfo::addr).find(|address| match address {
            ConnectionAddr::Tcp(host, _) => !is_this_machine(host),
            _ => false,
        });
        let is_near = !names_others && far.is_none();
        let in_the_clear = far.filter(|_| has_password).map(ToString::to_string);
        Ok(Self {
            tls: if encrypted { Tls::Verified } else { Tls::None },
            is_near: is_near && !encrypted,
            in_the_clear,
        })
    }

    /// A warning for the operator, where a password goes over a network in the clear.
    pub fn warning(&self) -> Option<String> {
        let to = self.in_the_clear.as_ref()?;
        Some(format!("the password of lease.url goes to {to} in the clear: write rediss:// where the server has TLS"))
    }
}

fn server(text: &str) -> Result<ConnectionInfo, String> {
    if names_several_hosts(text) {
        return Err(
            "it names several hosts: sentinels are named by redis+sentinel://HOST,HOST/SERVICE, nodes of a cluster by \
                    redis+cluster://HOST,HOST, any other server is one host"
                .to_owned(),
        );
    }
    let url = Url::parse(text).map_err(|why| {
        let hint = if text.contains('@') { " (write / as %2F, # as %23 and @ as %40 in a password)" } else { "" };
        format!("this is not a URL: {why}{hint}")
    })?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err("the host is missing".to_owned());
    }
    if url.fragment().is_some() {
        return Err("it has a fragment (write # as %23 in a password)".to_owned());
    }
    database(url.path())?;
    url.into_connection_info().map_err(|why| why.to_string())
}

/// Reads `[user:password@]host[:port][,host[:port]…]/service[/db][?sentinel_user=…&sentinel_password=…]`. The general
/// syntax of URLs allows one host only, so each host is read by itself.
fn sentinels(scheme: &str, rest: &str) -> Result<Sentinels, String> {
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let missing = "the name of the service is missing after the hosts: …/mymaster";
    let (authority, path) = rest.split_once('/').ok_or(missing)?;
    let (service, db) = path.split_once('/').unwrap_or((path, ""));
    if service.is_empty() {
        return Err(missing.to_owned());
    }
    let service = service_name(service)?;
    let (credentials, hosts) = match authority.rsplit_once('@') {
        Some((credentials, hosts)) => (format!("{credentials}@"), hosts),
        None => (String::new(), authority),
    };
    // The host here stands in for that of the primary, which is asked for later.
    let template = server(&format!("{scheme}://{credentials}primary/{db}"))?;
    let login = sentinel_login(query)?;
    let asked =
        hosts.split(',').map(|host| one_of_several(scheme, host, SENTINEL_PORT, &login)).collect::<Result<_, _>>()?;
    Ok(Sentinels { asked, service, server: template.redis_settings().clone() })
}

/// Reads `[user:password@]host[:port][,host[:port]…]`.
fn cluster(scheme: &str, rest: &str) -> Result<Vec<ConnectionInfo>, String> {
    if rest.contains('?') {
        return Err("it has parameters, and those of sentinels are for redis+sentinel://".to_owned());
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !matches!(path, "" | "0") {
        let hint = if path.contains('@') { " (write / as %2F in a password)" } else { "" };
        return Err(format!("a cluster has the database 0 only: leave out what follows the hosts{hint}"));
    }
    let (credentials, hosts) = match authority.rsplit_once('@') {
        Some((credentials, hosts)) => (format!("{credentials}@"), hosts),
        None => (String::new(), authority),
    };
    // The host here stands in for those of the nodes.
    let login = server(&format!("{scheme}://{credentials}node"))?.redis_settings().clone();
    hosts.split(',').map(|host| one_of_several(scheme, host, NODE_PORT, &login)).collect()
}

fn one_of_several(scheme: &str, host: &str, port: u16, login: &RedisConnectionInfo) -> Result<ConnectionInfo, String> {
    let mut url = Url::parse(&format!("{scheme}://{host}")).map_err(|why| {
        // The host is not shown: it may be part of a password with a / in it.
        format!("one of the hosts is not one: {why} (write / as %2F, # as %23 and @ as %40 in a password)")
    })?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err("one of the hosts is missing".to_owned());
    }
    if url.port().is_none() {
        // This is refused only for URLs without a host.
        let _ = url.set_port(Some(port));
    }
    let info = url.into_connection_info().map_err(|why| why.to_string())?;
    Ok(info.set_redis_settings(login.clone()))
}

/// The login of the sentinels, which have passwords of their own, or none.
fn sentinel_login(query: Option<&str>) -> Result<RedisConnectionInfo, String> {
    let mut login = RedisConnectionInfo::default();
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        login = match &*name {
            "sentinel_user" => login.set_username(&*value),
            "sentinel_password" => login.set_password(&*value),
            _ => return Err("after the ? only sentinel_user and sentinel_password are known".to_owned()),
        };
    }
    Ok(login)
}

fn service_name(service: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if service.chars().all(plain) {
        return Ok(service.to_owned());
    }
    let hint = if service.contains('@') { " (write / as %2F in a password)" } else { "" };
    Err(format!("the name of the service has other characters than letters, digits, \".\", \"_\" and \"-\"{hint}"))
}

fn database(path: &str) -> Result<(), String> {
    match path.trim_matches('/') {
        "" => Ok(()),
        number if number.parse::<u16>().is_ok() => Ok(()),
        _ => Err("the database after the / is not a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parsed(url: &str) -> Sentinels {
        match Address::parse(url).unwrap() {
            Address::Sentinels(sentinels) => sentinels,
            Address::Server(_) | Address::Cluster(_) => panic!("{url} names sentinels"),
        }
    }

    #[test]
    fn sentinels_are_read_with_their_ports_and_the_primary_with_its_credentials() {
        let found = parsed("redis+sentinel://me:p%40ss@one,two:5000,[::1]:5001/shop.primary/3");
        let hosts: Vec<_> = found.asked.iter().map(|info| info.addr().to_string()).collect();
        assert_eq!(hosts, ["one:26379", "two:5000", "::1:5001"]);
        assert_eq!(found.service, "shop.primary");
        let server = &found.server;
        assert_eq!((server.username(), server.password(), server.db()), (Some("me"), Some("p@ss"), 3));
        assert!(found.asked.iter().all(|info| info.redis_settings().password().is_none()));
    }

    #[test]
    fn sentinels_have_credentials_of_their_own() {
        let found = parsed("rediss+sentinel://:secret@one/shop?sentinel_user=watch&sentinel_password=t%26p");
        let login = found.asked[0].redis_settings();
        assert_eq!((login.username(), login.password()), (Some("watch"), Some("t&p")));
        assert_eq!((found.server.username(), found.server.password()), (None, Some("secret")));
        assert!(matches!(found.asked[0].addr(), redis::ConnectionAddr::TcpTls { insecure: false, .. }));
    }

    #[test]
    fn nodes_of_a_cluster_are_read_with_their_ports_and_one_login() {
        for (url, found) in [
            ("redis+cluster://me:p%40ss@one,two:5000,[::1]:5001", ["one:6379", "two:5000", "::1:5001"]),
            ("rediss+cluster://me:p%40ss@a,b,c:1/0", ["a:6379", "b:6379", "c:1"]),
        ] {
            let Address::Cluster(nodes) = Address::parse(url).unwrap() else { panic!("{url} names a cluster") };
            assert_eq!(nodes.iter().map(|node| node.addr().to_string()).collect::<Vec<_>>(), found);
            let is_encrypted =
                |node: &ConnectionInfo| matches!(node.addr(), ConnectionAddr::TcpTls { insecure: false, .. });
            assert!(nodes.iter().all(|node| is_encrypted(node) == url.starts_with("rediss")));
            let login = |node: &ConnectionInfo| {
                let login = node.redis_settings();
                (login.username() == Some("me"), login.password() == Some("p@ss"), login.db())
            };
            assert!(nodes.iter().all(|node| login(node) == (true, true, 0)));
        }
    }

    #[test]
    fn a_node_that_a_cluster_names_is_reached_as_the_one_that_was_asked() {
        let asked = server("rediss://me:secret@one:7000").unwrap();
        for (named, found) in [("10.0.0.2:7001", "10.0.0.2:7001"), ("::1:7001", "::1:7001"), (":7001", "one:7001")] {
            let node = node_named(named, &asked).unwrap();
            assert_eq!(node.addr().to_string(), found);
            assert!(matches!(node.addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
            assert_eq!(node.redis_settings().password(), Some("secret"));
        }
        assert!(["", "one", "one:port"].iter().all(|named| node_named(named, &asked).is_none()));
    }

    #[test]
    fn a_password_that_leaves_the_machine_in_the_clear_is_told_without_it() {
        for (url, tls, warns) in [
            ("redis://:secret@cache", Tls::None, true),
            ("redis+sentinel://:secret@one,two/shop", Tls::None, true),
            ("redis+sentinel://127.0.0.1,two/shop?sentinel_password=secret", Tls::None, true),
            ("redis+cluster://:secret@127.0.0.1,two", Tls::None, true),
            ("rediss+cluster://:secret@one,two", Tls::Verified, false),
            ("redis://cache", Tls::None, false),
            ("redis://:secret@localhost", Tls::None, false),
            ("redis://:secret@[::1]:6379", Tls::None, false),
            ("rediss://:secret@cache", Tls::Verified, false),
            ("rediss+sentinel://:secret@one,two/shop", Tls::Verified, false),
        ] {
            let link = RedisLink::of(url).unwrap();
            let warning = link.warning();
            assert_eq!((link.tls, warning.is_some()), (tls, warns), "{url}");
            assert!(warning.is_none_or(|told| told.contains("rediss://") && !told.contains("secret")), "{url}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for (url, why) in [
            ("redis://me:secret@one:1,two:2", "several hosts: sentinels"),
            ("localhost:6379", "does not begin with"),
            ("http://me:secret@localhost", "not a Redis URL"),
            ("redis://me:secret@", "not a URL"),
            ("redis://me:secret@localhost/first", "not a number"),
            ("rediss://me:secret@localhost/#insecure", "fragment"),
            ("redis+sentinel://me:secret@one,two", "the service is missing"),
            ("redis+sentinel://me:secret@one,two/", "the service is missing"),
            ("redis+sentinel://me:secret@one,,two/shop", "one of the hosts is missing"),
            ("redis+sentinel://me:secret@one:port/shop", "is not one"),
            ("redis+sentinel://me:secret@one/shop/first", "not a number"),
            ("redis+sentinel://me:secret@one/shop?password=secret", "only sentinel_user"),
            ("redis+sentinel://me:secret/x@one/shop", "write / as %2F"),
            ("redis://me:secret@one:1,two:2", "redis+cluster://"),
            ("redis+cluster://", "one of the hosts is missing"),
            ("redis+cluster://me:secret@", "one of the hosts is missing"),
            ("redis+cluster://me:secret@one,", "one of the hosts is missing"),
            ("redis+cluster://me:secret@one/1", "the database 0 only"),
            ("redis+cluster://me:secret/x@one", "write / as %2F"),
            ("redis+cluster://me:secret@one?sentinel_password=secret", "redis+sentinel://"),
            ("redis+cluster://me:secret@one:port", "is not one"),
            ("valkey://me:secret@one", "not a Redis URL"),
        ] {
            let error = Address::parse(url).err().unwrap_or_else(|| panic!("{url} is taken"));
            assert!(error.contains(why), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
