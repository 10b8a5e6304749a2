//! The kind `fcm` as it describes itself: what each setting may be, how they are read and checked together, what a channel is.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::FcmTarget;

use super::response::RETRY_FLOOR;
use super::settings::Settings;
use super::{FcmChannel, PROJECT_ID, RAMP_UP, check_project_id};
use crate::adapter::Adapter;
use crate::common::{MAX_CONNECTION_AGE, NETWORKS, network, tls_roots};
use crate::kind::{ChannelSettings, ChannelSetup, Kind};
use crate::setup::{BASE_URL, SetupError, TlsRoots, base_url};
use crate::shape::{Item, Shape, Shapes, Text, words};
use crate::values::{Checked, Refused, Values};

/// The kind of channels that push by Firebase Cloud Messaging.
pub const KIND: Kind = Kind {
    name: "fcm",
    defaults: include_str!("defaults.toml"),
    shapes: SHAPES,
    read: |values| read(values).map(|settings| -> Arc<dyn ChannelSettings> { Arc::new(settings) }),
};

/// The settings that channels have beside those of every channel, or in place of one. Google allows no shorter timeout and no
/// shorter wait, and wants no retry after an hour (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>).
const SHAPES: Shapes = &[
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

impl ChannelSettings for Settings {
    fn build(&self, channel: &ChannelSetup<'_>) -> Result<Arc<dyn Adapter>, SetupError> {
        // No row names where a message goes, so nothing keeps the channel from the dispatcher's own listener.
        let ChannelSetup { name, timeout, at_most_once, .. } = *channel;
        Ok(Arc::new(FcmChannel::new(name, self, timeout, at_most_once)?))
    }

    fn retry_floor(&self) -> Duration {
        RETRY_FLOOR
    }

    fn rise(&self) -> Option<Duration> {
        Some(RAMP_UP)
    }

    // FCM refuses a payload that is no object.
    fn sends_json(&self) -> bool {
        false
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn takes_urls(&self) -> bool {
        false
    }

    // Without a notification the device shows nothing.
    fn test_payload(&self) -> &'static str {
        r#"{"data": {"outbox_test": "true"}}"#
    }

    fn remarks(&self) -> Vec<(&'static str, String)> {
        let many: Vec<_> = self.targets.iter().filter(|kind| ["topic", "condition"].contains(kind)).copied().collect();
        let what = format!("a row may address all devices of a {}: set it to [\"token\"]", many.join(" or "));
        if many.is_empty() { Vec::new() } else { vec![("targets", what)] }
    }
}

fn read(values: &mut Values) -> Checked<Settings> {
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
