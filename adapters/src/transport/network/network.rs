//! Which addresses a channel may reach. An application that can write a row can name any URL. So a channel reaches the
//! public internet and nothing else, unless its `allow_networks` says so, and less where `deny_networks`, `https_only` or
//! `ports` say so.
//!
//! **Invariant** The checked address is the dialled address: the resolver that [`dial`] uses ([`resolver::Resolver`])
//! checks names; hosts that are addresses skip the resolver, and are checked before the request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use ipnet::IpNet;
use url::{Host, Url};

/// The address guard of one channel.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) allowed: Vec<IpNet>,
    /// Networks that are closed, whatever is allowed.
    pub(crate) denied: Vec<IpNet>,
    /// Whether `http://` is closed.
    pub(crate) https_only: bool,
    /// The ports that are open. Empty: all of them.
    pub(crate) ports: Vec<u16>,
    /// Whether this is the channel that there is as long as none is configured, for errors.
    pub(crate) is_implied: bool,
    /// The address of the dispatcher's own listener, which no message may reach.
    pub(crate) own: Option<SocketAddr>,
    /// The name of the channel, for errors.
    pub(crate) channel: String,
}

impl Guard {
    /// A guard that permits public addresses and `allowed`, the setting `channels.NAME.allow_networks`, but never `own`,
    /// the address of the dispatcher's own listener.
    pub(crate) fn new(channel: &str, allowed: &[IpNet], own: Option<SocketAddr>) -> Self {
        Self {
            allowed: allowed.to_vec(),
            denied: Vec::new(),
            https_only: false,
            ports: Vec::new(),
            is_implied: false,
            own,
            channel: channel.to_owned(),
        }
    }

    /// Checks an address that is to be dialled.
    fn permit(&self, address: SocketAddr) -> Result<(), Refused> {
        if self.own.is_some_and(|own| reaches(address, own)) {
            return Err(Refused::Own);
        }
        let ip = address.ip();
        let plain = embedded(ip);
        let holds = |net: &&IpNet| net.contains(&plain) || net.contains(&ip);
        if let Some(net) = self.denied.iter().find(holds) {
            return Err(Refused::Denied(*net));
        }
        if self.allowed.iter().any(|net| holds(&net)) {
            return Ok(());
        }
        // An address of IPv6 that holds one of IPv4 is dialled as what it is, unless it is mapped.
        let reserved = super::ranges::reserved(plain).or_else(|| super::ranges::reserved(ip.to_canonical()));
        reserved.map_or(Ok(()), |what| Err(Refused::Reserved(what)))
    }

    /// Checks a URL: its scheme, its port, and its host where that is an address. A name is checked when it is resolved.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Forbidden> {
        let (channel, port) = (&self.channel, port_of(url));
        if self.https_only && url.scheme() != "https" {
            return Err(Forbidden(format!("channels.{channel}.https_only allows nothing but https://")));
        }
        if !self.ports.is_empty() && !self.ports.contains(&port) {
            return Err(Forbidden(format!("channels.{channel}.ports does not allow the port {port}")));
        }
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        let address = SocketAddr::new(ip, port);
        self.permit(address).map_err(|refused| self.forbidden(&format!("{ip} is"), refused))
    }

    /// Those of `addresses`, of the host `name`, that may be dialled at this port.
    ///
    /// # Errors
    /// [`Forbidden`] where there are addresses and none of them may be dialled.
    pub(super) fn filter(&self, name: &str, port: u16, addresses: Vec<IpAddr>) -> Result<Vec<SocketAddr>, Forbidden> {
        let mut refused = None;
        let mut permitted = Vec::new();
        for address in addresses.into_iter().map(|ip| SocketAddr::new(ip, port)) {
            match self.permit(address) {
                Ok(()) => permitted.push(address),
                Err(why) => refused = refused.or(Some((address.ip(), why))),
            }
        }
        match refused {
            Some((ip, why)) if permitted.is_empty() => {
                Err(self.forbidden(&format!("{name} resolves only to addresses like {ip}, which is"), why))
            }
            Some(_) | None => Ok(permitted),
        }
    }

    fn forbidden(&self, subject: &str, refused: Refused) -> Forbidden {
        let channel = &self.channel;
        Forbidden(match refused {
            Refused::Own => {
                format!("{subject} where this dispatcher has its own admin API (admin.listen): no message may go there")
            }
            Refused::Denied(_) if self.is_implied => format!(
                "{subject} beyond this machine, and as long as no channel is configured, only this machine is reached: write \
                 [channels.{channel}] with kind = \"http\" into the settings file"
            ),
            Refused::Denied(net) => format!("{subject} in {net}, which channels.{channel}.deny_networks closes"),
            Refused::Reserved(what) => format!(
                "{subject} {what}: this channel may not reach it; if it is meant to, add its network to \
                 channels.{channel}.allow_networks"
            ),
        })
    }
}

