//! Figures over time, as a series for each channel.

use std::time::{Duration, UNIX_EPOCH};

use outbox_store::Database;
use outbox_store::figures::{Figures, FiguresRow, LATENCY_BOUNDS_MS};
use outbox_store::sql::AnyTransaction;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::statements::FIGURES;

/// How far back a series goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Span {
    /// The last hour, by minutes.
    #[default]
    #[serde(rename = "1h")]
    Hour,
    /// The last day, by ten minutes.
    #[serde(rename = "1d")]
    Day,
    /// The last week, by hours.
    #[serde(rename = "1w")]
    Week,
}

impl Span {
    /// Every span, the shortest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// The word in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "1d",
            Self::Week => "1w",
        }
    }

    /// How many points a series has.
    pub fn points(self) -> usize {
        match self {
            Self::Hour => 60,
            Self::Day => 144,
            Self::Week => 168,
        }
    }

    /// The time that a point stands for.
    pub fn step(self) -> Duration {
        match self {
            Self::Hour => Duration::from_mins(1),
            Self::Day => Duration::from_mins(10),
            Self::Week => Duration::from_hours(1),
        }
    }
}

/// A question for figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct FiguresFilter {
    /// How far back: `1h` by minutes, which is the default, `1d` by ten minutes, or `1w` by hours.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", param(inline))]
    pub span: Span,
    /// Only of this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// Figures over time. Each channel has as many points as the others, at the same times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FiguresSeries {
    /// The time that the figures reach back.
    pub span: Span,
    /// The time that a point stands for, in seconds.
    pub step_s: u64,
    /// When the first point begins, RFC 3339. The last point is not over yet.
    pub from: String,
    /// The channels of which something is known, by name. `(others)` is all that no settings have.
    pub channels: Vec<ChannelFigures>,
}

/// The figures of a channel over time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelFigures {
    /// The name of the channel.
    pub channel: String,
    /// The sum of all points.
    pub total: FiguresPoint,
    /// The points, the oldest first.
    pub points: Vec<FiguresPoint>,
}

/// What was done in some time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FiguresPoint {
    /// When this time begins, RFC 3339.
    pub at: String,
    /// Messages that receivers accepted.
    pub delivered: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Messages that became dead letters.
    pub dead: u64,
    /// Rows that were found in doubt.
    pub in_doubt: u64,
    /// Attempts that ended in a deferral.
    pub deferred: u64,
    /// The most lag that was seen, in milliseconds. None where nobody looked.
    pub most_lag_ms: Option<u64>,
    /// Half of the deliveries took this long at most, in milliseconds: the bound of a bucket. None without deliveries, and for more
    /// than an hour.
    pub p50_ms: Option<u64>,
    /// The same of 99 in a hundred.
    pub p99_ms: Option<u64>,
}

impl FiguresPoint {
    fn of(at_s: u64, figures: &Figures) -> Self {
        Self {
            at: rfc3339(at_s),
            delivered: figures.delivered,
            failed: figures.failed,
            dead: figures.dead,
            in_doubt: figures.in_doubt,
            deferred: figures.deferred,
            most_lag_ms: figures.most_lag.map(|lag| lag.as_millis().try_into().unwrap_or(u64::MAX)),
            p50_ms: figures.latency.quantile_ms(500),
            p99_ms: figures.latency.quantile_ms(990),
        }
    }
}

/// The longest latency that a quantile can name, in milliseconds.
pub const LONGEST_LATENCY_MS: u64 = LATENCY_BOUNDS_MS[LATENCY_BOUNDS_MS.len() - 1];

#[derive(Debug, FromRow)]
struct PointRow {
    channel: String,
    at_s: i64,
    #[sqlx(flatten)]
    figures: FiguresRow,
}

pub(super) async fn series(database: &Database, filter: &FiguresFilter) -> sqlx::Result<FiguresSeries> {
    let (step_s, points) = (filter.span.step().as_secs(), filter.span.points());
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let now_s = u64::try_from(connection.now_us().await? / 1_000_000).unwrap_or(0);
    let from_s = (now_s / step_s + 1).saturating_sub(points as u64) * step_s;
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX).into();
    let values = [number(from_s), number(step_s), filter.channel.as_deref().into()];
    let rows: Vec<PointRow> = connection.rows(&FIGURES, &values).await?;
    transaction.commit().await?;

    let mut channels: Vec<(String, Vec<Figures>)> = Vec::new();
    for row in rows {
        if channels.last().is_none_or(|(channel, _)| *channel != row.channel) {
            channels.push((row.channel, vec![Figures::default(); points]));
        }
        let place =
            u64::try_from(row.at_s).ok().and_then(|at_s| usize::try_from(at_s.checked_sub(from_s)? / step_s).ok());
        // The clock of the database may have gone back: what lies ahead is of the present.
        let place = place.map(|place| place.min(points - 1));
        if let (Some(place), Some((_, series))) = (place, channels.last_mut()) {
            series[place].add(&row.figures.into());
        }
    }
    let channel = |(channel, series): (String, Vec<Figures>)| {
        let mut total = Figures::default();
        for figures in &series {
            total.add(figures);
        }
        let ats = (0..).map(|place| from_s + place * step_s);
        let points = ats.zip(&series).map(|(at_s, figures)| FiguresPoint::of(at_s, figures)).collect();
        ChannelFigures { channel, total: FiguresPoint::of(from_s, &total), points }
    };
    Ok(FiguresSeries {
        span: filter.span,
        step_s,
        from: rfc3339(from_s),
        channels: channels.into_iter().map(channel).collect(),
    })
}

fn rfc3339(at_s: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at_s)).to_string()
}
