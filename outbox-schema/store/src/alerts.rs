//! What people are told of an outbox by itself (`outbox_alert`). Any replica may find out what there is to tell, and one alone tells
//! it: the one whose conditional write claims it.

use std::time::Duration;

use sqlx::FromRow;
use uuid::Uuid;

use crate::sql::{AnyTransaction, Value, read, while_doing, write};
use crate::statement::Statement;
use crate::store::wire::millis_i64;
use crate::{Database, QueryError, Shard};

const STANDING: Statement = statement!("alerts/standing");
const CLAIM: Statement = statement!("alerts/claim");
const TOLD: Statement = statement!("alerts/told");
const RELEASE: Statement = statement!("alerts/release");

/// A replica that is silent for longer is gone, or cut off.
const SEEN: Duration = Duration::from_secs(90);

/// A kind of alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertKind {
    /// So many messages died within so long.
    DeadRate,
    /// No replica polls.
    NoPoller,
    /// A job is late.
    JobLate,
    /// A replica polls again. This is told only after [`AlertKind::NoPoller`] was, and counts for no window.
    PollerAgain,
}

impl AlertKind {
    /// The key of its row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeadRate => "dead_rate",
            Self::JobLate => "job_late",
            Self::NoPoller | Self::PollerAgain => "no_poller",
        }
    }

    fn is_over(self) -> bool {
        self == Self::PollerAgain
    }
}

/// The right to tell something, for a while.
#[derive(Debug)]
pub struct AlertClaim {
    kind: AlertKind,
    by: String,
}

/// The newest term of a shard, as the database shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct PollerStanding {
    started_ms: i64,
    ended_ms: Option<i64>,
    seen_ms: Option<i64>,
    is_open: i64,
}

impl PollerStanding {
    /// For how long no replica can have held a valid term, where a term lasts for `term` at most. Zero while one may hold it.
    pub fn nobody_for(&self, term: Duration) -> Duration {
        let time = |ms: i64| Duration::from_millis(ms.try_into().unwrap_or(0));
        if let Some(ended) = self.ended_ms {
            return time(ended);
        }
        let over = time(self.started_ms).saturating_sub(term);
        // A holder that was killed notes no end.
        let gone = self.seen_ms.map(time).filter(|seen| *seen > SEEN);
        over.max(gone.unwrap_or_default())
    }

    /// Whether people were told that nobody polls, and not that this is over.
    pub fn is_told(&self) -> bool {
        self.is_open == 1
    }
}

impl Database {
    /// The newest term of a shard. None where the table of alerts has lost its rows.
    pub async fn poller_standing(&self, shard: Shard) -> Result<Option<PollerStanding>, QueryError> {
        let rows = read(self, &STANDING, &[shard.into()]).await;
        Ok(rows.map_err(while_doing("looking for a term that goes on"))?.pop())
    }

    /// Claims the right to tell something, for `lasting`. None where another replica has it, or told it within `window`.
    ///
    /// # Cancel safety
    /// Safe: what was claimed is free again after `lasting`.
    pub async fn claim_alert(
        &self,
        kind: AlertKind,
        window: Duration,
        lasting: Duration,
    ) -> Result<Option<AlertClaim>, QueryError> {
        let claim = AlertClaim { kind, by: Uuid::new_v4().simple().to_string() };
        let values = [
            kind.as_str().into(),
            Value::from(&claim.by),
            millis_i64(lasting).into(),
            millis_i64(window).into(),
            i64::from(kind.is_over()).into(),
        ];
        let claimed = async {
            let mut transaction = AnyTransaction::to_write(self).await?;
            let changed = transaction.connection().changed(&CLAIM, &values).await?;
            transaction.commit().await?;
            Ok(changed > 0)
        };
        let is_mine = claimed.await.map_err(while_doing("claiming an alert"))?;
        Ok(is_mine.then_some(claim))
    }

    /// Notes that what was claimed is told: its window begins.
    pub async fn alert_told(&self, claim: &AlertClaim) -> Result<(), QueryError> {
        let (over, opens) = (claim.kind.is_over(), claim.kind == AlertKind::NoPoller);
        let values =
            [claim.kind.as_str().into(), Value::from(&claim.by), i64::from(over).into(), i64::from(opens).into()];
        write(self, &TOLD, &values).await.map_err(while_doing("noting that an alert was told"))
    }

    /// Gives back what was claimed and could not be told: after `pause` a replica may claim it again.
    pub async fn release_alert(&self, claim: &AlertClaim, pause: Duration) -> Result<(), QueryError> {
        let values = [claim.kind.as_str().into(), Value::from(&claim.by), millis_i64(pause).into()];
        write(self, &RELEASE, &values).await.map_err(while_doing("giving back an alert"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_secs(20);

    fn nobody_for(started: i64, ended: Option<i64>, seen: Option<i64>) -> u64 {
        let ms = |seconds: Option<i64>| seconds.map(|seconds| seconds * 1000);
        let standing =
            PollerStanding { started_ms: started * 1000, ended_ms: ms(ended), seen_ms: ms(seen), is_open: 0 };
        standing.nobody_for(TERM).as_secs()
    }

    #[test]
    fn nobody_polls_since_the_noted_end_or_since_the_term_must_be_over_or_since_its_replica_fell_silent() {
        assert_eq!(nobody_for(10, None, Some(30)), 0, "it goes on");
        assert_eq!(nobody_for(100, Some(7), Some(3)), 7, "its end is noted");
        assert_eq!(nobody_for(100, None, Some(3)), 80, "no term lasts so long");
        assert_eq!(nobody_for(100, None, None), 80);
        assert_eq!(nobody_for(15, None, Some(95)), 95, "its replica is gone");
        assert_eq!(nobody_for(10, None, Some(-5)), 0, "clocks that were set back");
    }
}
