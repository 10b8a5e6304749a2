//! The statuses that the settings of a channel name, by what they mean.

use hyper::header::HeaderName;
use hyper::{HeaderMap, StatusCode};

use super::settings::Settings;
use super::statuses::{Ruled, Statuses};

/// The statuses on which the settings of a channel decide.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) retry: Vec<Statuses>,
    pub(super) dead: Vec<Statuses>,
    pub(super) known: Vec<Statuses>,
    /// The header of an answer by which a receiver says that it knew the idempotency key. None: it has no such header.
    pub(super) known_header: Option<HeaderName>,
}

impl Rules {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            retry: settings.retry_statuses.clone(),
            dead: settings.dead_statuses.clone(),
            known: settings.known_statuses.clone(),
            known_header: HeaderName::try_from(&settings.known_header).ok(),
        }
    }

    /// What the settings say of `status`. None: the table of answers decides.
    pub(super) fn of(&self, status: StatusCode) -> Option<Ruled> {
        let named = |list: &[Statuses], alone: bool| {
            list.iter().any(|one| matches!(one, Statuses::One(_)) == alone && one.hold(status))
        };
        let lists = [(&self.retry, Ruled::Retry), (&self.dead, Ruled::Dead), (&self.known, Ruled::Known)];
        [true, false]
            .into_iter()
            .find_map(|alone| lists.into_iter().find(|(list, _)| named(list, alone)).map(|(_, ruled)| ruled))
    }

    /// Whether an answer with these headers says that the receiver knew the idempotency key already.
    pub(super) fn knew(&self, headers: &HeaderMap) -> bool {
        let said = self.known_header.as_ref().and_then(|name| headers.get(name));
        said.is_some_and(|value| !matches!(value.as_bytes(), b"" | b"0" | b"false" | b"False"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(texts: &[&str]) -> Vec<Statuses> {
        texts.iter().filter_map(|text| Statuses::parse(text).ok()).collect()
    }

    #[test]
    fn a_single_status_goes_before_its_class_and_what_nobody_names_is_left_to_the_table() {
        let rules = Rules {
            retry: statuses(&["4xx", "501"]),
            dead: statuses(&["404", "5xx"]),
            known: statuses(&["409"]),
            known_header: None,
        };
        for (status, ruled) in [
            (400, Some(Ruled::Retry)),
            (404, Some(Ruled::Dead)),
            (409, Some(Ruled::Known)),
            (499, Some(Ruled::Retry)),
            (500, Some(Ruled::Dead)),
            (501, Some(Ruled::Retry)),
            (302, None),
            (600, None),
        ] {
            let found = StatusCode::from_u16(status).map(|status| rules.of(status));
            assert_eq!(found.ok(), Some(ruled), "{status}");
        }
    }
}
