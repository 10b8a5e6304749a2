//! A change that the client follows while the replica makes it.

use std::time::Duration;

use outbox_desk::{Action, Author, Outcome, Stopped, Watch};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::{CHANGE_LIMIT, Replica, ReplicaError, in_json};
use outbox_admin::api::{Authored, LINES, Line};

/// How long a replica has to end a change that its operator stops, and to tell its result.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The lines of an answer, as they come.
struct Lines {
    answer: Response,
    read: Vec<u8>,
}

impl Replica {
    /// Asks for a change of many messages, and tells `watch` how far it is. A replica of a release that does not tell answers as
    /// ever. Where `watch` ends the change, the result is what the replica had done by then.
    pub(super) async fn follow(
        &self,
        action: Action,
        (path, body): (&str, &Value),
        (watch, author): (Watch<'_>, &Author),
    ) -> Result<Outcome, ReplicaError> {
        let url = self.url(path);
        let request = self.request(Method::POST, &url, Some(in_json(body)?), CHANGE_LIMIT).header(ACCEPT, LINES);
        let answer = request.send().await.map_err(|source| self.unreachable(source))?;
        let status = answer.status();
        let told = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == LINES.as_bytes());
        if !(status.is_success() && told) {
            let done = self.whole(&url, answer).await?;
            return Outcome::read(action, done).map_err(|_| ReplicaError::Foreign { url, status });
        }
        let mut lines = Lines { answer, read: Vec::new() };
        // Set once the change is to end.
        let mut ends_by: Option<Instant> = None;
        loop {
            let line = match ends_by {
                None => self.line(&mut lines).await?,
                Some(ends_by) => timeout_at(ends_by, self.line(&mut lines)).await.map_err(|_| ReplicaError::Left)??,
            };
            match line {
                Line::Done(done) => {
                    return Outcome::read(action, done).map_err(|_| ReplicaError::Foreign { url, status });
                }
                Line::Problem(problem) => {
                    return Err(ReplicaError::Refused { url: self.base.clone(), problem: Box::new(problem) });
                }
                Line::Progress(progress) => {
                    if watch(progress).is_break() && ends_by.is_none() {
                        ends_by = Some(Instant::now() + STOP_LIMIT);
                        self.end(progress.audit_id, author).await?;
                    }
                }
            }
        }
    }

    /// Tells the replica to end a change after its present batch. A replica that does not understand ends it as soon as nobody reads
    /// its lines.
    async fn end(&self, operation: i64, author: &Author) -> Result<(), ReplicaError> {
        let (path, body) = (format!("operations/{operation}/stop"), Authored::from(author));
        match timeout(STOP_LIMIT, self.change::<Stopped>(&path, &body)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(ReplicaError::Left),
        }
    }

    async fn line(&self, lines: &mut Lines) -> Result<Line<Value>, ReplicaError> {
        let Lines { answer, read } = lines;
        let foreign = |answer: &Response| ReplicaError::Foreign { url: answer.url().clone(), status: answer.status() };
        loop {
            if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = read.drain(..=end).collect();
                return serde_json::from_slice(&line).map_err(|_| foreign(answer));
            }
            match answer.chunk().await.map_err(|source| self.unreachable(source))? {
                Some(some) => read.extend_from_slice(&some),
                None => return Err(foreign(answer)),
            }
        }
    }
}
