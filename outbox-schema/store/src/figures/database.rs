//! Keeps the figures, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::FromRow;

use super::{Figures, FiguresRow};
use crate::sql::{AnyConnection, AnyTransaction, Value, while_doing, write};
use crate::statement::Statement;
use crate::store::wire::millis_i64;
use crate::{Database, QueryError, Shard};

const ADD: Statement = statement!("figures/add");
const HOUR: Statement = statement!("figures/hour");
const MINUTES: Statement = statement!("figures/minutes");
const MINUTES_DELETE: Statement = statement!("figures/minutes_delete");
const REMOVE: Statement = statement!("figures/remove");

/// How long minutes are kept. Then they become hours.
const MINUTES_KEPT: Duration = Duration::from_hours(48);

const MINUTE_S: i64 = 60;
const HOUR_MINUTES: i64 = 60;

#[derive(Debug, FromRow)]
struct MinuteRow {
    shard: i64,
    channel: String,
    #[sqlx(flatten)]
    figures: FiguresRow,
}

impl Database {
    /// Adds figures to those of a minute: the one in which it was `age` ago, by the clock of the database. They count by channel.
    ///
    /// # Cancel safety
    /// Not safe to repeat: where the answer was lost, the figures may count twice.
    pub async fn add_figures(
        &self,
        shard: Shard,
        age: Duration,
        figures: &BTreeMap<String, Figures>,
    ) -> Result<(), QueryError> {
        add_figures(self, shard, age, figures).await.map_err(while_doing("adding to the figures of this minute"))
    }

    /// Makes an hour of the minutes of the oldest hour that ended over two days ago. Returns whether there was one.
    pub async fn roll_figures_up(&self) -> Result<bool, QueryError> {
        roll_up(self).await.map_err(while_doing("making hours of minutes"))
    }

    /// Removes figures that are older than `kept`.
    pub async fn remove_figures(&self, kept: Duration) -> Result<(), QueryError> {
        let kept = i64::try_from(kept.as_secs()).unwrap_or(i64::MAX);
        write(self, &REMOVE, &[kept.into()]).await.map_err(while_doing("removing old figures"))
    }
}

async fn add_figures(
    database: &Database,
    shard: Shard,
    age: Duration,
    figures: &BTreeMap<String, Figures>,
) -> sqlx::Result<()> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let then_s = (connection.now_us().await? / 1_000 - millis_i64(age)) / 1_000;
    // In the order of the names, so that two replicas do not wait for each other.
    for (channel, figures) in figures {
        let place = Place { shard: i64::from(shard.0), begins_s: then_s / MINUTE_S * MINUTE_S, minutes: 1, channel };
        add(&mut connection, &place, figures).await?;
    }
    transaction.commit().await
}

/// Which row of the table.
struct Place<'a> {
    shard: i64,
    begins_s: i64,
    minutes: i64,
    channel: &'a str,
}

async fn add(connection: &mut AnyConnection<'_>, place: &Place<'_>, figures: &Figures) -> sqlx::Result<()> {
    let count = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    let mut values = vec![
        place.shard.into(),
        place.begins_s.into(),
        place.minutes.into(),
        place.channel.into(),
        Value::Number(figures.most_lag.map(millis_i64)),
    ];
    values.extend([figures.delivered, figures.failed, figures.dead, figures.in_doubt, figures.deferred].map(count));
    values.extend(figures.latency.0.map(count));
    connection.changed(&ADD, &values).await?;
    Ok(())
}

async fn roll_up(database: &Database) -> sqlx::Result<bool> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let kept = i64::try_from(MINUTES_KEPT.as_secs()).unwrap_or(i64::MAX);
    let oldest: Vec<(Option<i64>,)> = connection.rows(&HOUR, &[kept.into()]).await?;
    let Some(begins_s) = oldest.first().and_then(|(begins_s,)| *begins_s) else { return Ok(false) };
    // Read again in a later statement, as all that waits for a lock: another replica may have made this hour meanwhile.
    connection.rows::<MinuteRow>(&MINUTES, &[begins_s.into()]).await?;
    let minutes: Vec<MinuteRow> = connection.rows(&MINUTES, &[begins_s.into()]).await?;
    let mut hour = BTreeMap::<(i64, String), Figures>::new();
    for MinuteRow { shard, channel, figures } in minutes {
        hour.entry((shard, channel)).or_default().add(&figures.into());
    }
    for ((shard, channel), figures) in &hour {
        let place = Place { shard: *shard, begins_s, minutes: HOUR_MINUTES, channel };
        add(&mut connection, &place, figures).await?;
    }
    connection.changed(&MINUTES_DELETE, &[begins_s.into()]).await?;
    transaction.commit().await?;
    Ok(true)
}