/// Why an address may not be dialled.
#[derive(Debug, Clone, Copy)]
enum Refused {
    /// The dispatcher's own listener has it.
    Own,
    /// It is in this network of `deny_networks`.
    Denied(IpNet),
    /// It is in this kind of network.
    Reserved(&'static str),
}

/// The channel may not reach that address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Forbidden(String);

/// The port that a request to `url` goes to.
pub(crate) fn port_of(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or_default()
}

/// Whether a connection to `address` may come to a listener that is bound to `own`. Loopback is refused as a whole: what
/// a container or a proxy makes of it is not known here.
fn reaches(address: SocketAddr, own: SocketAddr) -> bool {
    let (ip, own_ip) = (embedded(address.ip()), embedded(own.ip()));
    address.port() == own.port()
        && (ip == own_ip
            || ip.is_loopback()
            || ip.is_unspecified()
            || own_ip.is_unspecified() && is_of_this_machine(ip))
}

/// Whether an interface of this machine has the address: only such an address can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// The IPv4 address inside an IPv4-mapped or IPv4-compatible IPv6 address. Any other address is returned unchanged.
fn embedded(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    if v6 == Ipv6Addr::UNSPECIFIED || v6 == Ipv6Addr::LOCALHOST {
        return ip;
    }
    // `to_ipv4` takes both forms: ::ffff:a.b.c.d (RFC 4291, 2.5.5.2) and ::a.b.c.d (2.5.5.1).
    v6.to_ipv4().map_or(ip, |v4: Ipv4Addr| IpAddr::V4(v4))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(guard: &Guard, host: &str) -> Result<(), Forbidden> {
        guard.check(&Url::parse(&format!("http://{host}/")).unwrap())
    }

    #[test]
    fn every_kind_of_reserved_address_is_refused_however_it_is_written() {
        let guard = Guard::new("hooks", &[], None);
        for host in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.5",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.1",
            "127.0.0.1.",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "169.254.169.254",
            "168.63.129.16",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:7f00:1]",
            "[::10.0.0.1]",
            "[::8.8.8.8]",
            "[::ffff:0:808:808]",
            "[200::1]",
            "[100:0:0:1::1]",
            "[4000::1]",
            "[64:ff9b::a00:1]",
            "[64:ff9b::808:808]",
            "[64:ff9b:1::1]",
            "[100::1]",
            "[2001::1]",
            "[2001:2::1]",
            "[2001:10::1]",
            "[2001:db8::1]",
            "[3fff::1]",
            "[2002:a00:1::]",
            "[5f00::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[febf::1]",
            "[fec0::1]",
            "[ff02::1]",
        ] {
            let refused = check(&guard, host).expect_err(&format!("{host} must be refused"));
            assert!(refused.to_string().contains("channels.hooks.allow_networks"), "{host}: {refused}");
        }
    }

    #[test]
    fn one_address_is_refused_in_every_spelling_of_it() {
        let guard = Guard::new("hooks", &[], None);
        for (form, host) in [
            ("dotted", "169.254.169.254"),
            ("with a full stop", "169.254.169.254."),
            ("decimal", "2852039166"),
            ("hexadecimal", "0xa9fea9fe"),
            ("hexadecimal parts", "0xA9.0xFE.0xA9.0xFE"),
            ("octal", "025177524776"),
            ("octal parts", "0251.0376.0251.0376"),
            ("mixed parts", "0xa9.254.0251.254"),
            ("short", "169.16689662"),
            ("three parts", "169.254.43518"),
            ("percent-encoded", "%31%36%39.254.169.254"),
            ("full-width digits", "１６９.254.169.254"),
            ("IPv4-mapped", "[::ffff:169.254.169.254]"),
            ("IPv4-mapped in groups", "[0:0:0:0:0:ffff:a9fe:a9fe]"),
            ("IPv4-compatible", "[::169.254.169.254]"),
        ] {
            let refused = check(&guard, host).expect_err(form).to_string();
            assert!(refused.contains("metadata address"), "{form}: {refused}");
        }
    }

    #[test]
    fn public_addresses_pass() {
        let guard = Guard::new("hooks", &[], None);
        for host in [
            "8.8.8.8",
            "1.1.1.1",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "[2606:4700::1111]",
            "[2a00:1450:4001::200a]",
            "[::ffff:8.8.8.8]",
            "hooks.example.com",
        ] {
            assert_eq!(check(&guard, host), Ok(()), "{host} must pass");
        }
    }

    #[test]
    fn a_listed_network_passes_also_in_its_mapped_form_and_nothing_beside_it_does() {
        let guard = Guard::new("hooks", &["10.1.0.0/16".parse().unwrap(), "fd00:1::/32".parse().unwrap()], None);
        for host in ["10.1.2.3", "[::ffff:10.1.2.3]", "[fd00:1::7]"] {
            assert_eq!(check(&guard, host), Ok(()), "{host} must pass");
        }
        for host in ["10.2.0.1", "[::ffff:10.2.0.1]", "[fd00:2::7]", "127.0.0.1"] {
            assert!(check(&guard, host).is_err(), "{host} must be refused");
        }
    }

    #[test]
    fn the_listener_of_the_dispatcher_itself_is_refused_whatever_is_allowed() {
        let everything = ["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
        let guard = |own: &str| Guard::new("hooks", &everything, Some(own.parse().unwrap()));
        let loopback = [
            "127.0.0.1:8640",
            "127.0.0.1.:8640",
            "127.1:8640",
            "2130706433:8640",
            "127.0.0.2:8640",
            "0.0.0.0:8640",
            "[::1]:8640",
            "[::]:8640",
            "[::ffff:127.0.0.1]:8640",
            "[::ffff:0.0.0.0]:8640",
            "[::127.0.0.1]:8640",
        ];
        for own in
            ["127.0.0.1:8640", "10.1.2.3:8640", "[::1]:8640", "[::ffff:127.0.0.1]:8640", "0.0.0.0:8640", "[::]:8640"]
        {
            let guard = guard(own);
            for host in loopback {
                let refused = check(&guard, host).expect_err(&format!("{host} reaches {own}")).to_string();
                assert!(refused.contains("its own admin API (admin.listen)"), "{refused}");
            }
            for other in ["127.0.0.1:8641", "[::1]:8641", "127.0.0.1", "10.1.2.4:8640"] {
                assert_eq!(check(&guard, other), Ok(()), "{other} beside {own}");
            }
        }
        for host in ["10.1.2.3:8640", "[::ffff:10.1.2.3]:8640", "[::ffff:a01:203]:8640"] {
            assert!(check(&guard("10.1.2.3:8640"), host).is_err(), "{host}");
        }
        let named = guard("0.0.0.0:8640").filter("localhost", 8640, vec![Ipv4Addr::LOCALHOST.into()]);
        assert!(named.unwrap_err().to_string().contains("its own admin API"));
    }

    #[test]
    fn a_listener_at_all_addresses_is_refused_at_each_address_of_the_machine() {
        // The address from which this machine would reach another one: no packet is sent.
        let outward = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("192.0.2.1:9")?;
            socket.local_addr()
        });
        // A machine without a network has loopback alone.
        let Ok(outward) = outward else { return };
        let everything = ["0.0.0.0/0".parse().unwrap()];
        let guard = Guard::new("hooks", &everything, Some("0.0.0.0:8640".parse().unwrap()));
        assert!(check(&guard, &format!("{}:8640", outward.ip())).is_err(), "{outward}");
        assert_eq!(check(&guard, "192.0.2.1:8640"), Ok(()));
    }

    #[test]
    fn who_has_configured_no_channel_is_told_so_and_not_of_networks_that_nobody_wrote() {
        let denied = vec!["64.0.0.0/3".parse().unwrap()];
        let guard = Guard { denied, is_implied: true, ..Guard::new("http", &[], None) };
        let refused = check(&guard, "93.184.216.34").unwrap_err().to_string();
        assert!(refused.contains("as long as no channel is configured, only this machine is reached"), "{refused}");
        assert!(refused.contains("write [channels.http]") && !refused.contains("deny_networks"), "{refused}");
    }

    #[test]
    fn a_denied_network_is_closed_whatever_is_allowed() {
        let networks = |all: &[&str]| all.iter().map(|net| net.parse().unwrap()).collect::<Vec<IpNet>>();
        let allowed = networks(&["10.0.0.0/8", "fd00::/8"]);
        let denied = networks(&["10.1.0.0/16", "8.8.8.8/32", "2606:4700::/32", "fd00:1::/32"]);
        let guard = Guard { denied, ..Guard::new("hooks", &allowed, None) };
        for host in ["10.1.2.3", "[::ffff:10.1.2.3]", "8.8.8.8", "[2606:4700::1111]", "[fd00:1::7]"] {
            let refused = check(&guard, host).expect_err(host).to_string();
            assert!(refused.contains("which channels.hooks.deny_networks closes"), "{refused}");
        }
        for host in ["10.2.0.1", "8.8.4.4", "[2606:4701::1]", "[fd00:2::7]"] {
            assert_eq!(check(&guard, host), Ok(()), "{host}");
        }
        let named = guard.filter("db.example.com", 443, vec![[10, 1, 2, 3].into()]);
        assert!(named.unwrap_err().to_string().contains("channels.hooks.deny_networks"));
    }

    #[test]
    fn other_schemes_and_ports_than_the_channel_has_are_closed() {
        let guard = Guard { https_only: true, ports: vec![443, 8443], ..Guard::new("hooks", &[], None) };
        let checked = |url: &str| guard.check(&Url::parse(url).unwrap()).map_err(|refused| refused.to_string());
        for url in ["https://hooks.example.com/", "https://8.8.8.8:8443/"] {
            assert_eq!(checked(url), Ok(()), "{url}");
        }
        for (url, said) in [
            ("http://hooks.example.com:443/", "channels.hooks.https_only allows nothing but https://"),
            ("https://hooks.example.com:444/", "channels.hooks.ports does not allow the port 444"),
        ] {
            assert_eq!(checked(url), Err(said.to_owned()), "{url}");
        }
    }

    #[test]
    fn a_refusal_names_the_network() {
        let refused = check(&Guard::new("hooks", &[], None), "10.0.0.5").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "10.0.0.5 is in the private network 10.0.0.0/8: this channel may not reach it; if it is meant to, add its \
             network to channels.hooks.allow_networks"
        );
    }
}
