//! The names of destinations, as in the column `destination`.

use url::Host;

/// The longest name, in characters.
const LONGEST: usize = 255;

/// The destination of a URL: `scheme://host:port`, in lower case, with the port that the scheme implies. The generated
/// column makes the same of a target.
///
/// None where `text` is no URL of `http` or `https`, or names no host and port that a message can be sent to. The
/// column takes any text there; but a person who writes such a name has mistyped it.
pub fn origin(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let implied = match scheme.to_ascii_lowercase().as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())?;
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let has_port = port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    if !can_be_sent_to(host, if has_port { port } else { None }, implied) {
        return None;
    }
    let named = format!("{scheme}://{host}").to_lowercase();
    let named = if has_port { named } else { format!("{named}:{implied}") };
    Some(named.chars().take(LONGEST).collect())
}

/// Whether `host`, which ends with `port` where it has one, is a host and a port.
fn can_be_sent_to(host: &str, port: Option<&str>, implied: u16) -> bool {
    let Ok(number) = port.map_or(Ok(implied), str::parse) else { return false };
    let host = port.and_then(|port| host.strip_suffix(port)?.strip_suffix(':')).unwrap_or(host);
    // A colon without a port is allowed in a URL (RFC 3986, 3.2.3). The column keeps it before the port that is implied.
    let host = if number == implied { host.strip_suffix(':').unwrap_or(host) } else { host };
    Host::parse(host).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_reduced_to_its_origin_and_a_channel_is_none() {
        for (text, destination) in [
            ("https://shop.example/orders?x=1", Some("https://shop.example:443")),
            ("HTTP://Shop.Example:8080", Some("http://shop.example:8080")),
            ("https://me:pw@shop.example#x", Some("https://shop.example:443")),
            ("http://[::1]/", Some("http://[::1]:80")),
            ("http://[::1]:9000/", Some("http://[::1]:9000")),
            ("https://shop.example:/x", Some("https://shop.example::443")),
            ("https://shop.example::443", Some("https://shop.example::443")),
            ("https://b\u{fc}cher.example", Some("https://b\u{fc}cher.example:443")),
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
}
