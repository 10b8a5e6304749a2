//! The way in which a target of the demo answers. The first word of the target's name decides it.

use axum::http::StatusCode;

/// The way in which a target answers the messages that it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// The target accepts.
    Well,
    /// The target is busy at the first attempt, and accepts the second.
    Busy,
    /// The target is gone for good: a customer who removed the app, an endpoint that was shut down.
    Gone,
    /// The target takes messages, but not this one.
    Refusing,
    /// The target fails each time.
    Broken,
}

impl Manner {
    const ALL: [Self; 5] = [Self::Well, Self::Busy, Self::Gone, Self::Refusing, Self::Broken];

    /// The word that the names of such targets begin with.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Busy => "busy",
            Self::Gone => "gone",
            Self::Refusing => "refusing",
            Self::Broken => "broken",
        }
    }

    /// The manner of the target `name`. A target without such a word accepts.
    pub(super) fn of(name: &str) -> Self {
        let word = name.split(['-', '/']).next();
        Self::ALL.into_iter().find(|manner| Some(manner.word()) == word).unwrap_or(Self::Well)
    }

    /// Whether a message to such a target can only become a dead letter.
    pub(super) fn is_hopeless(self) -> bool {
        match self {
            Self::Well | Self::Busy => false,
            Self::Gone | Self::Refusing | Self::Broken => true,
        }
    }

    /// The answer of a webhook to a message of which it has seen `before` requests already.
    pub(super) fn of_webhook(self, before: u32) -> StatusCode {
        match self {
            Self::Busy if before == 0 => StatusCode::SERVICE_UNAVAILABLE,
            Self::Well | Self::Busy => StatusCode::OK,
            Self::Gone => StatusCode::GONE,
            Self::Refusing => StatusCode::BAD_REQUEST,
            Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The answer of FCM, with its `errorCode` (<https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode>).
    /// None where FCM accepts.
    pub(super) fn of_fcm(self, before: u32) -> Option<(StatusCode, &'static str)> {
        match self {
            Self::Busy if before == 0 => Some((StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE")),
            Self::Well | Self::Busy => None,
            Self::Gone => Some((StatusCode::NOT_FOUND, "UNREGISTERED")),
            Self::Refusing => Some((StatusCode::BAD_REQUEST, "INVALID_ARGUMENT")),
            Self::Broken => Some((StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL")),
        }
    }
}
