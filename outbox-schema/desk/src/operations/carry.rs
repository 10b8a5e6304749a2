//! Carrying work out: to its end, for a while, or in place of a carrier who is silent.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use outbox_store::Database;
use outbox_store::passing::passes;
use outbox_store::sql::AnyTransaction;

use super::record::{Record, Standing, end};
use super::state::State;
use super::work::Work;
use super::{Action, Change, OperationStatus, Ordered, Outcome};
use crate::operation::pause;
use crate::{Author, Progress, Watch};

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
enum Carried {
    Over(Outcome),
    /// The operation waits for the poller.
    Left,
    /// Another process carries it out.
    Lost,
}

/// Work that is about to begin.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
enum Begun<'a> {
    /// There is nothing to do.
    Nothing(Outcome),
    Work(Record<'a>, Work, Progress),
}

impl<'a> Begun<'a> {
    /// None where there is nothing to undo.
    async fn of(database: &'a Database, change: &Change, author: &Author) -> sqlx::Result<Option<Self>> {
        let Some(mut work) = Work::of(database, change.clone()).await? else { return Ok(None) };
        let of = work.find(database).await?;
        if work.is_nothing(of) {
            return Ok(Some(Self::Nothing(work.done())));
        }
        let record = Record::begin(database, &mut work, of, author).await?;
        let (audit_id, has_row) = (record.operation.audit_id, record.written);
        Ok(Some(Self::Work(record, work, Progress { audit_id, of, done: 0, changed: 0, has_row })))
    }
}

/// Carries a change out to its end, or until `watch` ends it. `watch` is told before the first batch and after each. A change without
/// any message is not begun. None where there is nothing to undo.
pub(crate) async fn carry(
    database: &Database,
    change: &Change,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Option<Outcome>> {
    let (record, work, progress) = match Begun::of(database, change, author).await? {
        Some(Begun::Work(record, work, progress)) => (record, work, progress),
        Some(Begun::Nothing(done)) => return Ok(Some(done)),
        None => return Ok(None),
    };
    let told = |progress| match watch(progress) {
        ControlFlow::Continue(()) => Next::GoOn,
        ControlFlow::Break(()) => Next::Stop,
    };
    match carry_out(database, &record, work, progress, &told).await? {
        Carried::Over(done) => Ok(Some(done)),
        Carried::Left | Carried::Lost => follow(database, progress.audit_id, watch).await.map(Some),
    }
}

/// Begins a change, and carries it out for so long. Then the poller goes on with it. None where there is nothing to undo.
pub(super) async fn carry_for(
    database: &Database,
    change: &Change,
    author: &Author,
    within: Duration,
) -> sqlx::Result<Option<Ordered>> {
    let began = Instant::now();
    let (record, work, progress) = match Begun::of(database, change, author).await? {
        Some(Begun::Work(record, work, progress)) => (record, work, progress),
        Some(Begun::Nothing(done)) => return Ok(Some(Ordered::Over(done))),
        None => return Ok(None),
    };
    // Without a row nobody else could go on.
    let told = |_| if record.written && began.elapsed() >= within { Next::Leave } else { Next::GoOn };
    Ok(Some(match carry_out(database, &record, work, progress, &told).await? {
        Carried::Over(done) if !record.written => Ordered::Over(done),
        Carried::Over(_) | Carried::Left | Carried::Lost => Ordered::Begun(progress.audit_id),
    }))
}

/// Goes on with an operation that nobody carries out, for as long as `goes_on` says.
pub(super) async fn go_on(database: &Database, id: i64, goes_on: &(dyn Fn() -> bool + Sync)) -> sqlx::Result<()> {
    let Some(state) = State::of(database, id).await? else { return Ok(()) };
    // What is of another release waits for a poller that knows what it is.
    let Some(action) = Action::named(&state.action) else { return Ok(()) };
    let Some(record) = Record::take(database, id, (action, &state)).await? else { return Ok(()) };
    // Its carrier may have made a batch since.
    let Some(state) = State::of(database, id).await? else { return Ok(()) };
    let mut work = match Work::standing(action, &state) {
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

async fn carry_out(
    database: &Database,
    record: &Record<'_>,
    mut work: Work,
    mut progress: Progress,
    told: &(dyn Fn(Progress) -> Next + Sync),
) -> sqlx::Result<Carried> {
    loop {
        match told(progress) {
            Next::GoOn => {}
            Next::Stop => {
                record.end(OperationStatus::Stopped, None).await?;
                return Ok(Carried::Over(work.done()));
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
                    return Ok(Carried::Over(work.done()));
                }
                pause(began + idle, work.pauses()).await;
            }
            Ok(Step::NotMine(Standing::Ended)) => return Ok(Carried::Over(work.done())),
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

async fn step(database: &Database, record: &Record<'_>, work: &mut Work, before: Progress) -> sqlx::Result<Step> {
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
async fn follow(database: &Database, id: i64, watch: Watch<'_>) -> sqlx::Result<Outcome> {
    loop {
        let state = State::of(database, id).await?.ok_or(sqlx::Error::RowNotFound)?;
        let ends = watch(state.progress(id)).is_break();
        if !state.is_open() {
            let action = Action::named(&state.action).ok_or(sqlx::Error::RowNotFound)?;
            let work = Work::standing(action, &state).map_err(|error| sqlx::Error::Decode(error.into()))?;
            return Ok(work.done());
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
