//! What people mean when they name a destination.

use outbox_schema::destination::origin;

use crate::explain::Configured;

/// How alike a name must be to the one that may be meant.
const ALIKE: f64 = 0.6;

/// It names neither a channel nor an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is neither a configured channel ({}) nor the URL of a destination, as https://shop.example:443{}", 
    known.join(", "),
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
)]
pub(crate) struct UnknownDestination {
    name: String,
    known: Vec<String>,
    nearest: Option<String>,
}

/// The destination or channel that `name` stands for: a whole URL is that of its origin.
pub(crate) fn meant(name: &str, configured: &Configured) -> Result<String, UnknownDestination> {
    if let Some(origin) = origin(name) {
        return Ok(origin);
    }
    if configured.channels.contains_key(name) {
        return Ok(name.to_owned());
    }
    let known: Vec<_> = configured.channels.keys().cloned().collect();
    let alike = known.iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    let nearest = alike.filter(|(alike, _)| *alike >= ALIKE).max_by(|one, other| one.0.total_cmp(&other.0));
    let nearest = nearest.map(|(_, name)| name.clone());
    Err(UnknownDestination { name: name.to_owned(), known, nearest })
}
