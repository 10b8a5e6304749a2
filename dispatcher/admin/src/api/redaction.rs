//! What a client may see: with `admin.read_payloads = false`, a token that only reads sees nothing of what messages contain.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use outbox_desk::{AuditPage, JobRunEntry, MessageRecord, OperationEntry};

use super::ApiState;
use crate::access::Role;

/// The JSON text that stands for a payload that is not shown.
const HIDDEN: &str = "\"hidden: admin.read_payloads = false\"";

/// What of messages is hidden from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redaction {
    /// Nothing: the whole message is seen.
    None,
    /// Payloads, headers, and whatever may repeat them.
    Content,
}

impl Redaction {
    /// What is hidden from somebody in this role.
    pub(crate) fn of(role: Option<Role>, api_state: &ApiState) -> Self {
        if role >= Some(Role::Operate) || api_state.config.current().admin.read_payloads {
            Self::None
        } else {
            Self::Content
        }
    }

    /// The message, as far as it may be seen.
    pub(crate) fn of_message(self, message: MessageRecord) -> MessageRecord {
        if self == Self::None {
            return message;
        }
        let mut seen = MessageRecord { payload: Some(HIDDEN.to_owned()), headers: None, ..message };
        // A receiver repeats what it refuses, and the audit keeps what an edit overwrote.
        seen.attempt_log.iter_mut().for_each(|attempt| attempt.excerpt = None);
        seen.audit.iter_mut().for_each(|entry| entry.details = None);
        seen
    }

    /// The operation, as far as it may be seen: its order is what the audit says of it.
    pub(crate) fn of_operation(self, operation: OperationEntry) -> OperationEntry {
        if self == Self::None { operation } else { OperationEntry { order: None, ..operation } }
    }

    /// The run of a job, as far as it may be seen: a job may write what messages contain.
    pub(crate) fn of_job_run(self, run: JobRunEntry) -> JobRunEntry {
        if self == Self::None { run } else { JobRunEntry { tail: None, ..run } }
    }

    /// The audit, as far as it may be seen.
    pub(crate) fn of_audit(self, mut audit: AuditPage) -> AuditPage {
        if self == Self::Content {
            audit.entries.iter_mut().for_each(|listed| listed.entry.details = None);
        }
        audit
    }
}

impl FromRequestParts<ApiState> for Redaction {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, api_state: &ApiState) -> Result<Self, Infallible> {
        Ok(Self::of(parts.extensions.get::<Role>().copied(), api_state))
    }
}
