//! The meaning of an answer other than 2xx.

use hyper::StatusCode;
use hyper::header::LOCATION;
use outbox_schema::{DeadReason, Outcome};
use url::Url;

use crate::retry_after::retry_after;
use crate::transport::exchange::Read;

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };

/// The outcome for the message, and the reason for people. On a channel that sends at most once, an answer is retried
/// only where it proves that the message was not accepted. An answer that leaves this open makes the message in doubt.
pub(super) fn judge(read: &Read, to: &str, authorized: bool, at_most_once: bool) -> (Outcome, String) {
    let (outcome, advice) = outcome(read, to, authorized, at_most_once);
    (outcome, format!("{to} answered {}: {advice}", read.status))
}

fn outcome(read: &Read, to: &str, authorized: bool, at_most_once: bool) -> (Outcome, String) {
    let not_before = retry_after(&read.headers);
    let retry = Outcome::Retry { not_before };
    let perhaps_accepted = if at_most_once { Outcome::InDoubt } else { retry.clone() };
    match read.status {
        StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            (retry, "it does not take the message now".to_owned())
        }
        StatusCode::REQUEST_TIMEOUT => (perhaps_accepted, "it gave up waiting for the request".to_owned()),
        StatusCode::CONFLICT => {
            (perhaps_accepted, "it still works on an earlier request with this idempotency key".to_owned())
        }
        StatusCode::GONE => (Outcome::DeadTarget, "this target is gone for good; send to it no more".to_owned()),
        StatusCode::UNPROCESSABLE_ENTITY => {
            (DEAD, "it cannot use this body, or knows its idempotency key with another body".to_owned())
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if authorized => (
            Outcome::Refused { not_before },
            "it refuses the channel's auth, or its tls_cert, or this target to them: check the credential of the channel, \
             and the target"
                .to_owned(),
        ),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (
            DEAD,
            "it wants a credential and this request carried none: set auth, or tls_cert with base_url".to_owned(),
        ),
        status if status.is_redirection() => (DEAD, redirect(read, to)),
        status if status.is_client_error() => {
            (DEAD, "it will not take this message: check its target, headers and payload".to_owned())
        }
        status if status.is_server_error() => (perhaps_accepted, "it failed".to_owned()),
        _ => (DEAD, "that is no status of a final answer: check what listens there".to_owned()),
    }
}

/// A redirect. Only the origin of the new place is named, since the rest may hold a secret.
fn redirect(read: &Read, to: &str) -> String {
    let location = read.headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let place = location.and_then(|location| Url::parse(to).ok()?.join(location).ok()).filter(Url::has_host);
    let place = place.map_or_else(String::new, |url| format!(" to {}", url.origin().ascii_serialization()));
    format!("it redirects{place} and redirects are not followed: set the target to where it leads")
}
