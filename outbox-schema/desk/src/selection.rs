//! Selections of dead letters.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use outbox_schema::{MessageId, Tags};
use outbox_store::DeadReason;
use outbox_store::store::millis_i64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::finding::{Known, said, said_if};

/// A time before all that any of the databases keeps, in microseconds since 1970: the year 1000.
const FIRST: i64 = -30_610_224_000_000_000;

/// A time after all that any of the databases keeps: the year 9999.
const LAST: i64 = 253_402_300_799_000_000;

/// A filter of dead letters. A dead letter must meet all conditions that are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams, utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct DeadLetterFilter {
    /// The channel of the dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The reason of its death.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<DeadReason>,
    /// The status code of its last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<i32>,
    /// The group of the dead letter, by its fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The destination of the dead letter: `https://shop.example:443`, or the name of an FCM channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The target of the message, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The beginning of the idempotency key.
    #[serde(default, deserialize_with = "said_if", skip_serializing_if = "Option::is_none")]
    pub key_prefix: Option<String>,
    /// Tags, all of which the message has: `order=4711`, several with commas between. In JSON they may be an object too.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Tags::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "order=4711"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "order=4711"))]
    pub tags: Tags,
    /// The tenant: what the row says, else the destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Only dead letters that died at this moment or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "2h"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "2h"))]
    pub since: Option<Moment>,
    /// Only dead letters that died at this moment or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "2026-05-01T14:00:00Z"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "2026-05-01T14:00:00Z"))]
    pub until: Option<Moment>,
    /// A text in the error, in upper or lower case. It is searched in every row that meets the other conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_contains: Option<String>,
}

/// A point in time. As text, how long ago (`2h`), or a time in UTC (`2026-05-01T14:00:00Z`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// This long ago, by the database's clock.
    Ago(Duration),
    /// A time of the calendar.
    At(SystemTime),
}

impl Moment {
    /// The moment in microseconds since 1970, given the database's clock at `now_us`. It stays within what all
    /// databases keep.
    pub(super) fn in_us(self, now_us: i64) -> i64 {
        let us = match self {
            Self::Ago(time) => now_us.saturating_sub(millis_i64(time).saturating_mul(1000)),
            Self::At(time) => {
                let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_micros()).unwrap_or(LAST)
            }
        };
        us.clamp(FIRST, LAST)
    }
}

impl Moment {
    /// Whether the moment lies before another, as far as that can be told without a clock.
    pub fn is_before(self, other: Self) -> bool {
        match (self, other) {
            (Self::Ago(this), Self::Ago(other)) => this > other,
            (Self::At(this), Self::At(other)) => this < other,
            (Self::Ago(_), Self::At(_)) | (Self::At(_), Self::Ago(_)) => false,
        }
    }

    /// The same moment as a time of the calendar, given the database's clock at `now_us`.
    pub(super) fn fixed(self, now_us: i64) -> Self {
        let us = u64::try_from(self.in_us(now_us)).unwrap_or(0);
        Self::At(UNIX_EPOCH + Duration::from_micros(us))
    }

    /// The earlier of a filter's end, if it has one, and of `now_us`.
    pub(super) fn until(end: Option<Self>, now_us: i64) -> Self {
        Self::fixed(end.unwrap_or(Self::Ago(Duration::ZERO)), now_us)
    }
}

/// The place where a page of dead letters ended. In JSON it is the text of its `Display`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// When the last letter of the page died, in microseconds since 1970.
    pub dead_at_us: i64,
    /// The id of that letter.
    pub id: MessageId,
}

/// The dead letters to redrive or to purge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Selection {
    /// Dead letters by their ids.
    Ids(Vec<MessageId>),
    /// All dead letters that a filter admits.
    Filter(DeadLetterFilter),
}

/// The time in which the selected letters died, in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) since_us: i64,
    pub(super) until_us: i64,
}

