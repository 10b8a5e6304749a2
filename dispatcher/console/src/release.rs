//! Releasing the seat of a job by hand: whoever runs it is told to end it, and another may begin.

use outbox_adapters::{Lease, LeaseError};
use outbox_desk::{Author, ByHand, Desk, DeskError, JobAction, JobDone};
use outbox_store::{Holder, Seat};

/// Why a seat was not released.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The database is away, or refuses.
    #[error(transparent)]
    Desk(#[from] DeskError),
    /// The lease store is away, or refuses.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Only the session that holds it can give it up.
    #[error(
        "the seat of this job was not released: {0} holds it by a session of the database, or has given it up just now. Stop that \
         process, or end its session in the database"
    )]
    NotOurs(String),
}

/// Releases the seat of a job. Its holder learns of it by the next renewal. None where no job of the name is known; without an entry
/// of the audit where nobody has the seat.
///
/// # Cancel safety
/// The seat may have been released.
pub async fn release_job(
    outbox: &(impl Desk + ByHand),
    lease: &dyn Lease,
    name: &str,
    author: &Author,
) -> Result<Option<JobDone>, ReleaseError> {
    let seat = Seat::Job(name.into());
    let Some(held) = lease.current(&seat).await? else {
        let job = outbox.jobs().await?.into_iter().find(|job| job.name == name);
        return Ok(job.map(|job| JobDone { audit_id: None, job }));
    };
    let holder = Holder::of(held.holder);
    if !lease.release(&seat, &holder).await? {
        return Err(ReleaseError::NotOurs(holder.to_string()));
    }
    Ok(outbox.change_job(name, JobAction::Release, author).await?)
}
