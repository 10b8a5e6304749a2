//! Delivery over HTTP: the payload is the body, unchanged.

mod cloudevents;
mod headers;
mod http;
mod kind;
mod request;
mod response;
mod rules;
mod settings;
mod signing;
mod statuses;

pub use self::headers::{CLIENT_HEADER, check_header};
pub use self::kind::KIND;
pub use self::settings::{
    Auth, AuthTo, Body, CloudEvents, IdempotencyKey, Method, Secret, SecretPlace, Settings, Targets,
};
pub use self::statuses::Statuses;
pub use http::HttpChannel;
