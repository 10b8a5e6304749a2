//! `outbox demo fcm`: a stand-in for FCM and for Google's token endpoint, as strict as they are, for tests and
//! for people without a Firebase project (docs/fcm.md).

mod answer;
mod certificate;
mod command;
mod connections;
mod fcm;
mod files;
mod lingering;
mod message;
mod routes;
mod schema;
mod shared;
mod tokens;

pub use self::answer::MANNERS;
pub(crate) use self::command::{FcmArgs, serve};
pub use self::shared::{Behaviour, Counts, Quota, Received, Shown};
pub use self::tokens::PROJECT;
pub use fcm::{Options, Places, StandIn};
