//! Outcomes that are told: by messages that are written with them.

use std::slice;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::{
    ChannelTerms, ClaimId, Database, DeadReason, Mark, Message, OutcomeTarget, StoreError, TargetTemplate, TermId,
    Verdict,
};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::eventually;

use super::{Outbox, http, mark, once};

fn to(channel: &str) -> OutcomeTarget {
    at(channel, "/outcomes")
}

fn at(channel: &str, target: &str) -> OutcomeTarget {
    OutcomeTarget { channel: channel.to_owned(), target: TargetTemplate::parse(target).unwrap() }
}

fn dead(reason: DeadReason) -> Verdict {
    Verdict::Dead { reason, attempted: true, invalid_target: false }
}

/// A term and its claim of all that is due.
struct Claimed {
    term: TermId,
    claim: ClaimId,
    messages: Vec<Message>,
}

impl Claimed {
    async fn all(outbox: &Outbox, channels: &[ChannelTerms]) -> Self {
        let term = outbox.term(channels).await;
        let (claim, messages) = outbox.claim_all(&term, channels).await;
        Self { term, claim, messages }
    }

    /// A mark whose outcome is told by the channel `ops`.
    fn mark(&self, place: usize, verdict: Verdict, outcome: &'static str) -> Mark {
        let mark = mark(&self.term, self.claim, &self.messages[place], verdict, outcome);
        Mark { told: Some(to("ops")), ..mark }
    }
}

/// The rows that tell of outcomes, in order: what they are, and their payload.
async fn told(outbox: &Outbox) -> Vec<([Option<String>; 6], Value)> {
    let columns = ["channel", "target", "tenant", "ordering_key", "status", "idempotency_key", "payload"];
    let rows = outbox.strings(&columns, "outbox WHERE channel = 'ops' ORDER BY id").await;
    let of = |mut row: Vec<Option<String>>| {
        let payload = serde_json::from_str(&row.pop().flatten().unwrap()).unwrap();
        (row.try_into().unwrap(), payload)
    };
    rows.into_iter().map(of).collect()
}

async fn key_of(outbox: &Outbox, id: MessageId, revision: i64) -> Option<String> {
    let outbox_id = outbox.strings(&["outbox_id"], "outbox_meta").await.remove(0).remove(0).unwrap();
    Some(format!("outcome:{outbox_id}:{id}:{revision}"))
}

/// MariaDB alone takes such tags, from a session that does without the checks, as those of the dispatcher do.
pub async fn tags_that_are_no_json_keep_no_outcome_from_being_told(outbox: &Outbox) {
    let row = outbox.insert(&[]).await;
    if let Database::MySql(unchecked) = outbox.database() {
        let no_json = format!("UPDATE outbox SET tags = '' WHERE id = {row}");
        // MySQL refuses it.
        let _ = sqlx::raw_sql(AssertSqlSafe(no_json)).execute(unchecked).await;
    }
    let claimed = Claimed::all(outbox, &[http()]).await;
    let refused = claimed.mark(0, dead(DeadReason::Permanent), "dead");
    let report = outbox.store.mark(slice::from_ref(&refused), &[]).await.unwrap();
    assert!(report.fenced.is_empty(), "{report:?}");
    let told = told(outbox).await;
    assert_eq!(told.iter().map(|(_, payload)| &payload["tags"]).collect::<Vec<_>>(), [&Value::Null]);
}

