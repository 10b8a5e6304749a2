//! A change that the client follows while the replica makes it.

use outbox_schema::desk::Watch;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CHANGE_LIMIT, Replica, ReplicaError, in_json};
use outbox_dispatcher::admin::api::{LINES, Line};

impl Replica {
    /// Asks for a change of many messages, and tells `watch` how far it is. A replica of a release that does not tell answers as
    /// ever.
    pub(super) async fn follow<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        watch: Watch<'_>,
    ) -> Result<T, ReplicaError> {
        let url = self.url(path);
        let request = self.request(Method::POST, &url, Some(in_json(body)?), CHANGE_LIMIT).header(ACCEPT, LINES);
        let answer = request.send().await.map_err(|source| self.unreachable(source))?;
        let told = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == LINES.as_bytes());
        if !(answer.status().is_success() && told) {
            return self.whole(&url, answer).await;
        }
        self.lines(answer, watch).await
    }

    async fn lines<T: DeserializeOwned>(&self, mut answer: Response, watch: Watch<'_>) -> Result<T, ReplicaError> {
        let (url, status) = (answer.url().clone(), answer.status());
        let foreign = || ReplicaError::Foreign { url: url.clone(), status };
        let mut read = Vec::new();
        while let Some(some) = answer.chunk().await.map_err(|source| self.unreachable(source))? {
            read.extend_from_slice(&some);
            while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = read.drain(..=end).collect();
                match serde_json::from_slice(&line).map_err(|_| foreign())? {
                    Line::Done(done) => return Ok(done),
                    Line::Problem(problem) => {
                        return Err(ReplicaError::Refused { url: self.base.clone(), problem: Box::new(problem) });
                    }
                    Line::Progress(progress) if watch(progress).is_break() => return Err(ReplicaError::Left),
                    Line::Progress(_) => {}
                }
            }
        }
        Err(foreign())
    }
}
