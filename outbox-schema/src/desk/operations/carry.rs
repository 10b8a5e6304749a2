//! Carrying work out: to its end, for a while, or in place of a carrier who is silent.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::record::{Record, Standing, State, end};
use super::{OperationStatus, Ordered, Work};
use crate::Database;
use crate::desk::operation::pause;
use crate::desk::{Author, Progress, Watch};
use crate::passing::passes;
use crate::sql::AnyTransaction;

/// How often whoever follows another's work looks at it.
const LOOK: Duration = Duration::from_millis(500);

/// What the carrier does before the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
    /// The poller goes on.
    Leave,
}

/// How a carrier's part ended.
enum Carried<W> {
    Over(W),
    /// The operation waits for the poller.
    Left,
    /// Another process carries it out.
    Lost,
}

/// Carries work out to its end, or until `watch` ends it. `watch` is told before the first batch and after each. Work without any
/// message is not begun.
pub(in crate::desk) async fn carry<W: Work>(
    database: &Database,
    mut work: W,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<W::Done> {
    let meant = work.find(database).await?;
    if work.is_nothing(meant) {
        return Ok(work.done());
    }
    let record = Record::begin(database, &mut work, meant, author).await?;
    let id = record.operation.audit_id;
    let told = |progress| match watch(progress) {
        ControlFlow::Continue(()) => Next::GoOn,
        ControlFlow::Break(()) => Next::Stop,
    };
    let progress = Progress { audit_id: id, of: meant, done: 0, changed: 0, has_row: record.written };
    match carry_out(database, &record, work, progress, &told).await? {
        Carried::Over(work) => Ok(work.done()),
        Carried::Left | Carried::Lost => follow::<W>(database, id, watch).await,
    }
}

/// Begins work, and carries it out for so long. Then the poller goes on with it.
pub(super) async fn carry_for<W: Work>(
    database: &Database,
    mut work: W,
    author: &Author,
    within: Duration,
) -> sqlx::Result<Ordered<W::Done>> {
    let began = Instant::now();
    let meant = work.find(database).await?;
    if work.is_nothing(meant) {
        return Ok(Ordered::Over(work.done()));
    }
    let record = Record::begin(database, &mut work, meant, author).await?;
    let id = record.operation.audit_id;
    // Without a row nobody else could go on.
    let told = |_| if record.written && began.elapsed() >= within { Next::Leave } else { Next::GoOn };
    let progress = Progress { audit_id: id, of: meant, done: 0, changed: 0, has_row: record.written };
    Ok(match carry_out(database, &record, work, progress, &told).await? {
        Carried::Over(work) if !record.written => Ordered::Over(work.done()),
        Carried::Over(_) | Carried::Left | Carried::Lost => Ordered::Begun(id),
    })
}

/// Goes on with an operation that nobody carries out, for as long as `goes_on` says.
pub(super) async fn go_on<W: Work>(
    database: &Database,
    id: i64,
    state: &State,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> sqlx::Result<()> {
    let Some(record) = Record::take::<W>(database, id, state).await? else { return Ok(()) };
    // Its carrier may have made a batch since.
    let Some(state) = State::of(database, id).await? else { return Ok(()) };
    let mut work: W = match state.work() {
        Ok(work) => work,
        Err(error) => {
            let failure = format!("this release does not understand the order: {error}");
            return record.end(OperationStatus::Failed, Some(&failure)).await;
        }
    };
    let mut progress = state.progress(id);
    progress.of = progress.of.max(work.find(database).await?);
    let told = |_| if goes_on() { Next::GoOn } else { Next::Leave };
    carry_out(database, &record, work, progress, &told).await.map(drop)
}

async fn carry_out<W: Work>(
    database: &Database,
    record: &Record<'_>,
    mut work: W,
    mut progress: Progress,
    told: &(dyn Fn(Progress) -> Next + Sync),
) -> sqlx::Result<Carried<W>> {
    loop {
        match told(progress) {
            Next::GoOn => {}
            Next::Stop => {
                record.end(OperationStatus::Stopped, None).await?;
                return Ok(Carried::Over(work));
            }
            Next::Leave => {
                record.leave().await?;
                return Ok(Carried::Left);
            }
        }
        let began = Instant::now();
        match step(database, record, &mut work, progress).await {
            Ok(Step::Made { now, idle, last }) => {
                progress = now;
                if last {
                    // The work is done, whether it was to go on or not.
                    let _ = told(progress);
                    return Ok(Carried::Over(work));
                }
                pause(began + idle, work.pauses()).await;
            }
            Ok(Step::NotMine(Standing::Ended)) => return Ok(Carried::Over(work)),
            Ok(Step::NotMine(_)) => return Ok(Carried::Lost),
            Err(error) => {
                if !may_pass(&error) {
                    // The first error is the one to tell.
                    let _ = record.end(OperationStatus::Failed, Some(&error.to_string())).await;
                }
                return Err(error);
            }
        }
    }
}

enum Step {
    Made { now: Progress, idle: Duration, last: bool },
    NotMine(Standing),
}

async fn step<W: Work>(database: &Database, record: &Record<'_>, work: &mut W, before: Progress) -> sqlx::Result<Step> {
    let began = Instant::now();
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let standing = record.lock(&mut connection).await?;
    if standing != Standing::Mine {
        transaction.commit().await?;
        return Ok(Step::NotMine(standing));
    }
    let batch = work.batch(&mut connection, &record.operation).await?;
    let now = Progress { done: before.done + batch.come_to, changed: batch.changed, ..before };
    let status = if batch.last { OperationStatus::Done } else { OperationStatus::Open };
    record.keep(&mut connection, work, now, (status, began.elapsed() * work.pauses())).await?;
    transaction.commit().await?;
    Ok(Step::Made { now, idle: batch.idle, last: batch.last })
}

/// Follows work that another process carries out, to its end.
async fn follow<W: Work>(database: &Database, id: i64, watch: Watch<'_>) -> sqlx::Result<W::Done> {
    loop {
        let state = State::of(database, id).await?.ok_or(sqlx::Error::RowNotFound)?;
        let ends = watch(state.progress(id)).is_break();
        if !state.is_open() {
            return Ok(state.work::<W>()?.done());
        }
        if ends {
            let mut transaction = AnyTransaction::to_write(database).await?;
            end(&mut transaction.connection(), id, OperationStatus::Stopped, None).await?;
            transaction.commit().await?;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether the poller may go on where this error was met.
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => passes(error.as_ref()),
        sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => false,
        _ => true,
    }
}
