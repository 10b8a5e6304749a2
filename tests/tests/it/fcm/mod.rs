//! Pushes: the real program, real databases, and a stand-in for FCM that is as strict as it is.

mod connections;
mod crash;
mod judge;
mod outcomes;
mod page;
mod rate;
mod tokens;

use std::fmt::Write;
use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::fcm::{Behaviour, Options, StandIn};
use outbox_tests::servers;

use crate::outboxes::Outbox;
use crate::program::PATIENCE;

fn stand_in(latency: Duration) -> StandIn {
    StandIn::start(&Options { latency, ..Options::default() }).unwrap()
}

/// An outbox of the database that most people have.
async fn outbox() -> Outbox {
    let outbox = Outbox::open(servers::postgres().await.database().await).await;
    Box::pin(outbox.database.migrate("default")).await.unwrap();
    outbox
}

/// Inserts pushes, as an application does: the target is the key and the device.
async fn push(outbox: &Outbox, channel: &str, targets: impl IntoIterator<Item = String>) {
    let mut sql = "INSERT INTO outbox (idempotency_key, channel, target, payload) VALUES".to_owned();
    for (place, target) in targets.into_iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(sql, "{comma} ('{channel}/{target}', '{channel}', '{target}', '{PAYLOAD}')").unwrap();
    }
    outbox.sql(&sql).await;
}

const PAYLOAD: &str = r#"{"notification": {"title": "Your order", "body": "is on its way"}, "data": {"order": "7"}}"#;

/// Waits until so many messages have that outcome.
async fn ends(outbox: &Outbox, messages: i64, condition: &str) {
    let count = format!("SELECT count(*) FROM outbox WHERE {condition}");
    let all = async || (outbox.number(&count).await == messages).then_some(());
    eventually(&format!("{messages} messages have {condition}"), PATIENCE, all).await;
}

/// No attempt was anything but a plain success.
async fn all_went_well(outbox: &Outbox) {
    let attempts = "SELECT coalesce(string_agg(concat_ws(' ', message_id, number, epoch, outcome, error), '; '), '') \
                    FROM outbox_attempt";
    assert_eq!(outbox.text(attempts).await, "");
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status <> 'SUCCESS' OR attempts <> 1").await, 0);
}

/// Every push of the outbox was accepted once.
async fn each_was_accepted_once(outbox: &Outbox, stand_in: &StandIn) {
    let accepted = stand_in.accepted();
    let twice: Vec<_> = accepted.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let messages = outbox.number("SELECT count(*) FROM outbox").await;
    assert_eq!(i64::try_from(accepted.len()).unwrap(), messages);
}

fn revoke() -> Behaviour {
    Behaviour { revoke: true, ..Behaviour::default() }
}
