//! Settings that channels of several kinds have.

use std::net::IpAddr;
use std::time::Duration;

use hyper::header::HeaderName;
use ipnet::IpNet;

use crate::setup::TlsRoots;
use crate::shape::{Item, Shape, Text};
use crate::values::{Checked, Values};

/// A setting that lists networks, each as [`network`] reads it.
pub(crate) const NETWORKS: Shape = Shape::List {
    allowed: "a list of networks such as \"10.0.0.0/8\" or \"::1/128\"",
    item: Item::Text(|text| network(text).map(drop)),
};

/// A setting that names a header, or none.
pub const HEADER_NAME: Shape = Shape::Text(
    Text::new("the name of a header", |name| HeaderName::try_from(name).map(drop).map_err(|_| String::new())).or_none(),
);

/// The setting that says the age from which a connection takes no more requests.
pub(crate) const MAX_CONNECTION_AGE: Shape = Shape::Time(Duration::from_secs(1), Duration::from_hours(24));

/// Reads a network, or a single address.
pub(crate) fn network(text: &str) -> Result<IpNet, String> {
    let single = |_| text.parse::<IpAddr>().map(IpNet::from);
    text.parse::<IpNet>().or_else(single).map_err(|_| format!("{text:?} is not a network"))
}

/// Reads whether the system's authorities are trusted beside those of `tls_ca`.
pub(crate) fn tls_roots(values: &mut Values) -> Checked<TlsRoots> {
    let roots = values.word("tls_roots", &TlsRoots::WORDS);
    if (roots, values.text("tls_ca")) == (Ok(TlsRoots::None), Ok("")) {
        values.refuse("tls_roots", "tls_ca is missing, so no server would be trusted: name the file of your authority");
    }
    roots
}
