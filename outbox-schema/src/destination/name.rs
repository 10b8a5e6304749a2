//! The names of destinations, as the column `destination` has them.

/// Longest name, in characters.
const LONGEST: usize = 255;

/// The destination of a URL: `scheme://host:port`, in lower case and with the port that the scheme implies. None where
/// `text` is no URL of `http` or `https`. The same as the generated column makes of a target.
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
    let named = format!("{scheme}://{host}").to_lowercase();
    let named = if has_port { named } else { format!("{named}:{implied}") };
    Some(named.chars().take(LONGEST).collect())
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
            ("https:///orders", None),
            ("ftp://shop.example", None),
            ("http", None),
        ] {
            assert_eq!(origin(text).as_deref(), destination, "{text}");
        }
    }
}
