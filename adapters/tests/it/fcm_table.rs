//! The error table of an FCM channel.

use std::time::Duration;

use outbox_adapters::{About, Adapter};
use outbox_store::{DeadReason, Identity, Outcome, Scope};
use serde_json::{Value, json};

use crate::fcm::{Fcm, delivery};
use crate::stand_in::reply;

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };

/// As soon as the channel's backoff says.
const SOON: Outcome = Outcome::Retry { not_before: None };

fn later(seconds: u64) -> Outcome {
    Outcome::Retry { not_before: Some(Duration::from_secs(seconds)) }
}

fn defer(seconds: u64) -> Outcome {
    Outcome::Defer { scope: Scope::Channel, until: Duration::from_secs(seconds) }
}

fn not_found(seconds: u64) -> Outcome {
    Outcome::Refused { not_before: Some(Duration::from_secs(seconds)), identity: Identity::Credential }
}

/// An answer 429 with a `QuotaFailure` about that subject.
fn quota_of(subject: &str) -> String {
    let details = json!([
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "metadata": {"consumer": "projects/4711"}},
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "QUOTA_EXCEEDED"},
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"subject": subject}]},
    ]);
    detailed("RESOURCE_EXHAUSTED", "", details)
}

/// An answer 400 about that field of the request.
fn invalid(field: &str) -> String {
    let details = json!([
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "INVALID_ARGUMENT"},
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": field}]},
    ]);
    detailed("INVALID_ARGUMENT", "", details)
}

fn fcm_error(code: &str, status: &str, message: &str) -> String {
    detailed(
        status,
        message,
        json!([{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}]),
    )
}

#[expect(clippy::needless_pass_by_value, reason = "json!() reads best as an argument")]
fn detailed(status: &str, message: &str, details: Value) -> String {
    json!({"error": {"status": status, "message": message, "details": details}}).to_string()
}

struct Row {
    status: u16,
    headers: &'static str,
    body: String,
    target: &'static str,
    outcome: Outcome,
    said: &'static str,
}

fn row(status: u16, body: impl Into<String>, outcome: Outcome, said: &'static str) -> Row {
    Row { status, headers: "", body: body.into(), target: "token:abc", outcome, said }
}

