//! What is sent.

use crate::enqueue::fcm::Fields;

/// The body of a message.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    /// JSON text, stored as it is.
    Text(String),
    /// The fields of an FCM message.
    Fields(Fields),
    /// The error from building the payload, which [`NewMessage::validate`] reports.
    Broken(String),
}
