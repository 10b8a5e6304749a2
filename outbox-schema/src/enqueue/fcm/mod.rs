//! What FCM accepts, as far as that is known without a request, which would cost quota.
//! [`NewMessage::validate`] refuses the rest before the insert, and the adapter refuses it before it sends.

mod fcm;
mod target;

pub use fcm::{FcmMessage, Fields};
pub use target::FcmTarget;
