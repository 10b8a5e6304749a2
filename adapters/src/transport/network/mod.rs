//! Which addresses a channel may reach. An application that can write a row can name any URL. So a channel reaches the
//! public internet and nothing else, unless its `allow_networks` says so.
//!
//! **Invariant** The checked address is the dialled address: the resolver that [`dial`] uses ([`resolver::Resolver`])
//! checks names; hosts that are addresses skip the resolver, and are checked before the request.

pub(crate) mod dial;
mod ranges;
pub(crate) mod resolver;
pub(crate) mod tls;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::Host;

/// The address guard of one channel.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    allowed: Vec<IpNet>,
    setting: String,
}

impl Guard {
    /// A guard that permits public addresses and `allowed`, the setting `channels.NAME.allow_networks`.
    pub(crate) fn new(channel: &str, allowed: &[IpNet]) -> Self {
        Self { allowed: allowed.to_vec(), setting: format!("channels.{channel}.allow_networks") }
    }

    /// Whether `ip` may be dialled. The error says what kind of address it is.
    fn permit(&self, ip: IpAddr) -> Result<(), &'static str> {
        let plain = embedded(ip);
        if self.allowed.iter().any(|net| net.contains(&plain) || net.contains(&ip)) {
            return Ok(());
        }
        ranges::reserved(plain).map_or(Ok(()), Err)
    }

    /// Checks a host that may be an address. A name passes here: it is checked when it is resolved.
    pub(crate) fn check_host(&self, host: &Host<&str>) -> Result<(), Forbidden> {
        let ip = match host {
            Host::Ipv4(ip) => IpAddr::V4(*ip),
            Host::Ipv6(ip) => IpAddr::V6(*ip),
            Host::Domain(_) => return Ok(()),
        };
        self.permit(ip).map_err(|what| self.forbidden(format!("{ip} is {what}")))
    }

    /// Those of `addresses` that may be dialled.
    ///
    /// # Errors
    /// [`Forbidden`] where there are addresses and none of them may be dialled.
    fn filter(&self, name: &str, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Forbidden> {
        let refused = addresses.iter().find_map(|&ip| self.permit(ip).err().map(|what| (ip, what)));
        let permitted: Vec<IpAddr> = addresses.into_iter().filter(|&ip| self.permit(ip).is_ok()).collect();
        match refused {
            Some((ip, what)) if permitted.is_empty() => {
                Err(self.forbidden(format!("{name} resolves only to addresses like {ip}, which is {what}")))
            }
            Some(_) | None => Ok(permitted),
        }
    }

    fn forbidden(&self, what: String) -> Forbidden {
        Forbidden { what, setting: self.setting.clone() }
    }
}

/// The channel may not reach that address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: this channel may not reach it; if it is meant to, add its network to {setting}")]
pub(crate) struct Forbidden {
    what: String,
    setting: String,
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
    use url::Url;

    fn check(guard: &Guard, host: &str) -> Result<(), Forbidden> {
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        guard.check_host(&url.host().unwrap())
    }

    #[test]
    fn every_kind_of_reserved_address_is_refused_however_it_is_written() {
        let guard = Guard::new("hooks", &[]);
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
        let guard = Guard::new("hooks", &[]);
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
        let guard = Guard::new("hooks", &[]);
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
        let guard = Guard::new("hooks", &["10.1.0.0/16".parse().unwrap(), "fd00:1::/32".parse().unwrap()]);
        for host in ["10.1.2.3", "[::ffff:10.1.2.3]", "[fd00:1::7]"] {
            assert_eq!(check(&guard, host), Ok(()), "{host} must pass");
        }
        for host in ["10.2.0.1", "[::ffff:10.2.0.1]", "[fd00:2::7]", "127.0.0.1"] {
            assert!(check(&guard, host).is_err(), "{host} must be refused");
        }
    }

    #[test]
    fn a_refusal_names_the_network() {
        let refused = check(&Guard::new("hooks", &[]), "10.0.0.5").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "10.0.0.5 is in the private network 10.0.0.0/8: this channel may not reach it; if it is meant to, add its \
             network to channels.hooks.allow_networks"
        );
    }
}
