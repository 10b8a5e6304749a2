//! The origin of a URL: the name under which a destination is paused, limited and counted.
//!
//! The column `destination` takes it from the text of a target, and the client that sends parses a URL. Where they
//! disagree, a message would be sent to one destination and counted for another. Such a target is refused.

use url::{Host, Url};

/// The longest name that the column keeps, in characters.
const LONGEST: usize = 255;

/// The destination that a person means by a URL: `scheme://host:port` as a client dials it.
///
/// None where `text` is no URL of `http` or `https`, or names no host and port that a message can be sent to.
pub fn origin(text: &str) -> Option<String> {
    column(text)?;
    dialled(&Url::parse(text).ok()?)
}

/// What the generated column makes of a target: `scheme://host:port`, in lower case, with the port that the scheme
/// implies. None where it takes the name of the channel instead.
pub fn column(target: &str) -> Option<String> {
    let (scheme, rest) = target.split_once("://")?;
    let implied = match scheme.to_ascii_lowercase().as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())?;
    let host = authority.rsplit('@').next().unwrap_or_default();
    let named = format!("{scheme}://{host}").to_lowercase();
    let says_its_port = !host.ends_with(':') && host.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with(':');
    let named = if says_its_port { named } else { format!("{named}:{implied}") };
    Some(named.chars().take(LONGEST).collect())
}

/// Checks that the host of a target is written plainly: that a request to `url` goes to its `destination`, and to no
/// other name of the same server.
///
/// # Errors
/// What to write instead. It names no part of the target, since any part may be a secret.
pub fn check_plain(url: &Url, destination: Option<&str>) -> Result<(), String> {
    let other_name = match url.host() {
        Some(Host::Domain(name)) => name.ends_with('.'),
        Some(Host::Ipv6(address)) => address.to_ipv4_mapped().is_some(),
        Some(Host::Ipv4(_)) | None => false,
    };
    if dialled(url).is_some_and(|dialled| Some(dialled.as_str()) == destination) && !other_name {
        return Ok(());
    }
    Err("the target can be read as another destination: write the host plainly: https://HOST/PATH or \
         https://HOST:PORT/PATH, without a backslash before the path, without a full stop at the end of the host, names \
         in ASCII (xn--), addresses as 192.0.2.1 or [2001:db8::1], ports without leading zeros"
        .to_owned())
}

fn dialled(url: &Url) -> Option<String> {
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    Some(format!("{}://{host}:{port}", url.scheme()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_is_reduced_to_its_origin_and_a_channel_is_none() {
        for (text, destination) in [
            ("https://shop.example/orders?x=1", Some("https://shop.example:443")),
            ("HTTP://Shop.Example:8080", Some("http://shop.example:8080")),
            ("https://me:pw@shop.example#x", Some("https://shop.example:443")),
            ("http://[::1]/", Some("http://[::1]:80")),
            ("http://[::1]:9000/", Some("http://[::1]:9000")),
            ("https://shop.example:/x", Some("https://shop.example:443")),
            ("https://b\u{fc}cher.example", Some("https://xn--bcher-kva.example:443")),
            ("https:///orders", None),
            ("ftp://shop.example", None),
            ("http", None),
        ] {
            assert_eq!(origin(text).as_deref(), destination, "{text}");
        }
    }

    #[test]
    fn what_is_no_host_and_port_is_no_destination() {
        for text in [
            "https://a b",
            "https://x:99999",
            "https://x:8o80",
            "https://x::8080",
            "https://[::1",
            "https://::1",
            "https://1.2.3.999",
            "https://me@",
            "https://:443",
            "https://x\0y",
            "https://a b:443/x",
        ] {
            assert_eq!(origin(text), None, "{text:?}");
        }
    }

    fn is_plain(target: &str) -> bool {
        Url::parse(target).is_ok_and(|url| check_plain(&url, column(target).as_deref()).is_ok())
    }

    #[test]
    fn a_host_has_one_spelling_but_for_the_case_of_letters_and_a_port_that_is_implied() {
        for target in [
            "https://shop.example/a\\b?c=@d",
            "HTTPS://SHOP.example:443/",
            "http://127.0.0.1:9000",
            "http://[2001:db8::1]:9000?x",
            "https://xn--bcher-kva.example/",
        ] {
            assert!(is_plain(target), "{target}");
        }
        let long = format!("https://{}.example/", "a.".repeat(120));
        for target in [
            "http://127.0.0.1:9001\\@127.0.0.1:9000/x",
            "http://evil.example\\.shop.example/",
            "http:/shop.example/x",
            "http:shop.example",
            "http:///shop.example/x",
            "http:\\\\shop.example/x",
            "http://\\shop.example/x",
            " http://shop.example/",
            "http://shop\t.example/",
            "ht\ntp://shop.example/",
            "http://%31%32%37.0.0.1:9000/",
            "http://2130706433:9000/",
            "http://0x7f.1:9000/",
            "http://0177.0.0.1/",
            "http://127.0.0.1./",
            "http://shop.example./",
            "http://shop.example:/x",
            "http://shop.example:09000/",
            "http://shop.example:080/",
            "http://b\u{fc}cher.example/",
            "http://sh\u{ad}op.example/",
            "http://\u{ff53}hop.example/",
            "http://shop\u{3002}example/",
            "http://[0:0::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[fe80::1%25eth0]/",
            &long,
        ] {
            assert!(!is_plain(target), "{target}");
        }
    }

    /// Pieces of which a hostile target is made.
    fn piece() -> impl Strategy<Value = String> {
        let pieces = [
            "http",
            "HTTPS",
            "https://",
            "http://",
            ":",
            "/",
            "//",
            "\\",
            "@",
            "?",
            "#",
            ".",
            "%2e",
            "%40",
            "%5c",
            "\t",
            "\n",
            " ",
            "[",
            "]",
            "::1",
            "fe80::1%25e",
            "127.0.0.1",
            "0x7f",
            "0177",
            "2130706433",
            "a.example",
            "A.EXAMPLE",
            ":80",
            ":443",
            ":09000",
            ":9000",
            ":0",
            ":65536",
            "xn--bcher-kva",
            "b\u{fc}cher",
            "\u{ad}",
            "\u{3002}",
            "\u{ff0f}",
            "\u{ff20}",
            "\u{212a}",
            "\u{130}",
            "user",
            "user:pw",
        ];
        prop_oneof![
            9 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
            1 => (200_usize..260).prop_map(|length| "a.".repeat(length / 2)),
        ]
    }

    proptest! {
        /// Both parsers are asked for the origin, each in its own way, and the text itself must show it.
        #[test]
        fn a_target_is_refused_or_both_parsers_name_one_origin(
            scheme in "(http|https|HTTP)://|", pieces in prop::collection::vec(piece(), 1..8)
        ) {
            let target = scheme + &pieces.concat();
            if !is_plain(&target) {
                return Ok(());
            }
            let url = Url::parse(&target).unwrap();
            let named = column(&target).unwrap_or_default();
            prop_assert_eq!(url.origin().ascii_serialization(), Url::parse(&named).unwrap().origin().ascii_serialization());
            let (scheme, host_and_port) = named.split_once("://").unwrap();
            let (host, port) = host_and_port.rsplit_once(':').unwrap();
            prop_assert_eq!((scheme, Some(host)), (url.scheme(), url.host_str()));
            prop_assert_eq!(port, url.port_or_known_default().unwrap().to_string());
            let written = target.to_lowercase();
            prop_assert!(written.starts_with(&format!("{scheme}://")) && written.contains(host), "{}", target);
        }
    }
}
