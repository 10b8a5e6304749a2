//! A message before it is a row: built by the application, and checked before the database sees it.

mod fcm;
mod invalid;
mod jsonb;
mod new_message;
mod payload;
mod validate;

pub use invalid::InvalidMessage;
pub(super) use new_message::headers_text;
pub use new_message::{Content, NewMessage};
pub(crate) use new_message::{Kind, SendTime};
pub(crate) use payload::Payload;
