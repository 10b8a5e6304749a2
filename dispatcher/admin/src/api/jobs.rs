//! Jobs: how each stands, its runs, pausing and resuming.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use outbox_console::release::{ReleaseError, release_job};
use outbox_desk::{ByHand, Desk, JobAction, JobDone, JobEntry, JobRunEntry, JobRunPage};

use super::dead_letters::link;
use super::extract::{Body, Params};
use super::problem::Kind;
use super::requests::{Authored, ByClient, Page};
use super::{Answer, ApiState, Problem, Redaction};

/// Lists the jobs that have run somewhere (`outbox exclusive`), by name.
#[utoipa::path(get, path = "/api/v1/jobs", operation_id = "list_jobs", tag = "jobs", responses(
    (status = 200, description = "The jobs, each with its last run", body = [JobEntry]),
    Problem,
))]
pub(super) async fn list(State(api_state): State<ApiState>) -> Answer<Vec<JobEntry>> {
    Ok(Json(api_state.database.jobs().await?))
}

/// Lists the runs of a job in pages, the newest first.
#[utoipa::path(get, path = "/api/v1/jobs/{name}/runs", operation_id = "list_job_runs", tag = "jobs",
    params(("name" = String, Path, description = "The name of the job"), Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = JobRunPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn runs(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    uri: Uri,
    Params(page): Params<Page>,
) -> Result<(HeaderMap, Json<JobRunPage>), Problem> {
    let found = api_state.database.job_runs(&name, page.cursor()?, page.size()?).await?;
    let runs = found.ok_or_else(|| Problem::no_job(&name))?;
    Ok((link(&uri, runs.next.as_ref()), Json(runs)))
}

/// Shows a run, with the last that it wrote.
#[utoipa::path(get, path = "/api/v1/jobs/{name}/runs/{run}", operation_id = "show_job_run", tag = "jobs", params(
    ("name" = String, Path, description = "The name of the job"), ("run" = i64, Path, description = "The token of the run")), responses(
    (status = 200, description = "The run", body = JobRunEntry),
    Problem,
))]
pub(super) async fn show(
    State(api_state): State<ApiState>,
    redaction: Redaction,
    Path((name, token)): Path<(String, String)>,
) -> Answer<JobRunEntry> {
    Ok(Json(run(&api_state, redaction, &name, &token).await?))
}

pub(crate) async fn run(
    api_state: &ApiState,
    redaction: Redaction,
    name: &str,
    token: &str,
) -> Result<JobRunEntry, Problem> {
    let wrong = |_| Problem::new(Kind::BadRequest, format!("{token:?} is not the token of a run, which is a number"));
    let found = api_state.database.job_run(name, token.parse().map_err(wrong)?).await?;
    let unknown = || Problem::new(Kind::NotThere, format!("no run {token} of a job {name:?} is kept"));
    found.map(|run| redaction.of_job_run(run)).ok_or_else(unknown)
}

/// Pauses a job: no run of it begins. One that goes on is left alone.
#[utoipa::path(post, path = "/api/v1/jobs/{name}/pause", operation_id = "pause_job", tag = "jobs",
    params(("name" = String, Path, description = "The name of the job"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The job is paused", body = JobDone),
    Problem,
))]
pub(super) async fn pause(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    Body(author): Body<Authored>,
) -> Answer<JobDone> {
    change(&api_state, &name, author, JobAction::Pause).await
}

/// Resumes a job: its runs begin again.
#[utoipa::path(post, path = "/api/v1/jobs/{name}/resume", operation_id = "resume_job", tag = "jobs",
    params(("name" = String, Path, description = "The name of the job"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The job goes on", body = JobDone),
    Problem,
))]
pub(super) async fn resume(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    Body(author): Body<Authored>,
) -> Answer<JobDone> {
    change(&api_state, &name, author, JobAction::Resume).await
}

/// Takes the seat of a job from whoever has it. The holder ends its run by the next renewal, and another may begin.
#[utoipa::path(post, path = "/api/v1/jobs/{name}/release", operation_id = "release_job", tag = "jobs",
    params(("name" = String, Path, description = "The name of the job"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "Nobody has the seat; without audit_id nobody had it", body = JobDone),
    Problem,
))]
pub(super) async fn release(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    Body(author): Body<Authored>,
) -> Answer<JobDone> {
    change(&api_state, &name, author, JobAction::Release).await
}

pub(crate) async fn change(api_state: &ApiState, name: &str, author: Authored, action: JobAction) -> Answer<JobDone> {
    let (database, author) = (&api_state.database, author.into_author());
    let done = match action {
        JobAction::Pause | JobAction::Resume => database.change_job(name, action, &author).await?,
        JobAction::Release => {
            release_job(database, api_state.lease.as_ref(), name, &author).await.map_err(|error| match error {
                ReleaseError::Desk(error) => error.into(),
                ReleaseError::Lease(error) => Problem::new(Kind::LeaseStore, error.to_string()),
                error @ ReleaseError::NotOurs(_) => Problem::new(Kind::Refused, error.to_string()),
            })?
        }
    };
    done.map(Json).ok_or_else(|| Problem::no_job(name))
}