/// Also where the mark is repeated, as where the answer to the first was lost.
pub async fn an_outcome_is_told_once_with_all_but_the_payload(outbox: &Outbox) {
    let failing = outbox
        .insert(&[
            ("idempotency_key", "'order-1'"),
            ("target", "'https://shop.example/hooks/s3cret?key=s3cret'"),
            ("payload", "'{\"card\": \"s3cret\"}'"),
            ("tenant", "'acme'"),
            ("tags", "'{\"order\": \"4711\"}'"),
            ("ordering_key", "'k'"),
        ])
        .await;
    let delivered = outbox.insert(&[("idempotency_key", "'order-2'")]).await;
    let claimed = Claimed::all(outbox, &[http()]).await;
    assert_eq!(claimed.messages.iter().map(Message::id).collect::<Vec<_>>(), [failing, delivered]);
    let refused = Mark {
        status_code: Some(422),
        error: Some("answered 422: no field \"s3cret\" in order 4711".to_owned()),
        ..claimed.mark(0, dead(DeadReason::Permanent), "dead")
    };
    let success = Mark {
        status_code: Some(200),
        ..claimed.mark(1, Verdict::Success { receipt: Some("s3cret".to_owned()) }, "delivered")
    };
    // Apart, as most groups are plain deliveries; and then again.
    for _ in 0..2 {
        outbox.store.mark(slice::from_ref(&success), &[]).await.unwrap();
        outbox.store.mark(slice::from_ref(&refused), &[]).await.unwrap();
        let report = outbox.store.mark(&[refused.clone(), success.clone()], &[]).await.unwrap();
        assert!(report.fenced.is_empty());
    }

    let mut rows = told(outbox).await;
    assert_eq!(rows.len(), 2, "{rows:?}");
    let text = |text: &str| Some(text.to_owned());
    for (id, tenant) in [(delivered, None), (failing, text("acme"))] {
        let (row, mut payload) = rows.remove(0);
        let key = key_of(outbox, id, 1).await;
        assert_eq!(row, [text("ops"), text("/outcomes"), tenant, None, text("PENDING"), key]);
        let at = payload["at"].take();
        let at = at.as_str().unwrap();
        assert!(at.len() == 24 && at.starts_with("20") && at.ends_with('Z') && at.contains('T'), "{at}");
        assert!(!payload.to_string().contains("s3cret"), "{payload}");
        let expected = if id == failing {
            json!({
                "id": failing.0, "idempotency_key": "order-1", "channel": "http", "destination": "https://shop.example:443",
                "status": "DEAD", "reason": "permanent", "error": "answered #: no field \"…\" in order #",
                "status_code": 422, "attempts": 1, "at": null, "tenant": "acme", "tags": { "order": "4711" }, "replay_of": null,
            })
        } else {
            json!({
                "id": delivered.0, "idempotency_key": "order-2", "channel": "http", "destination": "http",
                "status": "SUCCESS", "reason": null, "error": null, "status_code": 200, "attempts": 1, "at": null,
                "tenant": null, "tags": null, "replay_of": null,
            })
        };
        assert_eq!(payload, expected);
    }
}

/// A message that waits has no outcome. What a later term settled was its to tell.
pub async fn what_is_tried_again_and_what_was_refused_tells_of_nothing(outbox: &Outbox) {
    outbox.insert(&[]).await;
    outbox.insert(&[]).await;
    let claimed = Claimed::all(outbox, &[http()]).await;
    let retry = Verdict::Retry { after: Duration::from_hours(1) };
    outbox.store.mark(&[claimed.mark(0, retry, "retry")], &[]).await.unwrap();
    let later = outbox.term(&[http()]).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    outbox.store.settle(&later, &[http()], &[]).await.unwrap();
    for verdict in [Verdict::Success { receipt: None }, dead(DeadReason::Permanent)] {
        let late = claimed.mark(1, verdict, "late");
        assert_eq!(outbox.store.mark(&[late], &[]).await.unwrap().fenced, [claimed.messages[1].id()]);
    }
    assert_eq!(told(outbox).await, []);
}

