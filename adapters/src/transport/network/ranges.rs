//! The networks that are not the public internet.
//!
//! From the IANA special-purpose address registries
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry>,
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>), with multicast (RFC 5771, RFC 4291),
//! the deprecated site-local range (RFC 3879), and the one public address that is a cloud's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The kind of network of `ip`, where it is reserved. The narrower range stands before the wider.
pub(super) fn reserved(ip: IpAddr) -> Option<&'static str> {
    let reserved = RESERVED.iter().find(|(net, _)| net.contains(&ip)).map(|&(_, what)| what);
    let outside = || (ip.is_ipv6() && !GLOBAL_V6.contains(&ip)).then_some("outside of the public network 2000::/3");
    reserved.or_else(outside)
}

/// All that IANA gives out as public addresses of IPv6 (<https://www.iana.org/assignments/ipv6-address-space>).
const GLOBAL_V6: IpNet = v6(0x2000, 0, 0, 3);

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix))
}

/// The first three groups and the prefix: no range here needs more.
const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix))
}

const LOOPBACK_V6: IpNet = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128));

const RESERVED: &[(IpNet, &str)] = &[
    // Linux connects 0.0.0.0 to loopback.
    (v4(0, 0, 0, 0, 8), "in \"this network\" 0.0.0.0/8"),
    (v4(10, 0, 0, 0, 8), "in the private network 10.0.0.0/8"),
    (v4(100, 64, 0, 0, 10), "in the carrier-grade NAT network 100.64.0.0/10"),
    (v4(127, 0, 0, 0, 8), "in the loopback network 127.0.0.0/8"),
    (v4(169, 254, 169, 254, 32), "the metadata address of a cloud (169.254.169.254/32)"),
    (v4(169, 254, 0, 0, 16), "in the link-local network 169.254.0.0/16"),
    // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
    (v4(168, 63, 129, 16, 32), "the platform address of a cloud (168.63.129.16/32)"),
    (v4(172, 16, 0, 0, 12), "in the private network 172.16.0.0/12"),
    (v4(192, 0, 0, 0, 24), "in the protocol network 192.0.0.0/24"),
    (v4(192, 0, 2, 0, 24), "in the documentation network 192.0.2.0/24"),
    (v4(192, 88, 99, 0, 24), "in the 6to4 relay network 192.88.99.0/24"),
    (v4(192, 168, 0, 0, 16), "in the private network 192.168.0.0/16"),
    (v4(198, 18, 0, 0, 15), "in the benchmarking network 198.18.0.0/15"),
    (v4(198, 51, 100, 0, 24), "in the documentation network 198.51.100.0/24"),
    (v4(203, 0, 113, 0, 24), "in the documentation network 203.0.113.0/24"),
    (v4(224, 0, 0, 0, 4), "in the multicast network 224.0.0.0/4"),
    (v4(255, 255, 255, 255, 32), "the broadcast address 255.255.255.255/32"),
    (v4(240, 0, 0, 0, 4), "in the reserved network 240.0.0.0/4"),
    (v6(0, 0, 0, 128), "the unspecified address ::/128"),
    (LOOPBACK_V6, "the loopback address ::1/128"),
    (v6(0x64, 0xff9b, 0, 96), "in the NAT64 network 64:ff9b::/96"),
    (v6(0x64, 0xff9b, 1, 48), "in the NAT64 network 64:ff9b:1::/48"),
    (v6(0x100, 0, 0, 64), "in the discard-only network 100::/64"),
    (v6(0x2001, 0, 0, 32), "in the Teredo network 2001::/32"),
    (v6(0x2001, 2, 0, 48), "in the benchmarking network 2001:2::/48"),
    (v6(0x2001, 0, 0, 23), "in the protocol network 2001::/23"),
    (v6(0x2001, 0xdb8, 0, 32), "in the documentation network 2001:db8::/32"),
    (v6(0x2002, 0, 0, 16), "in the 6to4 network 2002::/16"),
    (v6(0x3fff, 0, 0, 20), "in the documentation network 3fff::/20"),
    (v6(0x5f00, 0, 0, 16), "in the segment routing network 5f00::/16"),
    (v6(0xfc00, 0, 0, 7), "in the unique local network fc00::/7"),
    (v6(0xfe80, 0, 0, 10), "in the link-local network fe80::/10"),
    (v6(0xfec0, 0, 0, 10), "in the site-local network fec0::/10"),
    (v6(0xff00, 0, 0, 8), "in the multicast network ff00::/8"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The list as it must be: a network that is taken out of the table, or narrowed, is missed here.
    const REFUSED: &[(&str, &str, &str)] = &[
        ("\"this network\"", "0.0.0.0", "0.255.255.255"),
        ("private", "10.0.0.0", "10.255.255.255"),
        ("carrier-grade NAT", "100.64.0.0", "100.127.255.255"),
        ("loopback", "127.0.0.0", "127.255.255.255"),
        ("link-local", "169.254.0.0", "169.254.255.255"),
        ("metadata", "169.254.169.254", "169.254.169.254"),
        ("platform", "168.63.129.16", "168.63.129.16"),
        ("private", "172.16.0.0", "172.31.255.255"),
        ("protocol", "192.0.0.0", "192.0.0.255"),
        ("documentation", "192.0.2.0", "192.0.2.255"),
        ("6to4", "192.88.99.0", "192.88.99.255"),
        ("private", "192.168.0.0", "192.168.255.255"),
        ("benchmarking", "198.18.0.0", "198.19.255.255"),
        ("documentation", "198.51.100.0", "198.51.100.255"),
        ("documentation", "203.0.113.0", "203.0.113.255"),
        ("multicast", "224.0.0.0", "239.255.255.255"),
        ("reserved", "240.0.0.0", "255.255.255.254"),
        ("broadcast", "255.255.255.255", "255.255.255.255"),
        ("unspecified", "::", "::"),
        ("loopback", "::1", "::1"),
        ("NAT64", "64:ff9b::", "64:ff9b::ffff:ffff"),
        ("NAT64", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
        ("discard-only", "100::", "100::ffff:ffff:ffff:ffff"),
        ("Teredo", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("benchmarking", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"),
        ("protocol", "2001:3::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("documentation", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("documentation", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("segment routing", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("unique local", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("link-local", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("site-local", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ];

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|_| panic!("{text} is an address"))
    }

    #[test]
    fn every_range_is_reserved_from_its_first_to_its_last_address() {
        for &(what, first, last) in REFUSED {
            for end in [first, last] {
                let found = reserved(address(end)).unwrap_or_else(|| panic!("{end} ({what}) is open"));
                assert!(found.contains(what), "{end} is {found}, not {what}");
            }
        }
        assert_eq!(REFUSED.len(), RESERVED.len(), "a range without its test");
    }

    #[test]
    fn all_of_ipv6_that_is_not_given_out_is_reserved() {
        for outside in [
            "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff",
            "64:ff9b:2::",
            "::ffff:0:808:808",
            "100:0:0:1::",
            "200::",
            "3ff::",
            "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "4000::",
            "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "5f01::",
            "fe00::",
        ] {
            assert_eq!(reserved(address(outside)), Some("outside of the public network 2000::/3"), "{outside}");
        }
    }

    #[test]
    fn what_lies_just_beside_a_range_is_public() {
        for beside in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2003::",
            "3fff:1000::",
        ] {
            assert_eq!(reserved(address(beside)), None, "{beside}");
        }
    }
}
