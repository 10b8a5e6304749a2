//! How FCM answers, and which targets it answers how.
//!
//! The words of the answers: <https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode>.

use serde_json::{Value, json};

use super::schema::Violation;

/// An answer that is not 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) retry_after: Option<u32>,
    pub(super) body: String,
    pub(super) code: String,
}

const FCM_ERROR: &str = "type.googleapis.com/google.firebase.fcm.v1.FcmError";

impl Refusal {
    /// With an `errorCode` of FCM's own.
    fn of(status: u16, name: &str, code: &str, message: &str) -> Self {
        Self::detailed(status, name, code, message, vec![json!({"@type": FCM_ERROR, "errorCode": code})])
    }

    /// As Google's front end answers, which knows nothing of FCM.
    pub(super) fn google(status: u16, name: &str, message: &str) -> Self {
        Self::detailed(status, name, "", message, Vec::new())
    }

    fn detailed(status: u16, name: &str, code: &str, message: &str, details: Vec<Value>) -> Self {
        let mut error = json!({"code": status, "message": message, "status": name});
        if !details.is_empty() {
            error["details"] = details.into();
        }
        Self { status, retry_after: None, body: json!({ "error": error }).to_string(), code: code.to_owned() }
    }

    pub(super) fn invalid(message: &str, violations: &[Violation]) -> Self {
        let of_field = |violation: &Violation| json!({"field": violation.field, "description": violation.description});
        let mut details = vec![json!({"@type": FCM_ERROR, "errorCode": "INVALID_ARGUMENT"})];
        if !violations.is_empty() {
            let violations: Vec<_> = violations.iter().map(of_field).collect();
            details.push(json!({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}));
        }
        Self::detailed(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message, details)
    }

    pub(super) fn invalid_token() -> Self {
        Self::invalid("The registration token is not a valid FCM registration token", &[])
    }

    /// The quota of `subject` is used up: a project or a device.
    pub(super) fn quota(subject: &str, retry_after: Option<u32>) -> Self {
        let violation = json!({"subject": subject, "description": "Quota exceeded for quota metric 'Send requests'."});
        let details = vec![
            json!({"@type": FCM_ERROR, "errorCode": "QUOTA_EXCEEDED"}),
            json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}),
        ];
        let message = "Quota exceeded for quota metric 'Send requests'.";
        Self { retry_after, ..Self::detailed(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", message, details) }
    }

    pub(super) fn unauthenticated() -> Self {
        Self::google(
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid \
             authentication credential.",
        )
    }
}

/// What becomes of a message to a device whose name begins so. `-once` after it: the first time only.
pub const MANNERS: [(&str, &str); 15] = [
    ("unregistered-", "404 UNREGISTERED"),
    ("invalid-", "400 INVALID_ARGUMENT, about the token"),
    ("argument-", "400 INVALID_ARGUMENT, not about the token"),
    ("apns-gone-", "400 INVALID_ARGUMENT with ApnsError 410 Unregistered"),
    ("mismatch-", "403 SENDER_ID_MISMATCH"),
    ("third-party-", "401 THIRD_PARTY_AUTH_ERROR"),
    ("forbidden-", "403 PERMISSION_DENIED, not of FCM"),
    ("lost-", "404 NOT_FOUND, not of FCM"),
    ("quota-", "429 QUOTA_EXCEEDED of the device"),
    ("quota-later-", "429 QUOTA_EXCEEDED of the device with Retry-After: 2"),
    ("unavailable-", "503 UNAVAILABLE"),
    ("unavailable-later-", "503 UNAVAILABLE with Retry-After: 11"),
    ("internal-", "500 INTERNAL"),
    ("unspecified-", "500 UNSPECIFIED_ERROR"),
    ("html-", "502 with a page in HTML"),
];

/// How a message to that device is refused, if it is.
pub(super) fn refusal(device: &str, is_first: impl FnOnce() -> bool) -> Option<Refusal> {
    let named = |(prefix, _): &&(&str, &str)| device.starts_with(prefix);
    let (prefix, _) = MANNERS.iter().filter(named).max_by_key(|(prefix, _)| prefix.len())?;
    if device[prefix.len()..].starts_with("once-") && !is_first() {
        return None;
    }
    let later = |seconds, refusal: Refusal| Refusal { retry_after: Some(seconds), ..refusal };
    Some(match *prefix {
        "unregistered-" => Refusal::of(404, "NOT_FOUND", "UNREGISTERED", "Requested entity was not found."),
        "invalid-" => Refusal::invalid_token(),
        "argument-" => Refusal::invalid("Request contains an invalid argument.", &[]),
        "apns-gone-" => apns_gone(),
        "mismatch-" => Refusal::of(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch"),
        "third-party-" => {
            Refusal::of(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", "Auth error from APNS or Web Push Service")
        }
        "forbidden-" => Refusal::google(403, "PERMISSION_DENIED", "Permission 'cloudmessaging.messages.create' denied"),
        "lost-" => Refusal::google(404, "NOT_FOUND", "Requested entity was not found."),
        "quota-" => Refusal::quota(&format!("device:{device}"), None),
        "quota-later-" => Refusal::quota(&format!("device:{device}"), Some(2)),
        "unavailable-" => unavailable(),
        "unavailable-later-" => later(11, unavailable()),
        "internal-" => Refusal::of(500, "INTERNAL", "INTERNAL", "Internal error encountered."),
        "unspecified-" => Refusal::of(500, "UNKNOWN", "UNSPECIFIED_ERROR", "No more information is available."),
        _ => Refusal {
            status: 502,
            retry_after: None,
            body: "<html>502 Bad Gateway</html>".to_owned(),
            code: String::new(),
        },
    })
}

fn unavailable() -> Refusal {
    Refusal::of(503, "UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable.")
}

fn apns_gone() -> Refusal {
    let details = vec![
        json!({"@type": FCM_ERROR, "errorCode": "INVALID_ARGUMENT"}),
        json!({"@type": "type.googleapis.com/google.firebase.fcm.v1.ApnsError", "statusCode": 410, "reason": "Unregistered"}),
    ];
    let message = "Request contains an invalid argument.";
    Refusal::detailed(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message, details)
}

#[cfg(test)]
mod tests {
    use super::MANNERS;

    #[test]
    fn the_page_about_fcm_says_how_each_device_is_answered() {
        let page = include_str!("../../../../docs/fcm.md");
        for (device, answer) in MANNERS {
            assert!(page.contains(&format!("| `{device}` | {answer} |")), "{device}");
        }
    }
}
