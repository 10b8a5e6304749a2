//! The meaning of an answer other than 2xx.

use hyper::StatusCode;
use hyper::header::LOCATION;
use outbox_store::{DeadReason, Identity, Outcome};
use url::Url;

use super::rules::Rules;
use super::statuses::Ruled;
use crate::retry_after::retry_after;
use crate::transport::exchange::Read;

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };

/// The question to which an answer was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The origin that was asked.
    pub(super) to: &'a str,
    /// Whether the request carried the channel's credential, or went to the server that its certificate is for.
    pub(super) authorized: bool,
    /// Whether the channel signed the request.
    pub(super) signed: bool,
    /// Whether the channel sends at most once. An answer is then retried only where it proves that the message was not
    /// accepted. An answer that leaves this open makes the message in doubt.
    pub(super) at_most_once: bool,
    /// What the channel's settings say of statuses.
    pub(super) rules: &'a Rules,
    /// `channels.NAME`, for errors that name a setting.
    pub(super) channel: &'a str,
}

/// The outcome for the message, and the reason for people.
pub(super) fn judge(read: &Read, asked: Asked<'_>) -> (Outcome, String) {
    let not_before = retry_after(&read.headers);
    let (outcome, advice) = match asked.rules.of(read.status) {
        // Its owner says of 503 that it is never given to an accepted message. Of the others nobody can.
        Some(Ruled::Retry)
            if asked.at_most_once && leaves_open(read) && read.status != StatusCode::SERVICE_UNAVAILABLE =>
        {
            by_table(read, asked)
        }
        Some(Ruled::Retry) => {
            (Outcome::Retry { not_before }, format!("{}.retry_statuses says to send it again", asked.channel))
        }
        // Its target is gone besides.
        Some(Ruled::Dead) if read.status == StatusCode::GONE => by_table(read, asked),
        Some(Ruled::Dead) => (
            DEAD,
            format!(
                "{}.dead_statuses says that it will not take this message: check its target, headers and payload",
                asked.channel
            ),
        ),
        Some(Ruled::Known) => (Outcome::Delivered { receipt: None }, "it knew the idempotency key already".to_owned()),
        None => by_table(read, asked),
    };
    (outcome, format!("{} answered {}: {advice}", asked.to, read.status))
}

/// Whether a server that gave this answer may have accepted the message. A gateway answers 503 also where the connection to the
/// server behind it broke. With a `Retry-After` it is the answer of one that did not take the message.
fn leaves_open(read: &Read) -> bool {
    match read.status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT => true,
        StatusCode::SERVICE_UNAVAILABLE => retry_after(&read.headers).is_none(),
        status => status.is_server_error(),
    }
}

/// Whether a failure with this status may be about the target alone: the server works, and answers for one of many.
pub(super) fn is_of_target(status: StatusCode) -> bool {
    status == StatusCode::SERVICE_UNAVAILABLE || !status.is_server_error()
}

fn by_table(read: &Read, asked: Asked<'_>) -> (Outcome, String) {
    let not_before = retry_after(&read.headers);
    let Asked { to, authorized, signed, at_most_once, .. } = asked;
    let retry = if at_most_once && leaves_open(read) { Outcome::InDoubt } else { Outcome::Retry { not_before } };
    let refused = |identity| Outcome::Refused { not_before, identity };
    let or_signature = if signed { ", or signing_keys" } else { "" };
    match read.status {
        StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            (retry, "it does not take the message now".to_owned())
        }
        StatusCode::REQUEST_TIMEOUT => (retry, "it gave up waiting for the request".to_owned()),
        StatusCode::CONFLICT => (retry, "it still works on an earlier request with this idempotency key".to_owned()),
        StatusCode::GONE => (Outcome::DeadTarget, "this target is gone for good; send to it no more".to_owned()),
        StatusCode::UNPROCESSABLE_ENTITY => {
            (DEAD, "it cannot use this body, or knows its idempotency key with another body".to_owned())
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if authorized => (
            refused(Identity::Credential),
            format!(
                "it refuses the channel's auth, or its tls_cert, or this target to them: check the credential of the \
                 channel, and the target{or_signature}"
            ),
        ),
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED if signed => (
            refused(Identity::Signature),
            format!(
                "it refuses the message or its signature: check its target, headers and payload, or {}.signing_keys",
                asked.channel
            ),
        ),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (
            DEAD,
            format!(
                "it wants a credential and this request carried none: set auth, or tls_cert with base_url{}",
                if signed { "; or check signing_keys" } else { "" }
            ),
        ),
        status if status.is_redirection() => (DEAD, redirect(read, to)),
        status if status.is_client_error() => {
            (DEAD, "it will not take this message: check its target, headers and payload".to_owned())
        }
        status if status.is_server_error() => (retry, "it failed".to_owned()),
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
