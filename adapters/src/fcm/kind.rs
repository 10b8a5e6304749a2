//! The settings of channels of kind `fcm`: what each may be, and how they are read and checked together.

use std::time::Duration;

use outbox_schema::FcmTarget;

use super::response::RETRY_FLOOR;
use super::settings::Settings;
use super::{PROJECT_ID, check_project_id};
use crate::common::{MAX_CONNECTION_AGE, NETWORKS, network, tls_roots};
use crate::setup::{BASE_URL, TlsRoots, base_url};
use crate::shape::{Item, Shape, Shapes, Text, words};
use crate::values::{Checked, Refused, Values};

/// The settings, each with its default and what it means.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The settings that channels have beside those of every channel, or in place of one. Google allows no shorter timeout and no
/// shorter wait, and wants no retry after an hour (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>).
pub const SHAPES: Shapes = &[
    ("timeout", Shape::Time(RETRY_FLOOR, Duration::from_hours(1))),
    ("base", Shape::Time(RETRY_FLOOR, Duration::from_hours(24))),
    ("max_age", Shape::Time(Duration::from_secs(1), Duration::from_hours(1))),
    ("project_id", Shape::Text(Text::new(PROJECT_ID, check_project_id).or_none())),
    ("credentials", Shape::File),
    ("base_url", Shape::Text(Text::new(BASE_URL, |url| base_url(url, "`credentials`").map(drop)))),
    (
        "targets",
        Shape::List {
            allowed: "a list of \"token\", \"topic\", \"condition\" and \"fid\"",
            item: Item::Text(|kind| target(kind).map(drop)),
        },
    ),
    ("allow_networks", NETWORKS),
    ("tls_ca", Shape::File),
    ("tls_roots", Shape::Word(&const { words(&TlsRoots::WORDS) })),
    ("max_connection_age", MAX_CONNECTION_AGE),
];

/// The kind of targets that has this name.
fn target(name: &str) -> Result<&'static str, String> {
    FcmTarget::FIELDS.into_iter().find(|kind| *kind == name).ok_or_else(String::new)
}

/// Reads the settings of a channel.
pub fn read_settings(values: &mut Values) -> Checked<Settings> {
    let tls_roots = tls_roots(values);
    let (project_id, credentials) = (values.text("project_id")?.to_owned(), values.text("credentials")?.to_owned());
    if project_id.is_empty() && credentials.is_empty() {
        values
            .refuse("project_id", "an fcm channel needs its project_id, or the credentials file of a service account");
        return Err(Refused);
    }
    Ok(Settings {
        project_id,
        credentials,
        base_url: values.text("base_url")?.to_owned(),
        targets: values.list("targets", target)?,
        allow_networks: values.list("allow_networks", network)?,
        tls_ca: values.text("tls_ca")?.to_owned(),
        tls_roots: tls_roots?,
        max_connection_age: values.time("max_connection_age")?,
    })
}
