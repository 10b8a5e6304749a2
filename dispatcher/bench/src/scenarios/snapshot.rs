//! A drain while another transaction keeps its snapshot, and while the poller changes. The snapshot prevents the
//! database from cleaning away old row versions. Beside it stands a drain without that transaction.

use std::time::Duration;

use anyhow::Context;
use outbox_store::{ConnectOptions, Database};

use super::{drain, plain_drain};
use crate::grounds::Site;
use crate::measure::Bench;
use crate::number::median;
use crate::pace::Pace;
use crate::replicas::Manner;
use crate::report::{Figure, Unit};
use crate::rows::Rows;
use crate::scenario::Measure;

/// The window for which the bench reports a rate.
const WINDOW: Duration = Duration::from_secs(5);

/// The length of a term. At full scale, 300,000 rows take several terms.
const TERM: Duration = Duration::from_secs(2);

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let [mut plain, mut held, mut slowest, mut hand_overs] = std::array::from_fn(|_| Vec::new());
    let manner = Manner { replicas: 2, term: Some(TERM), ..Manner::plain(bench.plan.in_flight) };
    let mut pace = Pace::of("snapshot", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let without = plain_drain(bench, &manner, rows).await?.rate();
        let site = bench.grounds.site().await?;
        let snapshot = Snapshot::hold(&site).await?;
        let with = drain(bench, &site, &manner, Rows::Due, rows).await?;
        snapshot.release().await;
        bench.grounds.remove(site).await?;
        let windows = with.arrivals.windows(WINDOW);
        let rates: Vec<_> = windows.iter().map(|rate| format!("{rate:.0}/s")).collect();
        pace.round_is_over(&format!(
            "drain {without:.0}/s, with the snapshot {:.0}/s, in windows of {WINDOW:?}: {}",
            with.rate(),
            rates.join(", ")
        ));
        plain.push(without);
        held.push(with.rate());
        slowest.extend(windows.into_iter().min_by(f64::total_cmp));
        hand_overs.push((with.terms - 1.0).max(0.0));
    }
    let (dialect, plain) = (bench.grounds.dialect(), median(plain));
    let slowest = (!slowest.is_empty()).then(|| median(slowest));
    Ok(vec![
        Figure::new("R with a snapshot held", Unit::PerSecond, median(held.clone()))
            .beside("R without", plain)
            .goal(Measure::Snapshot, dialect)
            .rounds(held),
        Figure::new("R in its slowest 5 s", Unit::PerSecond, slowest)
            .beside("R without", plain)
            .goal(Measure::SnapshotWindow, dialect),
        Figure::new("hand-overs meanwhile", Unit::Count, median(hand_overs)).goal(Measure::SnapshotHandOvers, dialect),
    ])
}

/// The statement that takes the snapshot.
const LOOK: &str = "SELECT count(*) FROM outbox";

/// A transaction that has read the outbox and stays open. It ends with its connection.
struct Snapshot(Database);

impl Snapshot {
    async fn hold(site: &Site) -> anyhow::Result<Self> {
        let options = ConnectOptions { url: &site.url, schema: site.schema.as_deref(), connections: 1 };
        let database = Database::connect(&options).await?;
        // The pool has only this connection, which keeps the transaction open.
        let held = match &database {
            Database::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                sqlx::raw_sql("SET idle_in_transaction_session_timeout = 0").execute(&mut *connection).await?;
                sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ").execute(&mut *connection).await?;
                sqlx::raw_sql(LOOK).execute(&mut *connection).await.map(drop)
            }
            Database::MySql(pool) => {
                let mut connection = pool.acquire().await?;
                let level = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
                sqlx::raw_sql(level).execute(&mut *connection).await?;
                let lasts = "SET SESSION wait_timeout = 28800 /*M!100600 , SESSION idle_transaction_timeout = 0 */";
                sqlx::raw_sql(lasts).execute(&mut *connection).await?;
                sqlx::raw_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT").execute(&mut *connection).await?;
                sqlx::raw_sql(LOOK).execute(&mut *connection).await.map(drop)
            }
            Database::Sqlite(pool) => {
                let mut connection = pool.acquire().await?;
                sqlx::raw_sql("BEGIN").execute(&mut *connection).await?;
                sqlx::raw_sql(LOOK).execute(&mut *connection).await.map(drop)
            }
        };
        held.context("the transaction that keeps its snapshot")?;
        Ok(Self(database))
    }

    async fn release(self) {
        self.0.close().await;
    }
}
