//! firebase-admin, Google's own package, as the judge of the stand-in, of the outcomes and of what is on the wire.

use std::time::Duration;

use outbox_schema::NewMessage;
use outbox_tests::python::judged_by;
use serde_json::{Value, json};

use super::{outbox, outcomes, stand_in};
use crate::program::Program;

/// How the package reads each answer; what is dead for good is one of its own errors or a wrong argument.
const READ: [(&str, &str); 13] = [
    ("unregistered-", "UnregisteredError"),
    ("invalid-", "InvalidArgumentError"),
    ("argument-", "InvalidArgumentError"),
    ("apns-gone-", "InvalidArgumentError"),
    ("mismatch-", "SenderIdMismatchError"),
    ("third-party-", "ThirdPartyAuthError"),
    ("forbidden-", "PermissionDeniedError"),
    ("lost-", "NotFoundError"),
    ("quota-", "QuotaExceededError"),
    ("unavailable-", "UnavailableError"),
    ("internal-", "InternalError"),
    ("unspecified-", "UnknownError"),
    ("html-", "UnknownError"),
];

/// The beginning of how a push ends whose answer the package reads so.
fn ends(read: &str) -> &'static [&'static str] {
    match read {
        "UnregisteredError" | "SenderIdMismatchError" | "ThirdPartyAuthError" | "InvalidArgumentError" => {
            &["DEAD permanent 1"]
        }
        "PermissionDeniedError" => &["PENDING - 0"],
        "NotFoundError" | "QuotaExceededError" | "UnavailableError" | "InternalError" | "UnknownError" => {
            &["PENDING - 1"]
        }
        _ => &[],
    }
}

#[tokio::test]
async fn google_s_own_package_reads_the_answers_as_they_are_meant_and_writes_messages_as_they_are_written_here() {
    let stand_in = stand_in(Duration::ZERO);
    let tokens: Vec<String> = READ.iter().map(|(manner, _)| format!("{manner}1")).collect();
    let mut question = serde_json::to_value(stand_in.places()).unwrap();
    question["tokens"] = json!(tokens);
    let answer = judged_by("fcm.py", &question).await;

    for (manner, read) in READ {
        assert_eq!(answer["errors"][format!("{manner}1")], read, "{manner}");
        let (_, said, is_dead_target) = outcomes::ENDS.into_iter().find(|(named, ..)| *named == manner).unwrap();
        assert!(ends(read).iter().any(|end| said.starts_with(end)), "{manner}: {read}, and {said}");
        assert!(!is_dead_target || ["UnregisteredError", "InvalidArgumentError"].contains(&read), "{manner}");
    }

    // What the package wrote, sent by us: the same but for what makes a repeat replace the first.
    let outbox = outbox().await;
    let sent = answer["sent"].as_object().unwrap();
    assert_eq!(sent.len(), 4);
    let theirs: Vec<_> = stand_in.received().into_iter().filter(|sent| sent.status == 200).collect();
    let mut messages = Vec::new();
    for (target, message) in sent {
        let mut payload = message.clone();
        payload.as_object_mut().unwrap().remove(target.split(':').next().unwrap());
        messages.push(NewMessage::new("push", target.clone(), payload.to_string()).idempotency_key(target.clone()));
    }
    outbox.enqueue(&messages).await;
    Program::new(&outbox.test.url, &stand_in.channel("push")).deliver().await;
    let received = stand_in.received();
    for their in theirs {
        let ours = received.iter().rev().find(|ours| ours.target == their.target && !ours.key.is_empty()).unwrap();
        let mut expected: Value = their.message.clone();
        expected["data"]["idempotency_key"] = ours.key.clone().into();
        assert_eq!(ours.message, expected, "{}", ours.target);
    }
}
