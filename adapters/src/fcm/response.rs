//! The meaning of an FCM answer other than 200.
//!
//! It is read first from `error.details[].errorCode`, then from `error.status`, then from the HTTP code
//! (<https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode>). A body need not be JSON.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use outbox_schema::FcmTarget;
use outbox_store::{DeadReason, Identity, Outcome, Scope};
use serde_json::Value;

use crate::adapter::About;
use crate::retry_after::{self, deferral, retry_after};
use crate::transport::exchange::Read;

/// The least wait before a retry that FCM asks for (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>).
pub(super) const RETRY_FLOOR: Duration = Duration::from_secs(10);

/// How long a channel waits that is at fault, or over its quota, where the answer does not say how long.
pub(super) const CHANNEL_WAIT: Duration = Duration::from_mins(1);

/// The fault of an answer, by what must be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The installation of the app is gone.
    Unregistered,
    /// FCM will never take this message.
    InvalidArgument,
    /// FCM will never take this target: it is no registration token.
    InvalidToken,
    /// The token belongs to another project.
    SenderIdMismatch,
    /// The APNs or web push key that Firebase holds is wrong.
    ThirdPartyAuth,
    /// The access token of the channel is refused.
    Unauthenticated,
    /// The service account may not send, or the API is off.
    Forbidden,
    /// Something was not found, and the answer does not say that it is the token.
    NotFound,
    /// The project is over its quota.
    QuotaExceeded,
    /// A device or a topic is over its quota, or the answer does not say who is.
    TargetQuotaExceeded,
    /// FCM is at fault, or does not say what is.
    Unavailable,
    /// The answer does not come from FCM.
    Redirect,
    /// The request is refused for another reason.
    Refused,
}

impl Fault {
    /// What the fault is about, in an answer with this status. Where it lies with the project, or with what Firebase keeps for it,
    /// that is the channel: sound messages die of it until an operator mends it.
    pub(super) fn about(self, status: StatusCode) -> About {
        match self {
            Self::SenderIdMismatch | Self::ThirdPartyAuth => About::Channel,
            Self::TargetQuotaExceeded => About::Target,
            Self::Unavailable if status == StatusCode::SERVICE_UNAVAILABLE => About::Target,
            Self::Unregistered
            | Self::InvalidArgument
            | Self::InvalidToken
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::QuotaExceeded
            | Self::Unavailable
            | Self::Redirect
            | Self::Refused => About::Unsaid,
        }
    }
}

pub(super) fn classify(read: &Read) -> Fault {
    let body: Value = serde_json::from_slice(&read.body).unwrap_or_default();
    let error = &body["error"];
    let details = error["details"].as_array().map(Vec::as_slice).unwrap_or_default();
    let code = detail(details, "google.firebase.fcm.v1.FcmError").and_then(|detail| detail["errorCode"].as_str());
    let fault = code
        .and_then(named)
        .or_else(|| error["status"].as_str().and_then(named))
        .unwrap_or_else(|| numbered(read.status));
    match fault {
        Fault::InvalidArgument if is_about_token(error, details) => Fault::InvalidToken,
        Fault::QuotaExceeded if !is_about_project(details) => Fault::TargetQuotaExceeded,
        fault => fault,
    }
}

/// Whether a quota is that of the project. `QuotaFailure` names the one whose quota it is. Where there is none, `ErrorInfo` may name
/// the project (<https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto>).
fn is_about_project(details: &[Value]) -> bool {
    let is_project = |name: &Value| name.as_str().is_some_and(|name| name.starts_with("project"));
    let mut violations = violations(details, "google.rpc.QuotaFailure", "violations").peekable();
    if violations.peek().is_some() {
        return violations.any(|violation| is_project(&violation["subject"]));
    }
    detail(details, "google.rpc.ErrorInfo").is_some_and(|info| is_project(&info["metadata"]["consumer"]))
}

fn violations<'a>(details: &'a [Value], name: &str, list: &str) -> impl Iterator<Item = &'a Value> {
    detail(details, name).and_then(|detail| detail[list].as_array()).into_iter().flatten()
}

fn detail<'a>(details: &'a [Value], name: &str) -> Option<&'a Value> {
    details.iter().find(|detail| detail["@type"].as_str().is_some_and(|kind| kind.ends_with(name)))
}

/// An `errorCode` of FCM, or a `status` of Google's APIs
/// (<https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto>).
fn named(name: &str) -> Option<Fault> {
    Some(match name {
        "UNREGISTERED" => Fault::Unregistered,
        "INVALID_ARGUMENT" => Fault::InvalidArgument,
        "SENDER_ID_MISMATCH" => Fault::SenderIdMismatch,
        "THIRD_PARTY_AUTH_ERROR" => Fault::ThirdPartyAuth,
        "UNAUTHENTICATED" => Fault::Unauthenticated,
        "PERMISSION_DENIED" => Fault::Forbidden,
        "NOT_FOUND" => Fault::NotFound,
        "QUOTA_EXCEEDED" | "RESOURCE_EXHAUSTED" => Fault::QuotaExceeded,
        "UNAVAILABLE" | "INTERNAL" | "UNSPECIFIED_ERROR" | "DEADLINE_EXCEEDED" | "UNKNOWN" => Fault::Unavailable,
        _ => return None,
    })
}