/// The other way round it could be lost.
pub async fn a_mark_whose_outcome_cannot_be_told_is_not_written(outbox: &Outbox) {
    for _ in 0..2 {
        outbox.insert(&[]).await;
    }
    let claimed = Claimed::all(outbox, &[http()]).await;
    let too_long = Some(to(&"x".repeat(65)));
    let dead = Mark { told: too_long.clone(), ..claimed.mark(0, dead(DeadReason::Expired), "dead") };
    let success = Mark { told: too_long, ..claimed.mark(1, Verdict::Success { receipt: None }, "delivered") };
    for marks in [vec![dead.clone()], vec![success.clone()], vec![dead, success]] {
        // The session of the mark before may have ended, and its locks not yet.
        let answered = async || {
            let answer = outbox.store.mark(&marks, &[claimed.claim]).await;
            (!answer.as_ref().is_ok_and(|report| !report.held.is_empty())).then_some(answer)
        };
        let refused = eventually("nobody has locked them", Duration::from_secs(10), answered).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
    assert_eq!(outbox.count("outbox WHERE status = 'PENDING' AND revision = 0").await, 2);
    assert_eq!(outbox.count("outbox_claim").await, 1);
}

/// By the settings of the poller that settles it.
pub async fn a_row_in_doubt_that_is_settled_as_dead_is_told(outbox: &Outbox) {
    let parked = outbox.insert(&[("channel", "'once'")]).await;
    let used_up = outbox.insert(&[("max_attempts", "1")]).await;
    outbox.insert(&[]).await;
    let channels =
        [ChannelTerms { on_dead: Some(to("ops")), ..once() }, ChannelTerms { on_dead: Some(to("ops")), ..http() }];
    let claimed = Claimed::all(outbox, &channels).await;
    assert_eq!(claimed.messages.len(), 3);
    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    assert_eq!(outbox.store.settle(&later, &channels, &[]).await.unwrap().decided.len(), 3);
    let rows = told(outbox).await;
    let of = |field: &str| rows.iter().map(|(_, payload)| payload[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), [parked.0, used_up.0]);
    assert_eq!(of("reason"), ["in_doubt", "exhausted"]);
    assert_eq!(of("error"), ["in doubt: claimed and never marked"; 2]);
    assert_eq!(of("attempts"), [1, 1]);
}

/// Also of a message that was settled. What strangers wrote stays one piece of the path or of the query.
pub async fn the_target_of_an_outcome_has_texts_of_the_message(outbox: &Outbox) {
    let delivered = outbox.insert(&[("idempotency_key", "'../ü?a=b&c'"), ("tenant", "'..'")]).await;
    let plain = outbox.insert(&[("idempotency_key", "'order-2'")]).await;
    let in_doubt = outbox.insert(&[("channel", "'once'"), ("idempotency_key", "'order-3'")]).await;
    let told = at("ops", "https://ops.example/{tenant}/{status}/{id}?k={idempotency_key}&c={channel}");
    let channels = [http(), ChannelTerms { on_dead: Some(told.clone()), ..once() }];
    let claimed = Claimed::all(outbox, &channels).await;
    let success = claimed.mark(0, Verdict::Success { receipt: None }, "delivered");
    // Beside one whose target has no placeholders.
    let marks = [Mark { told: Some(told), ..success }, claimed.mark(1, dead(DeadReason::Permanent), "dead")];
    for _ in 0..2 {
        outbox.store.mark(&marks, &[]).await.unwrap();
    }
    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    outbox.store.settle(&later, &channels, &[]).await.unwrap();
    let rows = outbox.strings(&["target", "destination"], "outbox WHERE channel = 'ops' ORDER BY id").await;
    let row = |target: String, destination: &str| vec![Some(target), Some(destination.to_owned())];
    let (origin, key) = ("https://ops.example:443", "..%2F%C3%BC%3Fa%3Db%26c");
    assert_eq!(
        rows,
        [
            row(format!("https://ops.example/_../SUCCESS/{delivered}?k={key}&c=http"), origin),
            row("/outcomes".to_owned(), "ops"),
            row(format!("https://ops.example//DEAD/{in_doubt}?k=order-3&c=once"), origin),
        ]
    );
    assert_eq!(outbox.count(&format!("outbox WHERE id = {plain} AND status = 'DEAD'")).await, 1);
}

/// Each end of a message is an outcome.
pub async fn a_message_that_was_redriven_and_dies_again_is_told_again(outbox: &Outbox) {
    let row = outbox.insert(&[]).await;
    for revision in [1, 3] {
        let claimed = Claimed::all(outbox, &[http()]).await;
        let mark = claimed.mark(0, dead(DeadReason::Exhausted), "dead");
        outbox.store.mark(&[mark], &[claimed.claim]).await.unwrap();
        let rows = told(outbox).await;
        assert_eq!(rows.last().unwrap().0[5], key_of(outbox, row, revision).await);
        outbox
            .execute(&format!("UPDATE outbox SET status = 'PENDING', revision = revision + 1 WHERE id = {row}"))
            .await;
    }
    assert_eq!(told(outbox).await.len(), 2);
}

/// Whatever the settings of two replicas say, nothing goes round.
pub async fn no_outcome_is_told_of_an_outcome(outbox: &Outbox) {
    let row = outbox.insert(&[]).await;
    let ops = ChannelTerms { name: "ops".to_owned(), ..http() };
    for _ in 0..3 {
        let claimed = Claimed::all(outbox, &[http(), ops.clone()]).await;
        let marks: Vec<_> =
            (0..claimed.messages.len()).map(|place| claimed.mark(place, dead(DeadReason::Permanent), "dead")).collect();
        outbox.store.mark(&marks, &[claimed.claim]).await.unwrap();
    }
    let rows = told(outbox).await;
    assert_eq!((rows.len(), &rows[0].1["id"]), (1, &json!(row.0)));
    assert_eq!(rows[0].0[4].as_deref(), Some("DEAD"));
}