fn rows() -> Vec<Row> {
    let invalid_token = "The registration token is not a valid FCM registration token";
    let apns_gone = json!([
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "INVALID_ARGUMENT"},
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.ApnsError", "statusCode": 410, "reason": "Unregistered"},
    ]);
    let apns_other = json!([
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.ApnsError", "statusCode": 400, "reason": "BadTopic"},
    ]);
    let unregistered = fcm_error("UNREGISTERED", "NOT_FOUND", "Requested entity was not found.");
    let quota = fcm_error("QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "");
    let consumer = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED",
        "metadata": {"consumer": "projects/4711", "service": "fcm.googleapis.com"}}]);
    let html = "<html>502 Bad Gateway</html>";
    vec![
        row(404, unregistered.clone(), Outcome::DeadTarget, "no longer installed"),
        Row { target: "fid:f", ..row(404, unregistered.clone(), Outcome::DeadTarget, "") },
        Row { target: "topic:t", ..row(404, unregistered, DEAD, "") },
        row(
            400,
            fcm_error("INVALID_ARGUMENT", "INVALID_ARGUMENT", "Invalid data payload key"),
            DEAD,
            "mend its payload",
        ),
        row(
            400,
            fcm_error("INVALID_ARGUMENT", "INVALID_ARGUMENT", invalid_token),
            Outcome::DeadTarget,
            "not a registration",
        ),
        row(400, detailed("INVALID_ARGUMENT", invalid_token, json!([])), Outcome::DeadTarget, ""),
        row(400, detailed("INVALID_ARGUMENT", "", apns_gone), Outcome::DeadTarget, ""),
        row(400, detailed("INVALID_ARGUMENT", "", apns_other), DEAD, ""),
        row(400, "nonsense", DEAD, ""),
        row(403, fcm_error("SENDER_ID_MISMATCH", "PERMISSION_DENIED", ""), DEAD, "another project"),
        row(401, fcm_error("THIRD_PARTY_AUTH_ERROR", "UNAUTHENTICATED", ""), DEAD, "APNs or web push key"),
        row(401, detailed("UNAUTHENTICATED", "", json!([])), defer(60), "refuses the access token"),
        row(401, html, defer(60), "refuses the access token"),
        row(403, detailed("PERMISSION_DENIED", "", json!([])), defer(60), "check its role"),
        row(403, html, defer(60), ""),
        row(404, detailed("NOT_FOUND", "", json!([])), not_found(60), "project_id"),
        row(404, html, not_found(60), ""),
        row(429, quota.clone(), later(60), "the message waits"),
        Row { headers: "Retry-After: 90\r\n", ..row(429, quota, later(90), "") },
        row(429, "", later(60), ""),
        row(429, quota_of("device:abc"), later(60), "the message waits"),
        Row { target: "topic:t", ..row(429, quota_of("topic:t"), later(60), "the message waits") },
        row(429, quota_of("project:4711"), defer(60), "the channel waits"),
        row(429, quota_of("projects/4711"), defer(60), "the channel waits"),
        row(429, detailed("RESOURCE_EXHAUSTED", "", consumer), defer(60), "the channel waits"),
        row(400, invalid("message.token"), Outcome::DeadTarget, "not a registration"),
        Row { target: "fid:f", ..row(400, invalid("message.fid"), Outcome::DeadTarget, "not a registration") },
        row(400, invalid("message.data"), DEAD, "mend its payload"),
        row(503, fcm_error("UNAVAILABLE", "UNAVAILABLE", ""), SOON, "it failed"),
        Row { headers: "Retry-After: 30\r\n", ..row(503, fcm_error("UNAVAILABLE", "UNAVAILABLE", ""), later(30), "") },
        Row { headers: "Retry-After: 2\r\n", ..row(503, "", later(2), "") },
        row(500, fcm_error("INTERNAL", "INTERNAL", ""), SOON, ""),
        row(500, fcm_error("UNSPECIFIED_ERROR", "", ""), SOON, ""),
        row(502, html, SOON, ""),
        row(504, html, SOON, ""),
        row(599, html, SOON, ""),
        row(302, "", defer(60), "check base_url"),
        row(413, html, DEAD, ""),
    ]
}

async fn table_holds(rows: Vec<Row>, at_most_once: bool) {
    for row in rows {
        let name = format!("{} {} {} to {}", row.status, row.headers, row.body, row.target);
        let answer = reply(row.status, row.headers, &row.body);
        let fcm = Fcm::start(3600, move |_| answer.clone()).await;
        let answer = fcm.channel(Duration::from_secs(20), at_most_once).deliver(delivery(row.target)).await;
        assert_eq!(answer.outcome, row.outcome, "{name}: {answer:?}");
        assert_eq!(answer.status_code, Some(row.status), "{name}");
        let of_the_project =
            ["SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR"].iter().any(|code| row.body.contains(code));
        assert_eq!(answer.about == About::Channel, of_the_project, "{name}");
        let of_target = row.status == 503 || (row.status == 429 && !matches!(row.outcome, Outcome::Defer { .. }));
        assert_eq!(answer.about == About::Target, of_target, "{name}");
        assert!(row.status != 429 || answer.busy_for.is_none(), "{name}: others are asked to wait");
        let error = answer.error.unwrap();
        assert!(error.contains(&row.status.to_string()) && error.contains(row.said), "{name}: {error}");
    }
}

#[tokio::test]
async fn every_error_has_its_outcome() {
    table_holds(rows(), false).await;
}

#[tokio::test]
async fn at_most_once_what_may_have_been_accepted_is_in_doubt_and_nothing_else_changes() {
    let rows = rows().into_iter().map(|row| match row.outcome {
        Outcome::Retry { .. } if row.status != 429 => {
            Row { outcome: Outcome::InDoubt, said: "may have accepted", ..row }
        }
        _ => row,
    });
    table_holds(rows.collect(), true).await;
}