fn numbered(status: StatusCode) -> Fault {
    match status.as_u16() {
        400 => Fault::InvalidArgument,
        401 => Fault::Unauthenticated,
        403 => Fault::Forbidden,
        404 => Fault::NotFound,
        429 => Fault::QuotaExceeded,
        300..=399 => Fault::Redirect,
        408 | 425 => Fault::Unavailable,
        402..=499 => Fault::Refused,
        _ => Fault::Unavailable,
    }
}

fn is_about_token(error: &Value, details: &[Value]) -> bool {
    let said = error["message"].as_str().unwrap_or_default();
    let apns = detail(details, "google.firebase.fcm.v1.ApnsError");
    let mut violations = violations(details, "google.rpc.BadRequest", "fieldViolations");
    said.contains("The registration token is not a valid FCM registration token")
        || violations.any(|violation| violation["field"] == "message.token" || violation["field"] == "message.fid")
        || apns.is_some_and(|apns| apns["statusCode"] == 410 && apns["reason"] == "Unregistered")
}

/// The outcome for the message, and the reason for people. On a channel that sends at most once, an answer that leaves
/// open whether the message was accepted makes it in doubt.
pub(super) fn judge(read: &Read, fault: Fault, target: &FcmTarget, at_most_once: bool) -> (Outcome, String) {
    let dead = Outcome::Dead { reason: DeadReason::Permanent };
    let target_gone = if target.is_device() { Outcome::DeadTarget } else { dead.clone() };
    let defer = Outcome::Defer { scope: Scope::Channel, until: deferral(&read.headers, CHANNEL_WAIT) };
    let (outcome, advice) = match fault {
        Fault::Unregistered => (target_gone, "the app is no longer installed there; send to this target no more"),
        Fault::InvalidToken => (target_gone, "the target is not a registration token"),
        Fault::InvalidArgument => (dead, "it will never take this message: mend its payload or its target"),
        Fault::SenderIdMismatch => {
            (dead, "the token belongs to another project: check project_id and the app that registered it")
        }
        Fault::ThirdPartyAuth => {
            (dead, "the APNs or web push key in the Firebase project is missing or wrong: upload it anew")
        }
        Fault::Unauthenticated => (defer, "it refuses the access token; the channel waits: check credentials"),
        Fault::Forbidden => {
            (defer, "the service account may not send; the channel waits: check its role, and that the API is enabled")
        }
        Fault::NotFound => (
            Outcome::Refused {
                not_before: Some(deferral(&read.headers, CHANNEL_WAIT)),
                identity: Identity::Credential,
            },
            "nothing is found there; the message waits: check its target, project_id and base_url",
        ),
        Fault::TargetQuotaExceeded => (
            Outcome::Retry { not_before: Some(deferral(&read.headers, CHANNEL_WAIT)) },
            "the quota of the target is used up; the message waits",
        ),
        Fault::QuotaExceeded => (defer, "the quota of the project is used up; the channel waits"),
        Fault::Redirect => (defer, "it redirects, which FCM does not; the channel waits: check base_url"),
        Fault::Refused => (dead, "it refuses the request: mend the payload"),
        Fault::Unavailable if at_most_once => (Outcome::InDoubt, "it failed and may have accepted the message"),
        Fault::Unavailable => (Outcome::Retry { not_before: retry_after(&read.headers) }, "it failed"),
    };
    (outcome, format!("FCM answered {} ({fault:?}): {advice}", read.status))
}

/// How long the answer asks for a pause from other messages too. The quota of a target says nothing of theirs.
pub(super) fn busy_for(outcome: &Outcome, fault: Fault, headers: &HeaderMap) -> Option<Duration> {
    retry_after::busy_for(outcome, headers).filter(|_| fault != Fault::TargetQuotaExceeded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(status: u16, body: &[u8]) -> Read {
        let status = StatusCode::from_u16(status).unwrap_or_default();
        Read { status, headers: HeaderMap::new(), body: body.to_vec() }
    }

    #[test]
    fn the_error_code_goes_before_the_status_and_the_status_before_the_http_code() {
        let all = br#"{"error": {"status": "NOT_FOUND", "details": [{"@type": "x/y"},
            {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "QUOTA_EXCEEDED"}]}}"#;
        assert_eq!(classify(&read(500, all)), Fault::TargetQuotaExceeded);
        assert_eq!(classify(&read(500, br#"{"error": {"status": "NOT_FOUND"}}"#)), Fault::NotFound);
        assert_eq!(classify(&read(404, br#"{"error": {"status": "NEW"}}"#)), Fault::NotFound);
        assert_eq!(classify(&read(503, b"<html>Backend error</html>")), Fault::Unavailable);
    }

    proptest! {
        #[test]
        fn no_body_panics(status in 100_u16..1000, body in proptest::collection::vec(any::<u8>(), 0..200)) {
            classify(&read(status, &body));
        }

        #[test]
        fn no_json_of_another_shape_panics(
            status in 100_u16..1000,
            error in "(null|1|\"x\"|\\[\\]|\\{\\}|\\{\"details\": (1|\\{\\}|\\[1\\]|\\[\\{\"@type\": 1\\}\\])\\})",
        ) {
            classify(&read(status, format!("{{\"error\": {error}}}").as_bytes()));
        }
    }
}