impl DeadLetterFilter {
    /// What the filter says that a customer knows.
    pub(super) fn known(&self) -> Known<'_> {
        Known::new(self.target.as_ref(), self.key_prefix.as_ref(), &self.tags, self.tenant.as_ref())
    }

    /// What the filter means now, and only that, also when it is asked later.
    pub(super) fn as_of(&self, now_us: i64) -> Self {
        let since = self.since.map(|since| since.fixed(now_us));
        Self { since, until: Some(Moment::until(self.until, now_us)), ..self.clone() }
    }

    /// The times of the filter, given the database's clock at `now_us`.
    pub(super) fn span(&self, now_us: i64) -> Span {
        Span {
            since_us: self.since.map_or(FIRST, |moment| moment.in_us(now_us)),
            until_us: self.until.map_or(LAST, |moment| moment.in_us(now_us)),
        }
    }

    /// Whether the filter can admit letters of that fingerprint.
    pub(super) fn admits(&self, fingerprint: &str) -> bool {
        let mut parts = fingerprint.rsplitn(4, '/');
        let (_hash, code, reason, channel) = (parts.next(), parts.next(), parts.next(), parts.next());
        self.fingerprint.as_deref().is_none_or(|asked| asked == fingerprint)
            && self.channel.as_deref().is_none_or(|asked| channel == Some(asked))
            && self.reason.is_none_or(|asked| reason == Some(asked.as_str()))
            && self.status_code.is_none_or(|asked| code == Some(&asked.to_string()))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.dead_at_us, self.id)
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.rsplit_once('-').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
        let (dead_at_us, id) = parts.ok_or("it is not where a page of dead letters ended")?;
        Ok(Self { dead_at_us, id: MessageId(id) })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(time) => humantime::format_duration(*time).fmt(f),
            Self::At(time) => humantime::format_rfc3339(*time).fmt(f),
        }
    }
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(ago) = humantime::parse_duration(text) {
            return Ok(Self::Ago(ago));
        }
        let at = humantime::parse_rfc3339_weak(text);
        at.map(Self::At).map_err(|_| "it must be a time ago, as 2h, or a time in UTC, as 2026-05-01T14:00:00Z")
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

pub(super) fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err = &'static str>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_filter_knows_the_groups_that_it_means_by_their_fingerprints() {
        let any = DeadLetterFilter::default();
        assert!(any.admits("http/permanent/400/0123456789ab") && any.admits("a/b/cancelled/-/-"));
        let odd = DeadLetterFilter { channel: Some("a/b".to_owned()), ..any.clone() };
        assert!(odd.admits("a/b/cancelled/-/-") && !odd.admits("a/c/cancelled/-/-"));
        let refused = DeadLetterFilter { status_code: Some(400), reason: Some(DeadReason::Permanent), ..any };
        assert!(refused.admits("http/permanent/400/0123456789ab"));
        assert!(!refused.admits("http/permanent/40/0123456789ab") && !refused.admits("http/exhausted/400/-"));
    }

    #[test]
    fn a_moment_is_read_as_it_was_written() {
        let at = Moment::At(UNIX_EPOCH + Duration::from_millis(1_777_644_000_123));
        for moment in [at, Moment::Ago(Duration::from_hours(2)), Moment::Ago(Duration::from_millis(90_500))] {
            let text = serde_json::to_string(&moment).unwrap();
            assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment, "{text}");
        }
        assert_eq!(serde_json::to_value(Moment::Ago(Duration::from_hours(2))).unwrap(), "2h");
        assert!("yesterday".parse::<Moment>().is_err());
    }

    #[test]
    fn a_filter_of_an_unknown_field_is_refused_so_that_it_does_not_mean_all() {
        let typo = serde_json::from_str::<Selection>(r#"{"filter": {"chanel": "orders"}}"#);
        assert!(typo.is_err(), "{typo:?}");
        let all = serde_json::from_str::<Selection>(r#"{"filter": {}}"#);
        assert_eq!(all.unwrap(), Selection::Filter(DeadLetterFilter::default()));
    }

    #[test]
    fn half_a_cursor_is_refused() {
        assert!("17".parse::<Cursor>().is_err() && "a-b".parse::<Cursor>().is_err());
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(dead_at_us: i64, id in 0..=i64::MAX) {
            let cursor = Cursor { dead_at_us, id: MessageId(id) };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn a_text_of_anything_is_a_cursor_that_is_written_as_it_was_read_or_is_refused(text in ".*|-?[0-9]{1,20}-[0-9]{1,20}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
            }
        }

        #[test]
        fn a_text_of_anything_is_a_moment_that_databases_keep_or_is_refused(
            text in ".*|[0-9]{1,20}[a-z]{1,6}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?",
            now_us: i64,
        ) {
            if let Ok(moment) = text.parse::<Moment>() {
                prop_assert!((FIRST..=LAST).contains(&moment.in_us(now_us)));
                prop_assert_eq!(moment.to_string().parse(), Ok(moment));
            }
        }

        #[test]
        fn a_selection_of_any_field_is_what_it_says_or_is_refused(
            field in "ids|filter|[a-z]{0,8}",
            inner in "channel|reason|since|until|status_code|fingerprint|destination|target|key_prefix|tags|tenant|[a-z_]{0,12}",
            value in prop_oneof![any::<i64>().prop_map(serde_json::Value::from), ".{0,12}|2h|a=b|".prop_map(serde_json::Value::from)],
        ) {
            for selection in [serde_json::json!({field.clone(): {inner.clone(): value.clone()}}), serde_json::json!({field.clone(): [value.clone()]})] {
                if let Ok(read) = serde_json::from_value::<Selection>(selection.clone()) {
                    let written = serde_json::to_value(&read).unwrap();
                    prop_assert_eq!(serde_json::from_value::<Selection>(written).unwrap(), read.clone());
                    prop_assert!(read != Selection::Filter(DeadLetterFilter::default()), "{} means all", selection);
                }
            }
        }
    }
}
